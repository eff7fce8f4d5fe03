gpuready_area(exporter SMALL FOLDERS products/exporter WITHOUT "report|cli" LINK gpuready_machine gpuready_doctor
  $<BUILD_INTERFACE:gpuready_event_extra>)
gpuready_product(exporter gpuready_exporter)
