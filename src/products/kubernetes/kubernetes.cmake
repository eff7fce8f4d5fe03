gpuready_area(kubernetes SMALL FOLDERS products/kubernetes WITHOUT "report|cli" LINK gpuready_machine)
gpuready_product(kubernetes gpuready_kubernetes)
