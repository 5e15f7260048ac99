# find_package(fodp) [COMPONENTS core]: the targets fodp::core and, with LibTorch, fodp::fodp.
include(CMakePackageConfigHelpers)
install(TARGETS fodp_core EXPORT fodp_core_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT fodp_core_targets NAMESPACE fodp:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fodp)
install(CODE "set(source_dir ${PROJECT_SOURCE_DIR}/src)\nset(include_dir ${CMAKE_INSTALL_INCLUDEDIR})\nset(top_headers fodp/core.h$<$<BOOL:${FODP_TORCH}>:;fodp/fodp.h>)")
install(SCRIPT cmake/public_headers.cmake)
install(DIRECTORY ${PROJECT_BINARY_DIR}/generated/fodp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(FODP_TORCH)
  install(TARGETS fodp EXPORT fodp_torch_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT fodp_torch_targets NAMESPACE fodp:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fodp)
endif()
configure_package_config_file(cmake/fodpConfig.cmake.in ${PROJECT_BINARY_DIR}/fodpConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fodp)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fodpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fodpConfig.cmake ${PROJECT_BINARY_DIR}/fodpConfigVersion.cmake cmake/FindLibcsv.cmake cmake/FindLibzip.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fodp)
