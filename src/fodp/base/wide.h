// FODP_WIDE before a function's definition compiles it several times, for narrow and for wide vector registers. The widest version that the
// processor has is picked when the program starts.
//
// Every version gives the same bits: nothing here is compiled with contraction or reordering (cmake/options.cmake), so that each product,
// sum and conversion is rounded by itself, whether one or eight of them are done at once. It is for short loops over numbers that do not
// call anything.
#pragma once

#include <cstring>

// The sanitizers have to be started before a version could be picked, and clang spells the widths differently.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FODP_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FODP_WIDE
#endif

namespace fodp {

// Vectors that the compiler keeps in as many registers as the processor needs for them. Sums that are kept in one are added up lane by
// lane, so that their order is the same for every width. They are filled by memcpy, and are not passed to functions by value.
typedef double EightDoubles __attribute__((vector_size(64)));
typedef float EightFloats __attribute__((vector_size(32)));

}  // namespace fodp
