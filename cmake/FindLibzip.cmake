# Libzip::Libzip, which reads zip archives; Debian's own CMake file asks for programs of another package. Also installed with fodp, for those
# who link its archives.
find_path(Libzip_INCLUDE_DIR zip.h)
find_library(Libzip_LIBRARY zip)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libzip REQUIRED_VARS Libzip_LIBRARY Libzip_INCLUDE_DIR)
if(Libzip_FOUND AND NOT TARGET Libzip::Libzip)
  add_library(Libzip::Libzip UNKNOWN IMPORTED)
  set_target_properties(Libzip::Libzip PROPERTIES IMPORTED_LOCATION "${Libzip_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Libzip_INCLUDE_DIR}")
endif()
mark_as_advanced(Libzip_INCLUDE_DIR Libzip_LIBRARY)
