// First a plan of every tensor of the new file with its size, so that the head can be written; then
// one tensor after the other.
#include "ternary/gguf/gguf_convert.h"

#include <algorithm>
#include <set>

#include "ternary/gguf/gguf_identify.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/gguf/gguf_write.h"
#include "ternary/shape.h"

namespace gpuready::ternary::gguf {
namespace {

struct Step {
  const Tensor* from = nullptr;
  bool convert = false;
  bool scale = false;  // holds the scale of the tensor before it
};

struct Plan {
  std::vector<NewTensor> tensors;
  std::vector<Step> steps;  // one a tensor
  std::vector<std::vector<std::uint8_t>> metadata;
};

bool named(const ConvertOptions& options, std::string_view name) {
  return std::ranges::any_of(options.names,
                             [&](const std::string& glob) { return matches_glob(glob, name); });
}

Tiling tiling_of(FormatId to, Shape shape) {
  return published_tiling(to, shape).value_or(Tiling{});
}

class Planner {
 public:
  Planner(const File& file, const ConvertOptions& options, const Stored& stored,
          ConvertReport& report)
      : file_(file), options_(options), stored_(stored), report_(report) {}

  Plan make() {
    std::vector<bool> convert;
    for (const Tensor& tensor : file_.tensors) convert.push_back(is_to_convert(tensor));
    for (std::size_t i = 0; i < convert.size(); ++i)
      if (!consumed_.contains(&file_.tensors[i])) add(file_.tensors[i], convert[i]);
    add_metadata();
    return std::move(plan_);
  }

 private:
  void keep(const Tensor& tensor, std::string why) {
    report_.kept.push_back({std::string(tensor.name), std::move(why)});
  }
  void refuse(const Tensor& tensor, std::string why) {
    report_.failed.push_back({std::string(tensor.name), std::move(why)});
  }

  bool is_to_convert(const Tensor& tensor) {
    const bool ternary = may_be_ternary(tensor.type), wanted = named(options_, tensor.name);
    if (!ternary && !wanted) return false;
    if (!options_.names.empty() && !wanted) {
      // One number for two layouts in a file would be read wrongly, whichever is meant.
      if (tensor.type == stored_.type && !format_is_certain(tensor.type) && !is_target(tensor))
        refuse(tensor, "it would keep a layout of " + type_name(tensor.type) +
                           " that is not the one that others are converted to");
      return false;
    }
    if (float_type(tensor.type)) return quantises(tensor);
    if (!ternary) {
      keep(tensor, "its type is " + type_name(tensor.type));
      return false;
    }
    const auto loaded = load(file_, tensor, options_.layouts);
    if (!loaded) {
      refuse(tensor, loaded.error().message);
      return false;
    }
    if (loaded->format == options_.to) {
      keep(tensor, "it is " + std::string(format(options_.to).name) + " already");
      return false;
    }
    if (loaded->scale_tensor != nullptr) consumed_.insert(loaded->scale_tensor);
    return nothing_behind(tensor, loaded->bytes.size()) && fits(tensor);
  }

  // What lies between a tensor's own bytes and the next is left out; it must be padding.
  bool nothing_behind(const Tensor& tensor, std::uint64_t own_bytes) {
    const Bytes behind = file_.data(tensor).subspan(own_bytes);
    const auto first = std::ranges::find_if(behind, [](std::uint8_t byte) { return byte != 0; });
    if (first == behind.end()) return true;
    refuse(tensor, "the file has " + std::to_string(behind.size()) +
                       " bytes after it that are not padding and belong to no tensor");
    return false;
  }

  bool quantises(const Tensor& tensor) {
    if (!options_.from_float) {
      keep(tensor, "its type is " + type_name(tensor.type) + "; --from-float quantises it");
      return false;
    }
    if (tensor.dim_count < 2) {
      keep(tensor, "it is a vector, not a matrix of weights");
      return false;
    }
    return nothing_behind(tensor, *tensor.size) && fits(tensor);
  }

  bool fits(const Tensor& tensor) {
    if (format(options_.to).needs_tiling && !published_tiling(options_.to, tensor.shape())) {
      refuse(tensor, "bitnet.cpp publishes no tiling for " + to_text(tensor.shape()) +
                         ", and a file cannot declare another");
      return false;
    }
    const auto bytes =
        encoded_bytes(options_.to, tensor.shape(), tiling_of(options_.to, tensor.shape()));
    if (!bytes) refuse(tensor, bytes.error().message);
    return bytes.has_value();
  }

