// First a plan of every tensor of the new file with its size, so that the head can be written; then
// one tensor after the other.
#include "ternary/gguf/gguf_convert.h"

#include "base/result.h"
#include "ternary/gguf/gguf_identify.h"
#include "ternary/gguf/gguf_plan.h"

namespace gpuready::ternary::gguf {
namespace {

Result<Encoded> encode_tensor(const File& file, const Tensor& tensor,
                              const ConvertOptions& options) {
  EncodeOptions encoding;
  encoding.round_scales = options.round_scales;
  if (const auto floats = float_type(tensor.type)) {
    const FloatView view(*floats, std::as_bytes(file.data(tensor).first(*tensor.size)));
    return quantise(view, tensor.shape(), options.to, {options.rule, encoding});
  }
  const auto loaded = TRY(load(file, tensor, options.layouts));
  return ternary::convert(loaded.view(), options.to, encoding);
}

constexpr std::uint32_t kGgufVersion = 3;  // that is written where none is read

// Writes pieces with their padding, until a tensor has failed: then only the rest is checked.
class Output {
 public:
  Output(const Sink& sink, std::uint64_t alignment, ConvertReport& report)
      : sink_(sink), alignment_(alignment), report_(report) {}
  Result<void> put(Bytes bytes) {
    if (!report_.failed.empty()) return {};
    report_.bytes += bytes.size();
    return sink_(bytes);
  }
  Result<void> put_padded(Bytes bytes) {
    const Result<void> written = put(bytes);
    const std::vector<std::uint8_t> zeros(padding(bytes.size(), alignment_));
    return written && !zeros.empty() ? put(zeros) : written;
  }

 private:
  const Sink& sink_;
  std::uint64_t alignment_;
  ConvertReport& report_;
};

}  // namespace

Result<ConvertReport> convert(const File& file, const ConvertOptions& asked, const Sink& sink) {
  const auto stored = stored_as(asked.to);
  if (!stored)
    return fail(ErrorKind::unknown_format, "no type of GGUF or safetensors files stands for " +
                                               std::string(format(asked.to).name));
  ConvertOptions options = asked;
  options.to = stored->format;
  if (options.from_float && options.names.empty())
    return fail(ErrorKind::bad_input,
                "say with --tensor which tensors --from-float is to quantise");
  if (!file.problems.empty()) return fail(ErrorKind::bad_input, file.problems.front());
  ConvertReport report;
  report.format = options.to;
  const Plan made = plan(file, options, *stored, report);
  const std::uint64_t alignment = alignment_of(file, stored->container);
  const std::uint32_t version = file.container == Container::gguf ? file.version : kGgufVersion;
  Output out(sink, alignment, report);
  TRY(out.put(stored->container == Container::gguf
                  ? head(version, alignment, made.metadata, made.tensors)
                  : safetensors_head(made.metadata, made.tensors)));
  std::vector<float> scales;
  for (std::size_t i = 0; i < made.steps.size(); ++i) {
    const Step& step = made.steps[i];
    Result<void> written;
    if (step.scale) {
      const auto bytes = std::as_bytes(std::span(scales));
      written = out.put_padded({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    } else if (!step.convert) {
      written = out.put_padded(file.data(*step.from).first(made.tensors[i].size));
    } else if (const auto encoded = encode_tensor(file, *step.from, options)) {
      scales = encoded->scales;
      written = out.put_padded(encoded->bytes);
      report.converted.emplace_back(step.from->name);
    } else {
      report.failed.push_back({std::string(step.from->name), encoded.error().message});
    }
    if (!written) return std::unexpected(written.error());
  }
  return report;
}

}  // namespace gpuready::ternary::gguf
