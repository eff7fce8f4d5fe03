# One interface target that every target of the project links: warnings, hardening, sanitizers.
add_library(gpuready_options INTERFACE)
# Warnings are errors with the compilers that continuous integration has. A newer one has new warnings, and so have the
# flags of a project that includes the ternary library.
set(errors "")
if(NOT GPUREADY_ONLY STREQUAL "ternary-library" AND "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" MATCHES "^(GNU 12|Clang 19)[.]")
  set(errors -Werror)
endif()
target_compile_options(gpuready_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra ${errors} -Wshadow -Wundef
    -ffp-contract=off -fvisibility=hidden
    # CallSite::here() names a source file: the same bytes from every folder.
    -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  # std::stable_sort of g++ 12's library uses what C++20 deprecates.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
# Unit tests have the property GPUREADY_TEST: what is undefined is looked for in the program, and no fuzz target is among
# them. They compile in half the time so.
set(no_test $<NOT:$<BOOL:$<TARGET_PROPERTY:GPUREADY_TEST>>>)
if(GPUREADY_SANITIZE)
  target_compile_definitions(gpuready_options INTERFACE GPUREADY_SANITIZED)  # tests that take minutes try less
  target_compile_options(gpuready_options INTERFACE
    -fsanitize=address $<${no_test}:-fsanitize=undefined> -fno-sanitize-recover=all -fno-omit-frame-pointer
    # Functions found by dlsym() have the types of the vendor's headers, not of ours.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(gpuready_options INTERFACE -fsanitize=address,undefined)
endif()
if(GPUREADY_FUZZ)
  target_compile_options(gpuready_options INTERFACE $<${no_test}:-fsanitize=fuzzer-no-link>)
endif()
target_include_directories(gpuready_options INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/products ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/generated)
option(GPUREADY_SHARED_LIBRARIES "Link the system's shared libraries, libstdc++ too" OFF)
# The compiler's run time; no exception crosses an interface, so a program may have a C++ library of its own.
set(GPUREADY_RUNTIME -static-libgcc -static-libstdc++)
if(GPUREADY_SHARED_LIBRARIES)
  set(GPUREADY_RUNTIME "")
endif()
# All addresses are filled in at the start, and what holds them is then read-only.
set(GPUREADY_FULL_RELRO -Wl,-z,relro,-z,now)
find_program(GPUREADY_AWK NAMES awk mawk gawk REQUIRED)
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  # Without these it takes no source that uses a precompiled header.
  target_compile_options(gpuready_options INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess> "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # its garbage collector starts at 128 MiB: a twelfth of the build's time
  target_compile_options(gpuready_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
