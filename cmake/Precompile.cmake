# gpuready_precompile(<target>): the two slow headers, compiled once for all targets.
function(gpuready_precompile target)
  if(NOT TARGET gpuready_precompiled)
    file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cc "")
    add_library(gpuready_precompiled STATIC ${PROJECT_BINARY_DIR}/precompiled.cc)
    target_link_libraries(gpuready_precompiled PRIVATE gpuready_options gpuready_fmt nlohmann_json::nlohmann_json)
    target_precompile_headers(gpuready_precompiled PRIVATE
      <nlohmann/json.hpp> <fmt/format.h> <algorithm> <expected> <functional> <map> <memory> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM gpuready_precompiled)
endfunction()
