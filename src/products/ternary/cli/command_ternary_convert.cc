#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/options.h"
#include "report/text_layout.h"
#include "ternary/cli/ternary_commands.h"
#include "ternary/cli/ternary_file.h"
#include "ternary/gguf/gguf_types.h"
#include "ternary/report/convert_report.h"
#include "ternary/report/exit_rules.h"

namespace gpuready::cli {
namespace {

namespace gguf = ternary::gguf;

struct TernaryConvertOptions {
  std::string in, out, to, rule = "of-format";
  std::vector<std::string> layouts;
  gguf::ConvertOptions convert;
  bool force = false;
  Globals globals;  // --json, --quiet
};

Error bad(std::string message) { return {ErrorKind::bad_input, std::move(message)}; }

void tell(const std::vector<gguf::TensorNote>& notes, std::string_view what) {
  for (const auto& note : notes)
    complain(fmt::format("{} {}: {}", what, one_line(note.name), printable(note.text)));
}

Result<int> run_ternary_convert(TernaryConvertOptions& options) {
  const auto start = Clock::now();
  const auto to = ternary::find_format(options.to);
  if (!to) return complain(as_error(to.error(), "--to"));
  auto layouts = TRY(layouts_of(options.layouts));
  options.convert.to = *to;
  options.convert.rule =
      options.rule == "absmean" ? ternary::Rule::absmean : ternary::Rule::of_format;
  if (options.out == "-")
    return complain(bad("the new file does not go to standard output: name a file"));
  if (same_file(options.in, options.out))
    return complain(bad(options.out + " is the file to be read; write to another"));

  const auto opened = TRY(open_ternary_file(options.in));
  const bool quiet = options.globals.quiet;
  const Layouts used = with_likely(opened.file, std::move(layouts), options.in, quiet);
  options.convert.layouts = used.all;
  const auto report = TRY(convert_into(options.out, opened.file, options.in, options.convert,
                                       options.force ? OnExisting::replace : OnExisting::fail));
  const bool whole = report.failed.empty() && !report.converted.empty();
  tell(report.failed, "cannot convert");
  // Without --tensor all that is kept are ternary tensors which are the format already.
  const bool already = report.failed.empty() && report.converted.empty() &&
                       options.convert.names.empty() && !report.kept.empty();
  if (!already && (!quiet || !whole)) tell(report.kept, "kept");
  if (!report.failed.empty()) {
    complain("nothing was written");
  } else if (already) {
    complain(fmt::format("{}: every ternary tensor is {} already; nothing was written", options.in,
                         options.to));
  } else if (report.converted.empty()) {
    complain(options.in + (options.convert.names.empty()
                               ? ": no tensor is ternary; nothing was written"
                               : ": --tensor names no tensor to convert; nothing was written"));
  } else {
    if (!quiet)
      for (const auto& note : report.notes) complain(note);
    complain(fmt::format("{} of {} tensors are now {}; {} has {}", report.converted.size(),
                         opened.file.tensors.size(), ternary::format(report.format).name,
                         options.out, format_bytes(report.bytes)));
  }
  Envelope envelope = begin_envelope("ternary convert");
  envelope.exit = exit_of(report);
  envelope.duration_ms = elapsed_ms(start);
  // A name that did not exist before may have turned out to be OUT's.
  if (const auto& json = options.globals.json;
      whole && json && *json != "-" && same_file(*json, options.out))
    return complain(bad(*json + " is the new file; the JSON was not written"));
  const ConvertOutcome outcome{options.in, options.out, used.assumed, report};
  return deliver(Delivery{.envelope = envelope,
                          .json = [&] { return to_json(outcome, envelope); },
                          .terminal = [](const TerminalStyle&) { return std::string(); }},
                 options.globals);
}

}  // namespace

void declare_ternary_convert(CommandSpec& command) {
  std::vector<std::string> targets;
  for (const auto& stored : ternary::gguf::stored_formats())
    targets.emplace_back(ternary::format(stored.asked).name);
  auto options = std::make_shared<TernaryConvertOptions>();
  command.run = [options] { return run_ternary_convert(*options); };
  command.add({
      {.name = "IN",
       .value = &options->in,
       .help = "A GGUF file, version 2 or 3, or a safetensors file",
       .required = true,
       .files = Files::read},
      {.name = "OUT",
       .value = &options->out,
       .help =
           "The file to write, safetensors for bitnet-hf and else GGUF; it appears complete or not "
           "at all",
       .required = true,
       .files = Files::written},
      {.name = "--to",
       .value = &options->to,
       .help = join(targets, ", "),
       .type = "FORMAT",
       .such_as = targets,
       .required = true},
      layout_option(options->layouts),
      {.name = "--tensor",
       .value = &options->convert.names,
       .help = "Only tensors whose name matches, with * and ?; can be given several times",
       .type = "GLOB"},
      {.name = "--round-scales",
       .value = &options->convert.round_scales,
       .help = "Round scales that the format cannot hold, instead of refusing"},
      {.name = "--from-float",
       .value = &options->convert.from_float,
       .help = "Quantise the f32, f16 and bf16 matrices that --tensor names"},
      {.name = "--rule",
       .value = &options->rule,
       .help = "How --from-float quantises: of-format or absmean",
       .type = "RULE",
       .one_of = {"of-format", "absmean"},
       .needs = "--from-float"},
      {.name = "--force", .value = &options->force, .help = "Replace OUT"},
  });
  add_output(command, options->globals);
  command.footer =
      "Loses nothing, or writes nothing: each tensor that cannot be converted is named.\nExit "
      "codes: 0 converted; 2 not convertible, or a file cannot be written.";
}

}  // namespace gpuready::cli
