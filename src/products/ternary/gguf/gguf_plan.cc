#include "ternary/gguf/gguf_plan.h"

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "ternary/gguf/gguf_identify.h"
#include "ternary/gguf/gguf_scales.h"
#include "ternary/layout.h"
#include "ternary/shape.h"

namespace gpuready::ternary::gguf {
namespace {

bool named(const ConvertOptions& options, std::string_view name) {
  return std::ranges::any_of(options.names,
                             [&](const std::string& glob) { return matches_glob(glob, name); });
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = read_utf8(text, at).bytes;
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
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
    warn();
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
      if (tensor.type == stored_.type && !certain_format(tensor.type) && !is_target(tensor))
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
      const bool unnamed = loaded.error().kind == ErrorKind::ambiguous_format;
      refuse(tensor, loaded.error().message + (unnamed ? " with --layout" : ""));
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
    if (options_.to == FormatId::bitnet_hf && tensor.dim_count != 2) {
      refuse(tensor, "bitnet-hf holds matrices, and it has " + std::to_string(tensor.dim_count) +
                         " dimensions");
      return false;
    }
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
    if (!holds(stored_.container, made.type))
      refuse(tensor, std::string(stored_.container == Container::gguf ? "GGUF" : "safetensors") +
                         " files do not hold its type, " + type_name(made.type));
    if (stored_.container == Container::safetensors && !is_utf8(made.name))
      refuse(tensor, "its name is not UTF-8, as safetensors files need it");
    plan_.tensors.push_back(made);
    plan_.steps.push_back({&tensor, convert, false});
    if (convert) add_scales(tensor);
  }

  void add_scales(const Tensor& tensor) {
    const Shape shape = tensor.shape();
    const auto size = encoded_size(options_.to, shape, tiling_of(options_.to, shape));
    if (!size || size->scales == 0) return;
    const std::string name = scale_name(tensor.name, options_.to);
    const Tensor* there = file_.find(name);
    if (there != nullptr && !consumed_.contains(there))
      refuse(tensor, "its scales would be " + name + ", which the file has already");
    plan_.tensors.push_back(
        {name, 1, {static_cast<std::int64_t>(size->scales), 1, 1, 1}, kF32, 4 * size->scales});
    plan_.steps.push_back({&tensor, false, true});
    mistaken_ += options_.to == FormatId::i2s_bitnet_rs_split && seems_qk256(shape, size->bytes);
  }

  // BitNet.rs compares sizes, within a tolerance, and tries its QK256 first:
  // load_tensor_from_gguf() of crates/bitnet-models/src/gguf_simple.rs, qk256_tolerance_bytes().
  bool seems_qk256(Shape shape, std::uint64_t bytes) const {
    const auto weights = static_cast<std::uint64_t>(shape.rows * shape.cols);
    const std::uint64_t in_file = bytes + padding(bytes, alignment_of(file_, stored_.container));
    const std::uint64_t qk256 = (weights + 255) / 256 * 64;
    const std::uint64_t apart = std::max(in_file, qk256) - std::min(in_file, qk256);
    return apart <= std::max<std::uint64_t>(8, (qk256 + 999) / 1000);
  }

  void warn() {
    if (mistaken_ > 0)
      report_.notes.push_back("BitNet.rs' reader compares sizes and treats " +
                              std::to_string(mistaken_) +
                              " of these tensors as QK256, which has no zero; it reads "
                              "i2_s-bitnet-rs-inline as written");
    const auto packed = [](const Step& step) {
      return step.convert && step.from->type == kPackedU8;
    };
    if (std::ranges::any_of(plan_.steps, packed))
      report_.notes.push_back(
          "weight_scale is read as a factor, as in models of linear_class autobitlinear; models of "
          "linear_class bitlinear divide by it and need another reader");
  }

  void add_metadata() {
    const bool mixed = std::ranges::any_of(plan_.tensors, [&](const NewTensor& tensor) {
      return may_be_ternary(tensor.type) && tensor.type != stored_.type;
    });
    const bool any =
        std::ranges::any_of(plan_.steps, [](const Step& step) { return step.convert; });
    if (stored_.container == Container::safetensors) return add_strings();
    for (const Metadata& entry : file_.metadata) {
      if (entry.key == "general.alignment" && file_.container == Container::safetensors) {
        report_.notes.push_back("the metadata entry general.alignment was left out");
      } else if (!any || entry.key != "general.file_type") {
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

  void add_strings() {
    std::uint64_t left_out = 0;
    for (const Metadata& entry : file_.metadata) {
      const bool text =
          entry.type == ValueType::string && is_utf8(entry.key) &&
          is_utf8({reinterpret_cast<const char*>(entry.value.data()) + 8, entry.value.size() - 8});
      if (text) plan_.metadata.emplace_back(entry.record.begin(), entry.record.end());
      left_out += !text;
    }
    if (left_out > 0)
      report_.notes.push_back(
          std::to_string(left_out) +
          " metadata entries that are not text were left out: safetensors files "
          "hold only text");
  }

  const File& file_;
  const ConvertOptions& options_;
  const Stored& stored_;
  ConvertReport& report_;
  Plan plan_;
  std::set<const Tensor*> consumed_;  // scale tensors that converted ones had
  std::uint64_t mistaken_ = 0;        // tensors that BitNet.rs reads as another layout
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

std::uint64_t alignment_of(const File& file, Container container) {
  constexpr std::uint64_t kDefault = 32;  // general.alignment of GGUF
  return container == Container::safetensors ? 1
         : file.container == Container::gguf ? file.alignment
                                             : kDefault;
}

Plan plan(const File& file, const ConvertOptions& options, const Stored& stored,
          ConvertReport& report) {
  return Planner(file, options, stored, report).make();
}

}  // namespace gpuready::ternary::gguf
