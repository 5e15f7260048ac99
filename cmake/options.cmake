# How our own files are compiled; nothing of this reaches those who link the library.
add_library(fodp_build_options INTERFACE)
target_compile_options(fodp_build_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow=local -Wno-missing-field-initializers -Wno-restrict -Werror)
# No contraction: the noise, and so a run under --insecure-seed, is the same on every machine. Never -ffast-math.
target_compile_options(fodp_build_options INTERFACE -ffp-contract=off)
# Nobody reads errno after a square root, which can then be taken of several numbers at once.
target_compile_options(fodp_build_options INTERFACE -fno-math-errno)
if(FODP_SANITIZE)
  string(REPLACE "," ";" sanitizers "${FODP_SANITIZE}")
  foreach(sanitizer IN LISTS sanitizers)
    list(APPEND sanitize_flags -fsanitize=${sanitizer})
  endforeach()
  # GCC 12 sees uninitialised values in LibTorch's headers where the sanitizers' own code stands between.
  add_compile_options(${sanitize_flags} -fno-omit-frame-pointer -fno-sanitize-recover=all -Wno-maybe-uninitialized)
  add_link_options(${sanitize_flags})
endif()

# Compiles these files of a target in groups of six: each group reads LibTorch's headers once. Names in their anonymous namespaces must differ.
function(fodp_compile_together target name)
  if(NOT FODP_TOGETHER)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(index 0)
  foreach(source IN LISTS ARGN)
    math(EXPR group "${index} / 6")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
    math(EXPR index "${index} + 1")
  endforeach()
endfunction()
