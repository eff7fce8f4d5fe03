// GGUF and safetensors files of any bytes: read, inspected, every tensor decoded as every layout,
// and converted. What a conversion writes must be a file without problems.
#include <cstdlib>
#include <vector>

#include "ternary/gguf/gguf_convert.h"
#include "ternary/gguf/gguf_inspect.h"
#include "ternary/safetensors/safetensors.h"

using namespace gpuready::ternary;

static gpuready::Result<gguf::File> read_file(gguf::Bytes bytes) {
  return safetensors::begins_like_one(bytes) ? safetensors::read(bytes) : gguf::read(bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto file = read_file({data, size});
  if (!file) {
    if (file.error().message.empty()) std::abort();
    return 0;
  }
  gguf::inspect(*file, {});
  std::vector<std::vector<FormatId>> choices = {{}};
  for (const FormatId id :
       {FormatId::i2s_x86, FormatId::i2s_arm, FormatId::i2s_four_row, FormatId::i2s_bitnet_rs,
        FormatId::tl1_bitnet_cpp, FormatId::tl1_bitnet_cpp_setup, FormatId::tl2_bitnet_cpp,
        FormatId::i2s_bitnet_rs_split, FormatId::i2s_bitnet_rs_inline, FormatId::i2s_qk256})
    choices.push_back({id});
  for (const auto& layouts : choices) {
    gguf::inspect(*file, layouts);
    for (const gguf::Tensor& tensor : file->tensors)
      if (const auto loaded = gguf::load(*file, tensor, layouts)) (void)decode(loaded->view());
  }
  for (const FormatId to : {FormatId::tq1_0, FormatId::i2s_x86, FormatId::tl1_bitnet_cpp,
                            FormatId::i2s_bitnet_rs, FormatId::bitnet_hf}) {
    gguf::ConvertOptions options;
    options.to = to;
    options.layouts = {FormatId::i2s_x86, FormatId::tl1_bitnet_cpp, FormatId::tl2_bitnet_cpp};
    options.names = {"*"};
    options.round_scales = options.from_float = true;
    std::vector<std::uint8_t> out;
    const auto report = gguf::convert(*file, options, [&](gguf::Bytes bytes) -> Result<void> {
      out.insert(out.end(), bytes.begin(), bytes.end());
      return {};
    });
    if (!report || !report->failed.empty()) continue;
    const auto again = read_file(out);
    if (!again || !again->problems.empty()) std::abort();
  }
  return 0;
}
