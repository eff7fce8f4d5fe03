gpuready_area(fleet SMALL FOLDERS products/fleet WITHOUT "report|cli" LINK gpuready_machine gpuready_report)
gpuready_product(fleet gpuready_fleet)
# Thousands of searches are simulated in tests.
gpuready_optimise(-O2 products/fleet/slow/judge.cc products/fleet/slow/explain.cc products/fleet/slow/next_round.cc)
