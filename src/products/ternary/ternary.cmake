gpuready_area(ternary FOLDERS products/ternary WITHOUT "device|suite|c_api|library|report|cli|safetensors" LINK gpuready_base)
include(${CMAKE_CURRENT_LIST_DIR}/cpu/tiers.cmake)
gpuready_area(ternary_device SMALL FOLDERS products/ternary/device products/ternary/c_api LINK gpuready_ternary gpuready_kernels)
gpuready_area(ternary_safetensors FOLDERS products/ternary/safetensors LINK gpuready_ternary)
# Weights by the gigabyte are laid out for GPUs.
gpuready_optimise(-O2 IN_SMALL products/ternary/device/gpu_layout.cc)
# The program's verify and bench, which no library has. Plain sums are most of their work.
gpuready_area(ternary_suite FOLDERS products/ternary/suite LINK gpuready_ternary_device gpuready_ternary_safetensors)
gpuready_product(ternary gpuready_ternary_suite)
foreach(part problems quantise subject values)
  gpuready_optimise(-O2 products/ternary/suite/verify_${part}.cc)
endforeach()
file(GLOB c_api CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/c_api/c_api*.cc)
if(GPUREADY_SANITIZE)  # enumerations come from C, with any value, and are checked there
  set_source_files_properties(${c_api} PROPERTIES COMPILE_OPTIONS -fno-sanitize=enum)
endif()
# `ninja bench_ternary_layer`: what the device-aware layer costs a call.
add_executable(bench_ternary_layer EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/benchmarks/ternary_layer.cc)
target_link_libraries(bench_ternary_layer PRIVATE gpuready_options gpuready_ternary_device)

# Ternary matrix products on a GPU: `ninja bench_ternary_gemm`.
add_executable(bench_ternary_gemm EXCLUDE_FROM_ALL
  ${PROJECT_SOURCE_DIR}/benchmarks/ternary_gemm.cc ${PROJECT_SOURCE_DIR}/benchmarks/ternary_gemm_check.cc
  ${PROJECT_SOURCE_DIR}/benchmarks/ternary_gemm_checker.cc)
target_link_libraries(bench_ternary_gemm PRIVATE gpuready_options gpuready_ternary_device)
target_link_options(bench_ternary_gemm PRIVATE -static-libgcc -static-libstdc++)
# Ternary products on a GPU, checked and timed: `ninja bench_ternary_gpu`.
add_executable(bench_ternary_gpu EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/benchmarks/ternary_gpu.cc
  ${PROJECT_SOURCE_DIR}/benchmarks/ternary_gpu_check.cc ${PROJECT_SOURCE_DIR}/benchmarks/ternary_chain.cc
  ${PROJECT_SOURCE_DIR}/benchmarks/ternary_gpu_times.cc)
target_link_libraries(bench_ternary_gpu PRIVATE gpuready_options gpuready_ternary_device)
target_link_options(bench_ternary_gpu PRIVATE -static-libgcc -static-libstdc++)
