# How our own files are compiled; nothing of this reaches those who link the library.
add_library(fodp_build_options INTERFACE)
target_compile_options(fodp_build_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow=local -Wno-missing-field-initializers -Wno-restrict -Werror)
# No contraction: the noise, and so a run under --insecure-seed, is the same on every machine. Never -ffast-math.
target_compile_options(fodp_build_options INTERFACE -ffp-contract=off)
if(FODP_SANITIZE)
  string(REPLACE "," ";" sanitizers "${FODP_SANITIZE}")
  foreach(sanitizer IN LISTS sanitizers)
    list(APPEND sanitize_flags -fsanitize=${sanitizer})
  endforeach()
  add_compile_options(${sanitize_flags} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(${sanitize_flags})
endif()
