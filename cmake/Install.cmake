# What `cmake --install` gives other programs, for find_package(): gpuready::gpuready (the C interface,
# shared; also for pkg-config) and, in C++ and static, gpuready::machine (gpu_info.h and the values that
# it returns), gpuready::ternary and gpuready::ternary_device.
include(${CMAKE_CURRENT_LIST_DIR}/InstallProgram.cmake)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gpuready DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS gpuready_shared EXPORT gpureadyTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/bindings/rust/ DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuready-ternary COMPONENT library
  PATTERN target EXCLUDE PATTERN Cargo.lock EXCLUDE)

# With what they are made of.
set(archives machine host jobs value ternary ternary_device kernels device base fmt)
foreach(name ${archives} zstd)
  set_target_properties(gpuready_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS gpuready_${name} EXPORT gpureadyTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
foreach(name machine ternary)
  target_compile_features(gpuready_${name} INTERFACE cxx_std_20)
endforeach()

gpuready_package(gpuready "Finds and tests GPUs, and multiplies ternary weights (the C interface)")
