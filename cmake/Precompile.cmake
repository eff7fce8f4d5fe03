# gpuready_precompile(<target> <small>): the two slow headers, compiled once for all targets that are
# optimised alike. Where <small> is true a release is optimised for size, which takes less time to
# compile: for code that is no inner loop. With sanitizers what most tests spend their time in is
# optimised, and all else compiles in half the time.
function(gpuready_precompile target small)
  set(kind precompiled)
  set(options "")
  if(GPUREADY_SANITIZE AND target MATCHES "^gpuready_(base|value|host|machine|doctor)$")
    set(kind precompiled_tested)
    set(options -O1)
  elseif(small)
    set(kind precompiled_small)
    # GCC 12 does not follow what it did not inline.
    set(options $<$<CONFIG:Release>:-Os$<$<CXX_COMPILER_ID:GNU>:$<SEMICOLON>-Wno-maybe-uninitialized>>)
  endif()
  target_compile_options(${target} PRIVATE ${options})
  if(NOT TARGET gpuready_${kind})
    file(WRITE ${PROJECT_BINARY_DIR}/${kind}.cc "")
    add_library(gpuready_${kind} STATIC ${PROJECT_BINARY_DIR}/${kind}.cc)
    target_link_libraries(gpuready_${kind} PRIVATE gpuready_options gpuready_fmt nlohmann_json::nlohmann_json)
    target_compile_options(gpuready_${kind} PRIVATE ${options})
    target_precompile_headers(gpuready_${kind} PRIVATE
      <nlohmann/json.hpp> <fmt/format.h> <algorithm> <expected> <functional> <map> <memory> <vector>)
  endif()
  target_precompile_headers(${target} REUSE_FROM gpuready_${kind})
endfunction()
