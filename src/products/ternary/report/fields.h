// The fields of what the commands of `ternary` tell.
#pragma once

#include <algorithm>
#include <array>

#include "ternary/report/bench_report.h"
#include "ternary/report/convert_report.h"
#include "ternary/report/exit_rules.h"
#include "ternary/report/inspect_report.h"
#include "ternary/report/verify_report.h"
#include "value/document.h"

namespace gpuready {

// ---- layouts that files do not declare
FIELDS_OF(ternary::gguf::LikelyLayout) {
  visit.about("likely_layout", "The layout that a file's tensors of one family most likely have.");
  FIELD(family, "What files call it.", kAlways);
  visit("layout", &T::name, "The layout.", kAlways);
  FIELD(reason, "Why it is likely.", {.always = true, .printable = true});
  visit.hidden(&T::layout);
}

// ---- verify
inline constexpr auto kChecksAndFile = [] {
  std::array<std::string_view, std::size(ternary::kChecks) + 1> all{};
  std::ranges::copy(ternary::kChecks, all.begin());
  all.back() = "file";
  return all;
}();

FIELDS_OF(ternary::SubjectResult) {
  visit.about("subject", "A tier of the CPU, or a device.");
  FIELD(name, "cpu/<tier>, cuda:<UUID> or vulkan:<UUID>; gpu where no report came from the GPUs.",
        kAlways);
  FIELD(device, "The device's own name; absent when it was not opened.");
  FIELD(status, "The worst of its checks.");
  FIELD(reason, "Why it is not passed.");
  FIELD(asked, "Whether it was asked for by name.");
  FIELD(kernels, "The kernels that ran.", kAlways);
}

FIELDS_OF(ternary::CheckResult) {
  visit.about("check", "One check of one subject.");
  FIELD(subject, "As in subjects.", kAlways);
  FIELD(check, "What was compared.", {.always = true, .texts = kChecksAndFile});
  FIELD(status, "Passed: every comparison was equal, or every product was timed.");
  FIELD(reason, "The first difference, or why it was not tested.");
  FIELD(cases, "Comparisons.");
  FIELD(wrong, "Of these, the ones that differ.");
  FIELD(elements, "Values that were compared.");
  FIELD(nmse, "The greatest normalised mean square error against de-quantised fp32.", {.least = 0});
  FIELD(duration_ms, "How long it took.");
}

FIELDS_OF(ternary::Shape) {
  visit.about("shape", "The size of a matrix.");
  FIELD(rows, "Output features.", {.least = 0});
  FIELD(cols, "Input features.", {.least = 0});
}

FIELDS_OF(ternary::TensorResult) {
  visit.about("verified_tensor", "A ternary tensor of a file.");
  FIELD(name, "As the file has it.", kAlways);
  FIELD(format, "Its layout; absent where it is not known.");
  visit.merged(&T::shape);
  FIELD(status,
        "Passed: well-formed, encodes to the same codes and scales, and multiplied alike by all.");
  FIELD(reason, "What is wrong.");
}

FIELDS_OF(ternary::VerifyReport) {
  FIELD(seed, "All random numbers follow from it.");
  FIELD(thorough, "Whether the longer list was multiplied.");
  FIELD(problems, "Shapes, or tensors, that were multiplied.");
  DERIVED(nmse_limit, (static_cast<void>(it), ternary::kMostNmse),
          "The greatest normalised mean square error that passes.", {.finite = true});
  FIELD(file, "The file whose tensors were checked; absent when there was none.");
  FIELD(assumed_layouts,
        "The likely layouts that were assumed, as none was named; absent when none was.");
  FIELD(file_problems, "What is wrong with the file, as inspect says; absent when nothing is.");
  FIELD(subjects, "The tiers of the CPU and the devices.", kAlways);
  FIELD(checks, "One for each subject and check.", kAlways);
  FIELD(tensors, "The ternary tensors of the file.", {WHEN(!it.file.empty())});
  visit.hidden(&T::duration_ms);
}
DOCUMENT_OF(ternary::VerifyReport, .name = "ternary-verify",
            .title = "A validation of ternary products",
            .description =
                "Every CPU tier and device against exact 64-bit sums over plain codes, or the "
                "ternary tensors of a file.",
            .exit_codes =
                "0: all that was tested and asked for holds; 1: something differs; 4: something "
                "that was asked for was not tested.",
            .required = "conclusion");

// ---- bench
inline constexpr std::string_view kForms[] = {"two-bit", "three-trits"};

FIELDS_OF(ternary::BenchShape) {
  visit.about("product_shape", "The size of a product.");
  FIELD(m, "Activation rows.", {WHEN(it.n > 0), .least = 1});
  FIELD(n, "Weight rows.", {WHEN(it.n > 0), .least = 1});
  FIELD(k, "Columns.", {WHEN(it.n > 0), .least = 1});
}

FIELDS_OF(ternary::BenchRow) {
  using enum ternary::CheckStatus;
  visit.about("timed_product", "A product of one tier or device.");
  FIELD(subject, "cpu/<tier>, cuda:<UUID> or vulkan:<UUID>.", kAlways);
  FIELD(device, "The device's own name.");
  FIELD(status, "Passed: every comparison was equal, or every product was timed.");
  FIELD(reason, "Why it was not timed.");
  FIELD(kernel, "What ran.");
  FIELD(form, "How the weights were packed.", {.texts = kForms});
  visit.merged(&T::shape);
  FIELD(timed,
        "call: from and to host memory. device: only the GPU's part, from quantised activations, "
        "with "
        "weights that its cache does not hold. device-values: the same from activations in f32.",
        {WHEN(it.shape.n > 0)});
  FIELD(samples, "Times taken.", {WHEN(it.status == passed)});
  FIELD(least_us, "The least time of one product, in microseconds.", {WHEN(it.status == passed)});
  FIELD(median_us, "The median, in microseconds.", {WHEN(it.status == passed)});
  FIELD(weight_bytes, "Packed weights that one product reads.", {WHEN(it.status == passed)});
  DERIVED(bytes_per_s, it.bytes_per_s(), "These over the least time.", {WHEN(it.status == passed)});
  DERIVED(operations_per_s, it.operations_per_s(), "2 M N K over the least time.",
          {WHEN(it.status == passed)});
  FIELD(read_bytes_per_s,
        "Of only reading, in the same run: on a CPU of as many bytes from where the weights are, "
        "on a GPU of 1 GiB of its memory.",
        {WHEN(it.status == passed)});
  DERIVED(read_share, it.read_share(), "bytes_per_s over read_bytes_per_s.",
          {WHEN(it.status == passed)});
}

FIELDS_OF(TernaryTimes) {
  FIELD(threads, "Of the CPU's tiers; absent when as many as the process may use.",
        {.sparse = true, .least = 1});
  FIELD(rows, "One for each tier or device, form and shape.", kAlways);
}
DOCUMENT_OF(TernaryTimes, "ternary-bench", "Times of ternary products",
            "Products on every CPU tier and device, and what pure reading takes in the same run.",
            "0: all was timed; 1: a product failed; 4: something that was asked for was not "
            "timed.");

// ---- convert
FIELDS_OF(ternary::gguf::TensorNote) {
  visit.about("note", "What there is to say about a tensor.");
  FIELD(name, "The tensor.", {.always = true, .printable = true});
  visit("reason", &T::text, "Why.", {.always = true, .printable = true});
}

struct WrittenFile {
  std::string path;
  std::uint64_t bytes;
};
FIELDS_OF(WrittenFile) {
  visit.about("written", "A file that was written.");
  FIELD(path, "As it was given.", {.always = true, .printable = true});
  visit("bytes", &T::bytes, "Its size.");
}

FIELDS_OF(ternary::gguf::ConvertReport) {
  visit.about("converted", "What was converted.");
  FIELD(converted,
        "Names of the tensors that have the new format; what was tried, when nothing was written.",
        {.always = true, .printable = true});
  FIELD(kept, "Tensors that were asked for but keep their bytes.", kAlways);
  FIELD(failed, "Tensors that cannot be converted; if there is one, nothing was written.", kAlways);
  FIELD(notes, "What changed besides, one sentence each.", {.always = true, .printable = true});
  visit.hidden(&T::bytes, &T::format);
}

FIELDS_OF(ConvertOutcome) {
  visit("from", &T::in, "The file that was read, as it was given.",
        {.always = true, .printable = true});
  DERIVED(format, ternary::format(it.report.format).name,
          "The ternary format of the tensors that were converted.", kAlways);
  visit("assumed_layouts", &T::assumed,
        "The likely layouts that were assumed, as none was named; absent when none was.");
  DERIVED(written, (WrittenFile{it.out, it.report.bytes}),
          "The new file; not there when nothing was written.",
          {WHEN(exit_of(it.report) == Exit::ok)});
  visit.merged(&T::report);
  visit.hidden(&T::out);
}
DOCUMENT_OF(ConvertOutcome, "ternary-convert", "A GGUF or safetensors file written again",
            "What `gpuready ternary convert` did.", "0: written; 2: not.");

// ---- inspect
FIELDS_OF(ternary::gguf::Census) {
  visit.about("codes", "Counts and scales of a tensor.");
  DERIVED(minus_share, share(it.minus, it), "Of weights that are -1.",
          {.finite = true, .least = 0, .most = 1});
  DERIVED(zero_share, share(it.zero, it), "Of weights that are 0.",
          {.finite = true, .least = 0, .most = 1});
  DERIVED(plus_share, share(it.plus, it), "Of weights that are +1.",
          {.finite = true, .least = 0, .most = 1});
  visit("undefined_codes", &T::undefined, "Codes that the format does not define.");
  visit("unwritten_bytes", &T::unwritten, "Bytes of defined codes that no encoder writes.");
  FIELD(scales, "How many.");
  FIELD(scales_not_finite, "How many are NaN or infinite.");
  FIELD(scale_least, "Of the finite ones.", {WHEN(it.scales > it.scales_not_finite)});
  FIELD(scale_greatest, "Of the finite ones.", {WHEN(it.scales > it.scales_not_finite)});
  visit.hidden(&T::minus, &T::zero, &T::plus);
}

FIELDS_OF(ternary::gguf::Candidate) {
  visit.about("candidate", "A layout that a type number can stand for.");
  FIELD(name, "The layout.", kAlways);
  FIELD(possible, "Whether nothing in the file excludes it.");
  FIELD(evidence, "What excludes it, or speaks for it.", {.always = true, .printable = true});
  visit.hidden(&T::format);
}

FIELDS_OF(ternary::gguf::TensorReport) {
  visit.about("tensor", "A tensor of a file.");
  DERIVED(name, it.tensor->name, "Its name.", {.always = true, .printable = true});
  DERIVED(shape,
          std::vector<std::int64_t>(it.tensor->dims.begin(),
                                    it.tensor->dims.begin() + it.tensor->dim_count),
          "Columns (K) first, then rows (N) and what folds into them; empty: a scalar.",
          {.always = true, .least = 1, .most_items = 4});
  FIELD(type, "Name of the type number.", kAlways);
  DERIVED(type_number, it.tensor->type, "ggml's number, which forks have used for other types.",
          kAlways);
  DERIVED(format, it.format ? std::string(ternary::format(*it.format).name) : std::string(),
          "The ternary format, where it is certain or was named.");
  DERIVED(likely, it.likely ? std::string(ternary::format(*it.likely).name) : std::string(),
          "Else the file's likely layout, which verify and convert assume.");
  FIELD(ambiguous, "Whether its type number stands for several layouts and none was named.");
  FIELD(candidates, "Layouts that the type number can stand for.");
  visit("bytes", &T::bytes,
        "Its bytes; where the layout is not known, those that the file has for it.");
  FIELD(bits_per_weight, "8 bytes / weights.", {.finite = true, .least = 0});
  visit("codes", &T::census, "Counts and scales, as its format or likely layout has them.");
  FIELD(problem, "Why it cannot be used.", {.printable = true});
  visit.hidden(&T::tensor, &T::format, &T::likely);
}

FIELDS_OF(ternary::gguf::FileReport) {
  visit.about("tensors", "What the tensors of a file are.");
  FIELD(weights, "Elements of all tensors.");
  visit("tensor_bytes", &T::bytes, "Bytes of all tensors, without padding.");
  FIELD(ternary_tensors, "Tensors whose type number can stand for a ternary format.");
  FIELD(ambiguous_tensors, "Those whose layout was not named.");
  visit("likely_layouts", &T::likely,
        "One for each family whose layout the file does not declare and none was named.");
  FIELD(problems, "What is wrong, one sentence each.", {.always = true, .printable = true});
  FIELD(tensors, "In the file's order.", kAlways);
}

struct InspectedTensors {
  std::string path;
  const ternary::gguf::File* file;
};
FIELDS_OF(InspectedTensors) {
  visit.about("gguf_file", "A GGUF or safetensors file.");
  FIELD(path, "As it was given.", {.always = true, .printable = true});
  DERIVED(bytes, it.file->bytes.size(), "Its size.", kAlways);
  DERIVED(gguf_version, it.file->version, "2 or 3; absent for a safetensors file.",
          {WHEN(it.file->version > 0), .least = 2, .most = 3});
  DERIVED(alignment, it.file->alignment, "Of tensors, in bytes.", {.always = true, .least = 1});
  DERIVED(metadata_entries, it.file->metadata.size(), "How many keys.", kAlways);
  visit.hidden(&T::file);
}

FIELDS_OF(InspectReport) {
  DERIVED(file, (InspectedTensors{it.path, it.file}), "The file.", kAlways);
  visit.merged(&T::found);
  visit.hidden(&T::path, &T::file);
}
DOCUMENT_OF(InspectReport, "ternary-inspect", "A GGUF or safetensors file's tensors",
            "What `gpuready ternary inspect` found in a GGUF or safetensors file.",
            "0: nothing is wrong; 1: something is.");

}  // namespace gpuready
