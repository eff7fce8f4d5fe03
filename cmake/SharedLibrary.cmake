# libgpuready.so: the C interface of gpuready.h, cuda_pool_c.h, pack_c.h, ternary_c.h, ternary_cuda_c.h and vm_c.h, and nothing else. Its sources are named
# here, and not only taken out of the areas' archives, so that nothing needs to refer to them.
# Each is called c_api*.cc: Unity.cmake leaves these alone.
add_library(gpuready_shared SHARED
  ${PROJECT_SOURCE_DIR}/src/base/c_api/c_api_status.cc ${PROJECT_SOURCE_DIR}/src/machine/c_api.cc ${PROJECT_SOURCE_DIR}/src/report/c_api.cc
  ${PROJECT_SOURCE_DIR}/src/device/c_api_pool.cc ${PROJECT_SOURCE_DIR}/src/products/pack/report/c_api_pack.cc ${PROJECT_SOURCE_DIR}/src/products/vm/report/c_api_vm.cc
  ${PROJECT_SOURCE_DIR}/src/products/ternary/c_api/c_api.cc ${PROJECT_SOURCE_DIR}/src/products/ternary/c_api/c_api_packed.cc
  ${PROJECT_SOURCE_DIR}/src/products/ternary/c_api/c_api_cuda.cc ${PROJECT_SOURCE_DIR}/src/products/ternary/c_api/c_api_gguf.cc)
set_target_properties(gpuready_shared PROPERTIES
  OUTPUT_NAME gpuready EXPORT_NAME gpuready VERSION ${PROJECT_VERSION} SOVERSION 0
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
target_link_libraries(gpuready_shared PRIVATE gpuready_options gpuready_report gpuready_machine gpuready_device gpuready_ternary_device)
target_include_directories(gpuready_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(gpuready_shared PRIVATE -Wl,--as-needed ${GPUREADY_FULL_RELRO}
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
if(NOT GPUREADY_SANITIZE)
  # No exception crosses the C interface, so a program may have a C++ library of its own.
  target_link_options(gpuready_shared PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL
    -static-libgcc -static-libstdc++ -Wl,--gc-sections)
  gpuready_glibc_floor(gpuready_shared)
endif()
