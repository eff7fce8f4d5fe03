gpuready_area(slurm SMALL FOLDERS products/slurm WITHOUT "report|cli" LINK gpuready_report)
gpuready_product(slurm gpuready_slurm)
