# The adapters' scripts, embedded so that one binary has them all: gpuready_adapter_N, and a header that
# lists them as GPUREADY_ADAPTER_FILES.
file(GLOB adapter_scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/adapters/*.py)
set(adapter_symbols "")
set(adapter_list "")
set(number 0)
foreach(script ${adapter_scripts})
  get_filename_component(name ${script} NAME)
  set(symbol gpuready_adapter_${number})
  gpuready_embed(gpuready_bench ${symbol} ${script})
  string(APPEND adapter_symbols "GPUREADY_EMBEDDED(${symbol})\n")
  string(APPEND adapter_list " \\\n  {\"${name}\", text_between(${symbol}_begin, ${symbol}_end)},")
  math(EXPR number "${number} + 1")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/bench/bench/embedded_adapters.h CONTENT
"#include \"device/kernel.h\"
${adapter_symbols}
inline std::string_view text_between(const unsigned char* begin, const unsigned char* end) {
  return {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin)};
}
#define GPUREADY_ADAPTER_FILES${adapter_list}
" @ONLY)
target_include_directories(gpuready_bench PRIVATE ${PROJECT_BINARY_DIR}/bench)
