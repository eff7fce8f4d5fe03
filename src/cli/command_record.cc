#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/product.h"
#include "host/recording/recording.h"
#include "machine/redaction.h"
#include "machine/system/named_libraries.h"
#include "report/text_layout.h"

namespace gpuready::cli {
namespace {

struct RecordOptions {
  Globals globals;
  std::string file;
  bool redact = false;
  std::string description;
};

Result<int> run_record(const RecordOptions& options) {
  if (options.file == "-")
    return complain(
        Error{ErrorKind::bad_input, "a recording does not go to standard output: name a file"});
  auto live = make_live_host();
  Recording recording;
  recording.tool_version = GPUREADY_VERSION;
  recording.created_utc = format_utc(std::time(nullptr));
  if (options.redact && !options.description.empty())
    complain("a redacted recording holds no free text: the description is left out");
  recording.description = options.description;
  // What is recorded is what is read: the same steps as every other command, noted on the way.
  const auto host = make_recording_host(*live, recording);
  const auto machine =
      TRY(inspect_as_asked(*host, options.globals, {.full = true, .kernel_log = true}));
  for (const Product& product : all_products())
    if (product.read != nullptr) product.read(*host, machine);
  if (options.redact) recording = redact(std::move(recording), redaction_rules());
  if (const auto read = refuse_what_was_read(options.file)) return complain(*read);
  TRY(save_recording(recording, options.file));
  struct stat status{};
  const std::uint64_t size = ::stat(options.file.c_str(), &status) == 0 ? status.st_size : 0;
  if (const auto& named = machine.named_libraries; !named.empty())
    complain(
        fmt::format("recorded through {}, not the system's driver", named_libraries_text(named)));
  if (!options.globals.quiet)
    complain(fmt::format(
        "recorded {}, {} and {} into {} ({}){}", counted(machine.gpus.size(), "GPU"),
        counted(recording.files.size(), "file"), counted(recording.probes.size(), "probe"),
        options.file, format_bytes(size), options.redact ? ", redacted" : ""));
  return static_cast<int>(Exit::ok);
}

}  // namespace

void declare_record(CommandSpec& command) {
  auto options = std::make_shared<RecordOptions>();
  command.run = [options] { return run_record(*options); };
  command.add({
      {.name = "FILE",
       .value = &options->file,
       .help = "The recording to write, usually NAME.tar.zst",
       .required = true,
       .files = Files::written},
      {.name = "--redact",
       .value = &options->redact,
       .help = "Keep only what rules read: fixed words, numbers and PCI addresses. Names that join "
               "two answers become substitutes; everything else is removed"},
      {.name = "--description",
       .value = &options->description,
       .help = "A line about this machine, kept in the recording unless it is redacted"},
      timeout_option(options->globals),
      {.name = "--quiet,-q", .value = &options->globals.quiet, .help = "Print nothing on success"},
  });
}

}  // namespace gpuready::cli
