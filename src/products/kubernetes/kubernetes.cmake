gpuready_area(kubernetes SMALL FOLDERS products/kubernetes WITHOUT "report|cli" LINK gpuready_machine
  $<BUILD_INTERFACE:gpuready_nghttp2>)
gpuready_product(kubernetes gpuready_kubernetes)
