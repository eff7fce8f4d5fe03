# What `cmake --install` gives other programs: gpuready::gpuready (C), gpuready::ternary and
# gpuready::ternary_device (C++, static), for find_package() and, the first, for pkg-config. All paths
# are relative: the prefix may be moved.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gpuready)

install(TARGETS gpuready RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gpuready DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(TARGETS gpuready_shared EXPORT gpureadyTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# The device-aware layer with what it is made of.
set(archives ternary ternary_device kernels device base fmt)
foreach(name ${archives} zstd)
  set_target_properties(gpuready_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS gpuready_${name} EXPORT gpureadyTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
target_compile_features(gpuready_ternary INTERFACE cxx_std_23)

install(EXPORT gpureadyTargets NAMESPACE gpuready:: DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/gpureadyConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/gpureadyConfig.cmake
  ${PROJECT_BINARY_DIR}/package/gpureadyConfigVersion.cmake DESTINATION ${package_folder})

file(RELATIVE_PATH GPUREADY_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/gpuready.pc.in ${PROJECT_BINARY_DIR}/package/gpuready.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/gpuready.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