  bool is_target(const Tensor& tensor) const {
    return layout_for(tensor.type, options_.layouts) == options_.to;
  }

  void add(const Tensor& tensor, bool convert) {
    NewTensor made{std::string(tensor.name), tensor.dim_count, tensor.dims, tensor.type,
                   tensor.size.value_or(tensor.extent)};
    if (convert) {
      const Shape shape = tensor.shape();
      made.type = stored_.type;
      made.size = encoded_bytes(options_.to, shape, tiling_of(options_.to, shape)).value_or(0);
    }
    if (!convert) (void)nothing_behind(tensor, made.size);
    plan_.tensors.push_back(made);
    plan_.steps.push_back({&tensor, convert, false});
    if (!convert || !stored_.scale_tensor) return;
    const std::string scale = made.name + "_scale";
    const Tensor* there = file_.find(scale);
    if (there != nullptr && !consumed_.contains(there))
      refuse(tensor, "its scale would be " + scale + ", which the file has already");
    plan_.tensors.push_back({scale, 1, {1, 1, 1, 1}, kF32, 4});
    plan_.steps.push_back({&tensor, false, true});
  }

  void add_metadata() {
    const bool mixed = std::ranges::any_of(plan_.tensors, [&](const NewTensor& tensor) {
      return may_be_ternary(tensor.type) && tensor.type != stored_.type;
    });
    const bool any =
        std::ranges::any_of(plan_.steps, [](const Step& step) { return step.convert; });
    for (const Metadata& entry : file_.metadata) {
      if (!any || entry.key != "general.file_type") {
        plan_.metadata.emplace_back(entry.record.begin(), entry.record.end());
      } else if (mixed || !as_u32(entry)) {
        report_.notes.push_back(
            "general.file_type was removed: " +
            std::string(mixed ? "the file has several ternary types" : "it was not a u32"));
      } else {
        plan_.metadata.push_back(u32_record(entry.key, stored_.file_type));
        if (*as_u32(entry) != stored_.file_type)
          report_.notes.push_back("general.file_type was " + std::to_string(*as_u32(entry)) +
                                  " and is " + std::to_string(stored_.file_type));
      }
    }
  }

  const File& file_;
  const ConvertOptions& options_;
  const Stored& stored_;
  ConvertReport& report_;
  Plan plan_;
  std::set<const Tensor*> consumed_;  // scale tensors that converted ones had
};

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

bool matches_glob(std::string_view glob, std::string_view name) {
  std::size_t at = 0, in = 0, star = std::string_view::npos, retry = 0;
  while (in < name.size()) {
    if (at < glob.size() && glob[at] == '*') {
      star = at++;
      retry = in;
    } else if (at < glob.size() && (glob[at] == '?' || glob[at] == name[in])) {
      ++at, ++in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++retry;
    } else {
      return false;
    }
  }
  while (at < glob.size() && glob[at] == '*') ++at;
  return at == glob.size();
}

Result<ConvertReport> convert(const File& file, const ConvertOptions& options, const Sink& sink) {
  const auto stored = stored_as(options.to);
  if (!stored)
    return fail(ErrorKind::unknown_format,
                "no GGUF type stands for " + std::string(format(options.to).name));
  if (options.from_float && options.names.empty())
    return fail(ErrorKind::bad_input,
                "say with --tensor which tensors --from-float is to quantise");
  if (!file.problems.empty()) return fail(ErrorKind::bad_input, file.problems.front());
  ConvertReport report;
  const Plan plan = Planner(file, options, *stored, report).make();
  Output out(sink, file.alignment, report);
  TRY(out.put(head(file.version, file.alignment, plan.metadata, plan.tensors)));
  std::vector<float> scales;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    Result<void> written;
    if (step.scale) {
      const auto bytes = std::as_bytes(std::span(scales));
      written = out.put_padded({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    } else if (!step.convert) {
      written = out.put_padded(file.data(*step.from).first(plan.tensors[i].size));
    } else if (const auto made = encode_tensor(file, *step.from, options)) {
      scales = made->scales;
      written = out.put_padded(made->bytes);
      report.converted.emplace_back(step.from->name);
    } else {
      report.failed.push_back({std::string(step.from->name), made.error().message});
    }
    if (!written) return std::unexpected(written.error());
  }
  return report;
}

}  // namespace gpuready::ternary::gguf
