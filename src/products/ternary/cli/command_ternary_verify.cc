#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "report/text_layout.h"
#include "ternary/cli/ternary_commands.h"
#include "ternary/cli/ternary_file.h"
#include "ternary/cli/ternary_subjects.h"
#include "ternary/gguf/gguf_identify.h"
#include "ternary/gguf/gguf_inspect.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/report/exit_rules.h"
#include "ternary/report/verify_report.h"
#include "ternary/suite/verify.h"
#include "ternary/suite/verify_file.h"

namespace gpuready::cli {
namespace {

using namespace ternary;

struct TernaryVerifyOptions {
  Globals globals;
  TernarySubjects subjects;
  std::string file;
  std::vector<std::string> layouts;
  bool thorough = false;
  std::optional<std::uint64_t> seed;
};

// The ternary tensors of a file, which stays mapped meanwhile.
struct TensorFile {
  std::optional<TernaryFile> file;
  Layouts layouts;
  gguf::Loaded loaded;  // of the tensor whose turn it is

  std::vector<TensorInput> inputs() {
    std::vector<TensorInput> inputs;
    for (const gguf::Tensor& tensor : file->file.tensors) {
      if (!gguf::may_be_ternary(tensor.type)) continue;
      inputs.push_back({printable(tensor.name), [this, &tensor]() -> Result<EncodedView> {
                          loaded = TRY(gguf::load(file->file, tensor, layouts.all));
                          return loaded.view();
                        }});
    }
    return inputs;
  }
};
Result<void> open_tensors(const TernaryVerifyOptions& options, TensorFile& to) {
  auto named = layouts_of(options.layouts);
  if (!named) return std::unexpected(named.error());
  to.file.emplace(TRY(open_ternary_file(options.file)));
  to.layouts = with_likely(to.file->file, std::move(*named), options.file, options.globals.quiet);
  const auto& tensors = to.file->file.tensors;
  const bool any = std::any_of(tensors.begin(), tensors.end(), [](const auto& tensor) {
    return gguf::may_be_ternary(tensor.type);
  });
  if (!any)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: it has no ternary tensor", printable(options.file)));
  for (const auto& tensor : tensors) {
    if (!gguf::may_be_ternary(tensor.type) || gguf::certain_format(tensor.type) ||
        gguf::layout_for(tensor.type, to.layouts.all))
      continue;
    const auto loaded = gguf::load(to.file->file, tensor, {});
    if (loaded) continue;
    const bool several = loaded.error().kind == ErrorKind::ambiguous_format;
    return fail(ErrorKind::bad_input,
                fmt::format("{}: tensor {}: {}{}", printable(options.file), one_line(tensor.name),
                            printable(loaded.error().message),
                            several ? " with --layout" : "; `gpuready ternary inspect` lists why"));
  }
  return {};
}

Result<int> run_ternary_verify(TernaryVerifyOptions& options) {
  TRY(check(options.subjects));
  const TernarySubjects& chosen = options.subjects;
  TensorFile tensors;
  if (!options.file.empty()) TRY(open_tensors(options, tensors));
  catch_interrupts();
  const auto start = Clock::now();
  VerifyOptions asked;
  asked.thorough = options.thorough;
  asked.seed = options.seed.value_or(random_u64() % 1'000'000);
  asked.stop = &interrupted();
  std::optional<GpuChild> child;
  if (chosen.gpus && !chosen.in_process) {
    std::vector<std::string> more = {"--seed", std::to_string(asked.seed)};
    if (options.thorough) more.emplace_back("--thorough");
    for (const FormatId layout : tensors.layouts.all)
      more.insert(more.end(), {"--layout", std::string(format(layout).name)});
    if (!options.file.empty()) more.insert(more.end(), {"--", options.file});
    child.emplace("verify", chosen, more);
  }
  VerifyReport report;
  {
    ProgressLine progress(options.globals.quiet);
    asked.progress = [&](std::string_view text) { progress.show(text); };
    const auto subjects = subjects_here(chosen);
    report = options.file.empty() ? verify(subjects, asked)
                                  : verify_file(subjects, tensors.inputs(), asked);
    report.file = printable(options.file);
    report.assumed_layouts = tensors.layouts.assumed;
    if (!options.file.empty() && !interrupted())  // it reads the whole file
      for (const auto& problem : gguf::inspect(tensors.file->file, tensors.layouts.all).problems)
        report.file_problems.push_back(printable(problem));
    if (child) {
      progress.show("the GPUs");
      const auto outcome = child->finish();
      const auto theirs =
          outcome.document ? read_verify_report(*outcome.document) : std::optional<VerifyReport>();
      if (theirs)
        merge(report, *theirs);
      else
        report.subjects.push_back(lost_gpu(outcome, !chosen.targets.empty()));
    }
  }
  report.duration_ms = elapsed_ms(start);
  Envelope envelope = begin_envelope("ternary verify");
  conclude(report, envelope);
  return deliver_report(envelope, report, start, options.globals);
}

}  // namespace

void declare_ternary_verify(CommandSpec& command) {
  auto options = std::make_shared<TernaryVerifyOptions>();
  Option layout = layout_option(options->layouts);
  layout.needs = "FILE";
  command.run = [options] { return run_ternary_verify(*options); };
  add_output(command, options->globals);
  add_subjects(command, options->subjects);
  command.add({
      {.name = "FILE",
       .value = &options->file,
       .help = "Check the ternary tensors of this GGUF or safetensors file instead",
       .files = Files::read},
      layout,
      {.name = "--thorough",
       .value = &options->thorough,
       .help = "More shapes: longer tails, longer rows"},
      {.name = "--seed",
       .value = &options->seed,
       .help = "Seed of the random numbers (default: random)",
       .type = "N"},
  });
}

}  // namespace gpuready::cli
