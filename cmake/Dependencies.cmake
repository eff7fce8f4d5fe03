# Every outside library, in one place. docs/dependencies.md says why each is here.
# All are Debian packages and are linked statically into the one binary.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)

add_library(gpuready_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cc)

foreach(name archive zstd)
  find_library(GPUREADY_LIB_${name} NAMES lib${name}.a REQUIRED)
  add_library(gpuready_${name} INTERFACE)
  # Installed archives name it without this machine's path.
  target_link_libraries(gpuready_${name} INTERFACE
    $<BUILD_INTERFACE:${GPUREADY_LIB_${name}}> $<INSTALL_INTERFACE:${name}>)
endforeach()
target_link_libraries(gpuready_archive INTERFACE gpuready_zstd)
