# What `cmake --install` gives other programs, for find_package(): gpuready::gpuready (the C interface,
# shared; also for pkg-config) and, in C++ and static, gpuready::machine (gpu_info.h and the values that
# it returns), gpuready::ternary and gpuready::ternary_device. All paths are relative: the prefix may be
# moved.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gpuready)

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

install(EXPORT gpureadyTargets NAMESPACE gpuready:: DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/gpureadyConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/gpureadyConfig.cmake
  ${PROJECT_BINARY_DIR}/package/gpureadyConfigVersion.cmake DESTINATION ${package_folder})

file(RELATIVE_PATH GPUREADY_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/gpuready.pc.in ${PROJECT_BINARY_DIR}/package/gpuready.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/gpuready.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
