// `gpuready vm drivers fetch`: a driver's archive from a URL, by its SHA-256.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/units.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "http/url_stream.h"
#include "vm/cli/vm_driver_commands.h"
#include "vm/report/exit_rules.h"

namespace gpuready::cli {
namespace {

struct VmDriversFetchOptions {
  Globals globals;
  std::string url, sha256;
  std::optional<std::string> path;
};

// All bytes of a URL, with progress, until Ctrl-C.
Result<void> receive(const FileUrl& url, ProgressLine& progress, const vm::ByteSink& sink) {
  OriginOptions limits;
  limits.cancel = &interrupted();
  const auto origin = TRY(open_http_origin(url.folder, limits));
  std::uint64_t total = 0;
  return origin->whole(url.name, [&](std::string_view bytes) {
    total += bytes.size();
    progress.show(fmt::format("fetching {}: {}", url.shown_name, format_bytes(total)));
    return sink(bytes);
  });
}

Result<FetchReport> fetch(const VmDriversFetchOptions& options) {
  const auto sha256 = TRY(vm::parse_sha256(options.sha256));
  const auto url = TRY(split_url(options.url));
  const auto path = options.path.value_or(url.shown_name);
  const bool there = TRY(vm::has_bytes(live_storage(), path, sha256));
  if (!there) {
    ProgressLine progress(options.globals.quiet);
    TRY(vm::write_verified([&](const auto& sink) { return receive(url, progress, sink); }, sha256,
                           path, live_storage()));
  }
  FetchReport report{url_without_password(options.url), TRY(vm::look_at_driver(path, sha256))};
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
       .help = "http(s) URL of an NVIDIA-Linux-*.run, a Debian package or a tar archive",
       .required = true},
      {.name = "--sha256",
       .value = &options->sha256,
       .help = "Its SHA-256, as the publisher states it",
       .type = "HASH",
       .required = true},
      {.name = "--out,-o",
       .value = &options->path,
       .help = "The file to write; it appears complete or not at all. Default: the URL's file "
               "name, in the current folder",
       .type = "FILE",
       .files = Files::written},
  });
  add_output(command, options->globals);
  command.footer =
      "Discards a file with another hash. An existing file with this hash is not downloaded "
      "again.\nShows the licence in the archive; make bundles on this machine with vm drivers "
      "collect. Uses\nlibcurl.\nExit codes: 0 the file is there; 1 it is there, but not a driver "
      "archive; 2 it cannot be\ndownloaded, has another hash, or cannot be written.";
}

}  // namespace gpuready::cli
