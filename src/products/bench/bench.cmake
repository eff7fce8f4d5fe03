# Its ternary stacks run the kernels of ternary.
gpuready_area(bench SMALL FOLDERS products/bench WITHOUT "report|cli" LINK gpuready_machine gpuready_kernels gpuready_ternary_device)
include(${CMAKE_CURRENT_LIST_DIR}/run/adapters.cmake)
gpuready_product(bench gpuready_bench)
# Checks of other stacks' work.
gpuready_optimise(-O3 products/bench/run/inputs.cc products/bench/run/reference.cc products/bench/native/cpu_stack.cc
  products/bench/native/narrow.cc)
# Thousands of comparisons are simulated in tests.
gpuready_optimise(-O2 IN_SMALL products/bench/compare/compare.cc products/bench/compare/estimate.cc
  products/bench/record/run_record.cc)
