# They read every byte of files of gigabytes.
file(GLOB readers CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/code/*.cc)
gpuready_optimise(-O2 ${readers})
gpuready_area(pack_code FOLDERS products/pack/code LINK gpuready_machine gpuready_http $<BUILD_INTERFACE:gpuready_archive> gpuready_zstd
  $<BUILD_INTERFACE:gpuready_z>)
gpuready_area(pack SMALL FOLDERS products/pack WITHOUT "code|report|cli" LINK gpuready_pack_code $<BUILD_INTERFACE:gpuready_sodium>
  $<BUILD_INTERFACE:gpuready_toml>)
gpuready_product(pack gpuready_pack)
