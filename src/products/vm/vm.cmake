gpuready_area(vm SMALL FOLDERS products/vm WITHOUT "report|cli|program" LINK gpuready_doctor gpuready_zstd)
gpuready_product(vm gpuready_vm gpuready_http)
