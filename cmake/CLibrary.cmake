# What the shared libraries with a C interface have in common, and their packages for CMake and pkg-config.
include(CMakePackageConfigHelpers)

# gpuready_c_library(<target> <name>): lib<name>.so, which exports the C interface with its version (exports.map).
function(gpuready_c_library target name)
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${exports})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_options(${target} PRIVATE -Wl,--as-needed ${GPUREADY_FULL_RELRO} -Wl,--version-script=${exports})
  if(NOT GPUREADY_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL ${GPUREADY_RUNTIME} -Wl,--gc-sections)
    gpuready_glibc_floor(${target})
  endif()
endfunction()

# gpuready_package(<name> <description>): find_package(<name>), of the targets that were exported as <name>Targets, and
# `pkg-config <name>`. All paths are relative: the prefix may be moved.
function(gpuready_package name description)
  set(made ${PROJECT_BINARY_DIR}/package)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(EXPORT ${name}Targets NAMESPACE ${name}:: DESTINATION ${folder})
  write_basic_package_version_file(${made}/${name}ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/Config.cmake.in ${made}/${name}Config.cmake @ONLY)
  install(FILES ${made}/${name}Config.cmake ${made}/${name}ConfigVersion.cmake DESTINATION ${folder})
  file(RELATIVE_PATH prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/library.pc.in ${made}/${name}.pc @ONLY)
  install(FILES ${made}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
endfunction()
