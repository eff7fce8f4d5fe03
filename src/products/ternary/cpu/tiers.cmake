# One file a tier, each with its own instructions; the rest of the area is for any CPU. -O3: these
# are the inner loops, whose steps no fuzzer counts.
function(gpuready_tier name)
  target_sources(gpuready_ternary PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kernels_${name}.cc)
  set_source_files_properties(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kernels_${name}.cc PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-O3;$<$<BOOL:${GPUREADY_FUZZ}>:-fno-sanitize=fuzzer-no-link>;${ARGN}")
endfunction()

# gpuready_area() took every file; those of tiers are added back for this architecture.
get_target_property(sources gpuready_ternary SOURCES)
list(FILTER sources EXCLUDE REGEX "/kernels_[a-z0-9_]+\\.cc$")
set_property(TARGET gpuready_ternary PROPERTY SOURCES ${sources})

gpuready_tier(scalar)
gpuready_tier(weights_scalar)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  gpuready_tier(avx2 -mavx2)
  gpuready_tier(avx2_lookup -mavx2)
  gpuready_tier(weights_avx2 -mavx2 -mf16c)
  gpuready_tier(avx_vnni -mavx2 -mavxvnni)
  # GCC 12 takes the undefined operand in its own header for a fault of the caller.
  gpuready_tier(avx512 -mavx512f -mavx512bw -mavx512vl -mavx512vnni
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  gpuready_tier(vbmi -mavx512f -mavx512bw -mavx512vl -mavx512vnni -mavx512vbmi
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  gpuready_tier(gfni -mavx512f -mavx512bw -mavx512vl -mavx512vnni -mgfni
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  gpuready_tier(amx -mamx-tile -mamx-int8 -mavx512f -mavx512bw -mavx512vl -mavx512vnni
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  gpuready_tier(neon)
  gpuready_tier(dotprod -march=armv8.2-a+dotprod)
  gpuready_tier(i8mm -march=armv8.2-a+dotprod+i8mm)
endif()

# `ninja bench_ternary_cpu bench_ternary_threads bench_ternary_weights`: figures for docs/ternary.md.
foreach(part cpu threads weights)
  add_executable(bench_ternary_${part} EXCLUDE_FROM_ALL
    ${PROJECT_SOURCE_DIR}/benchmarks/ternary_${part}.cc)
  target_link_libraries(bench_ternary_${part} PRIVATE gpuready_options gpuready_ternary
    ${CMAKE_DL_LIBS})
endforeach()
