// Writes a file again with other tensor formats: metadata and tensors that are not converted keep
// their bytes. bitnet-hf makes it a safetensors file, every other format a GGUF file.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ternary/gguf/gguf.h"

namespace gpuready::ternary::gguf {

struct ConvertOptions {
  FormatId to = FormatId::tq2_0;   // i2_s-bitnet-rs: as BitNet.rs' reader takes it, in two tensors
  std::vector<FormatId> layouts;   // of I2_S, TL1 and TL2 tensors in the file
  std::vector<std::string> names;  // globs with * and ?; none: every ternary tensor
  bool round_scales = false;
  bool from_float = false;  // quantise f32, f16 and bf16 matrices too; `names` must tell which
  Rule rule = Rule::of_format;
};

struct TensorNote {
  std::string name, text;
};
struct ConvertReport {
  FormatId format = FormatId::tq2_0;  // that converted tensors have
  std::vector<std::string> converted;
  std::vector<TensorNote> kept;    // asked for, but left as they are, and why
  std::vector<TensorNote> failed;  // if there are any, what was written is to be thrown away
  std::vector<std::string> notes;  // what changed besides
  std::uint64_t bytes = 0;         // written
};

// Takes the pieces of the new file in order; its errors end the conversion.
using Sink = std::function<Result<void>(Bytes)>;

// An error: nothing can be written at all. Holds one tensor in memory at a time.
Result<ConvertReport> convert(const File& file, const ConvertOptions& options, const Sink& sink);

bool matches_glob(std::string_view glob, std::string_view name);

}  // namespace gpuready::ternary::gguf
