gpuready_area(exporter SMALL FOLDERS products/exporter WITHOUT "report|cli" LINK gpuready_machine gpuready_doctor)
gpuready_product(exporter gpuready_exporter)
