// The scales that a tensor's format keeps in another tensor of the file.
#pragma once

#include <string>
#include <string_view>

#include "ternary/gguf/gguf.h"

namespace gpuready::ternary::gguf {

// What that tensor is called in files that are written: "blk.0.attn_q.weight_scale".
std::string scale_name(std::string_view tensor, FormatId format);
// The tensor of f32, f16 or bf16 that has such a name, or one that the format's reader takes too.
// However many scales it holds.
const Tensor* find_scales(const File& file, const Tensor& tensor, FormatId format);

}  // namespace gpuready::ternary::gguf
