# libgpuready.so: the C interface of gpuready.h, cuda_pool_c.h, pack_c.h, ternary_c.h, ternary_cuda_c.h and vm_c.h, and nothing else. Its sources are named
# here, and not only taken out of the areas' archives, so that nothing needs to refer to them.
# Each is called c_api*.cc: Unity.cmake leaves these alone.
file(GLOB_RECURSE c_api CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/c_api*.cc)
add_library(gpuready_shared SHARED ${c_api})
set_target_properties(gpuready_shared PROPERTIES EXPORT_NAME gpuready)
gpuready_c_library(gpuready_shared gpuready)
target_link_libraries(gpuready_shared PRIVATE gpuready_options gpuready_report gpuready_machine gpuready_device gpuready_ternary_device
  gpuready_pack_report gpuready_vm_report)
