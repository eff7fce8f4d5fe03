gpuready_area(fleet SMALL FOLDERS products/fleet WITHOUT "report|cli" LINK gpuready_machine gpuready_report)
gpuready_product(fleet gpuready_fleet)
