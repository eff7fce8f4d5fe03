# Every outside library, in one place. docs/dependencies.md says why each is here.
# All are Debian packages and are linked statically into the one binary, unless a distribution wants its own.
find_package(Threads REQUIRED)
# Headers of a newer release of the system (scripts/setup.sh), where its own lacks them.
if(EXISTS ${PROJECT_SOURCE_DIR}/build/packages)
  list(PREPEND CMAKE_PREFIX_PATH ${PROJECT_SOURCE_DIR}/build/packages/usr)
endif()
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_path(GPUREADY_TOML NAMES toml++/toml.h REQUIRED)
add_library(gpuready_toml INTERFACE)
target_include_directories(gpuready_toml SYSTEM INTERFACE ${GPUREADY_TOML})

find_file(fmt_header NAMES base.h core.h PATH_SUFFIXES fmt REQUIRED NO_CACHE)
file(STRINGS ${fmt_header} fmt_version REGEX "define FMT_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+$" fmt_version "${fmt_version}")
if(fmt_version GREATER_EQUAL 90000 AND fmt_version LESS 110000)
  add_library(gpuready_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cc)
else()
  file(WRITE ${PROJECT_BINARY_DIR}/fmt.cc "")
  add_library(gpuready_fmt STATIC ${PROJECT_BINARY_DIR}/fmt.cc)
  target_compile_definitions(gpuready_fmt PUBLIC FMT_HEADER_ONLY)
endif()

# Imported targets, so that each comes before what it needs itself on the linker's command line.
foreach(name archive lzma nghttp2 sodium z zstd)
  add_library(gpuready_${name} INTERFACE)
  if(GPUREADY_SHARED_LIBRARIES)  # by name: gpuready-guest, linked with -static, still takes the archives
    target_link_libraries(gpuready_${name} INTERFACE ${name})
    continue()
  endif()
  find_library(GPUREADY_LIB_${name} NAMES lib${name}.a REQUIRED)
  add_library(gpuready_${name}_file STATIC IMPORTED GLOBAL)
  set_target_properties(gpuready_${name}_file PROPERTIES IMPORTED_LOCATION ${GPUREADY_LIB_${name}})
  # Installed archives name it without this machine's path.
  target_link_libraries(gpuready_${name} INTERFACE
    $<BUILD_INTERFACE:gpuready_${name}_file> $<INSTALL_INTERFACE:${name}>)
endforeach()
if(GPUREADY_SHARED_LIBRARIES)
  target_link_libraries(gpuready_archive INTERFACE zstd lzma z)
else()
  target_link_libraries(gpuready_archive_file INTERFACE gpuready_zstd_file gpuready_lzma_file gpuready_z_file)
endif()
