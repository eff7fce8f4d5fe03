// `gpuready vm drivers fetch`: a driver's archive from a URL, by its SHA-256.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/units.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/vm_driver_commands.h"
#include "pack/store/url_stream.h"
#include "report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct VmDriversFetchOptions {
  Globals globals;
  std::string url, sha256;
  std::optional<std::string> path;
};

// All bytes of a URL, with progress, until Ctrl-C.
Result<void> receive(const pack::FileUrl& url, ProgressLine& progress, const vm::ByteSink& sink) {
  pack::OriginOptions limits;
  limits.cancel = &interrupted();
  const auto origin = TRY(pack::open_http_origin(url.folder, limits));
  std::uint64_t total = 0;
  return origin->whole(url.name, [&](std::string_view bytes) {
    total += bytes.size();
    progress.show(fmt::format("fetching {}: {}", url.shown_name, format_bytes(total)));
    return sink(bytes);
  });
}

Result<FetchReport> fetch(const VmDriversFetchOptions& options) {
  const auto sha256 = TRY(vm::parse_sha256(options.sha256));
  const auto url = TRY(pack::split_url(options.url));
  const auto path = options.path.value_or(url.shown_name);
  const bool there = TRY(vm::has_bytes(live_storage(), path, sha256));
  if (!there) {
    ProgressLine progress(options.globals.quiet);
    TRY(vm::write_verified([&](const auto& sink) { return receive(url, progress, sink); }, sha256,
                           path, live_storage()));
  }
  FetchReport report{pack::url_without_password(options.url),
                     TRY(vm::look_at_driver(path, sha256))};
  report.driver.was_there = there;
  return report;
}

int run_vm_drivers_fetch(const VmDriversFetchOptions& options) {
  const auto start = Clock::now();
  catch_interrupts();
  const auto report = fetch(options);
  if (!report)
    return complain(report.error(),
                    report.error().kind == ErrorKind::cancelled ? Exit::interrupted : Exit::usage);
  Envelope envelope = begin_envelope("vm drivers fetch");
  envelope.exit = exit_of(*report);
  return deliver_report(envelope, *report, start, options.globals);
}

}  // namespace

void declare_vm_drivers_fetch(CommandSpec& command) {
  auto options = std::make_shared<VmDriversFetchOptions>();
  command.run = [options] { return run_vm_drivers_fetch(*options); };
  command.add({
      {.name = "URL",
       .value = &options->url,
       .help = "Of an NVIDIA-Linux-*.run, a Debian package or a tar archive, http or https",
       .required = true},
      {.name = "--sha256",
       .value = &options->sha256,
       .help = "Its SHA-256, as its maker publishes it",
       .type = "HASH",
       .required = true},
      {.name = "--output,-o",
       .value = &options->path,
       .help = "The file to write; it is whole or not there. Without it, the URL's name, here",
       .type = "FILE",
       .files = Files::written},
  });
  add_output(command, options->globals);
  command.footer =
      "Bytes with another hash are not kept. A file that is there with these bytes is not fetched\n"
      "again. The licence that is in the archive is shown; bundles are made on this machine, by\n"
      "vm drivers collect. Uses libcurl.\n"
      "Exit codes: 0 it is there; 1 it is there, and is no driver's archive; 2 it cannot be\n"
      "fetched, has another hash, or cannot be written.";
}

}  // namespace gpuready::cli
