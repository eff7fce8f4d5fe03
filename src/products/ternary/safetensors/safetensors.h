// safetensors files (huggingface/safetensors README, "Format"): eight bytes of length, a JSON
// header, data. They are read into the same File as GGUF files, and trusted as little. Packed
// ternary weights, as transformers writes them, are U8 tensors beside which NAME_scale holds one
// scale: src/transformers/integrations/bitnet.py, pack_weights(). It is read as a factor, as
// linear_class autobitlinear has it (microsoft/bitnet-b1.58-2B-4T); linear_class bitlinear divides
// by it.
#pragma once

#include "ternary/gguf/gguf.h"

namespace gpuready::ternary::safetensors {

// The greatest header that is read.
inline constexpr std::uint64_t kMostHeaderBytes = 16u << 20;

// Whether a file begins like one; GGUF files never do.
bool begins_like_one(gguf::Bytes bytes);

// bad_input, truncated or too_large with the place; every tensor's bytes are inside the file.
Result<gguf::File> read(gguf::Bytes bytes);

}  // namespace gpuready::ternary::safetensors
