# -DGPUREADY_ONLY=ternary-library: libgpuready-ternary, the CPU's part of the product ternary with its C interface
# (ternary_c.h), shared and static; the static one has the C++ interface, too. It takes a C++ compiler and glibc, and looks
# for no library of others. GPUs take the executors of src/device/, with fmt, zstd and a compiler of device code:
# libgpuready.so has those.
find_package(Threads REQUIRED)
set(headers result.h status.h ternary.h ternary_c.h ternary_device.h ternary_gguf.h)
set(ternary ${PROJECT_SOURCE_DIR}/src/products/ternary)
file(GLOB sources CONFIGURE_DEPENDS ${ternary}/*.cc ${ternary}/cpu/*.cc ${ternary}/gguf/*.cc ${ternary}/c_api/*.cc
  ${ternary}/library/*.cc)
list(REMOVE_ITEM sources ${ternary}/c_api/c_api_cuda.cc)
foreach(name choose cpu_backend device_engine device_product device_state device_stats fallback host_memory options)
  list(APPEND sources ${ternary}/device/${name}.cc)
endforeach()
foreach(name cpu/cpus forks print/printed result text units utf8 c_api/c_api_status)
  list(APPEND sources ${PROJECT_SOURCE_DIR}/src/base/${name}.cc)
endforeach()

add_library(gpuready_ternary STATIC ${sources})
target_link_libraries(gpuready_ternary PRIVATE $<BUILD_INTERFACE:gpuready_options> PUBLIC Threads::Threads)
target_compile_features(gpuready_ternary INTERFACE cxx_std_20)
target_include_directories(gpuready_ternary INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(gpuready_ternary PROPERTIES OUTPUT_NAME gpuready-ternary EXPORT_NAME static)
gpuready_unity(gpuready_ternary)
include(${ternary}/cpu/tiers.cmake)
add_library(gpuready_ternary_shared SHARED $<TARGET_OBJECTS:gpuready_ternary>)
target_link_libraries(gpuready_ternary_shared PRIVATE Threads::Threads)
set_target_properties(gpuready_ternary_shared PROPERTIES EXPORT_NAME shared)
gpuready_c_library(gpuready_ternary_shared gpuready-ternary)

list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/include/gpuready/)
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gpuready)
install(TARGETS gpuready_ternary gpuready_ternary_shared EXPORT gpuready-ternaryTargets)
gpuready_package(gpuready-ternary "Exact products of ternary (1.58-bit) weights on CPUs (the C interface)")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/gpuready-ternary)
