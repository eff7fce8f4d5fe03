#include "cli/options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/clock.h"
#include "base/text.h"
#include "health/choose_executor.h"
#include "health/survey.h"
#include "host/atomic_file.h"
#include "host/recording.h"
#include "machine/fake.h"

namespace gpuready::cli {
namespace {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

TerminalStyle style_of(const Globals& globals) {
  TerminalStyle style;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
    style.columns = std::min<int>(size.ws_col, 100);
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  style.colour = terminal && !globals.no_color && (no_color == nullptr || *no_color == '\0') &&
                 term != nullptr && std::string_view(term) != "dumb";
  style.quiet = globals.quiet;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})  // the first that is set decides
    if (const char* locale = std::getenv(name); locale != nullptr && *locale != '\0') {
      const auto lower = to_lower(locale);
      style.unicode = terminal && (contains(lower, "utf-8") || contains(lower, "utf8"));
      break;
    }
  return style;
}

}  // namespace

void complain(std::string_view message) {
  write_all(STDERR_FILENO, fmt::format("gpuready: {}\n", message));
}

int complain(const Error& error, Exit exit) {
  complain(error.message);
  return static_cast<int>(exit);
}

void add_output(CommandSpec& command, Globals& globals) {
  command.add({
      {.name = "--json",
       .value = &globals.json,
       .help = "Write JSON to FILE; - or nothing: standard output",
       .type = "[FILE]",
       .if_bare = "-"},
      {.name = "--quiet,-q",
       .value = &globals.quiet,
       .help = "Only the conclusion and what is wrong"},
      {.name = "--no-color,--no-colour",
       .value = &globals.no_color,
       .help = "No colour, even on a terminal"},
  });
}

Option timeout_option(Globals& globals) {
  return {.name = "--timeout",
          .value = &globals.timeout_s,
          .help = "Seconds that a driver may take to answer",
          .type = "S",
          .range = Range{0.1, 86400}};
}

void add_globals(CommandSpec& command, Globals& globals, bool reports) {
  add_output(command, globals);
  command.add({
      {.name = "--replay",
       .value = &globals.replay,
       .help = "Read a recording or a machine script instead of this machine",
       .type = "FILE"},
      {.name = "--fake",
       .value = &globals.fake,
       .help = "Claim backends for tests: cuda,metal,rocm,vulkan,webgpu,gpu or none",
       .type = "SPEC"},
      {.name = "--device",
       .value = &globals.devices,
       .help = "Only these GPUs: index, UUID or PCI address; or cpu; or all GPUs through cuda, "
               "hip (not verified on hardware) or vulkan",
       .type = "LIST",
       .commas = true},
      timeout_option(globals),
  });
  if (!reports) return;
  command.add({
      {.name = "--html",
       .value = &globals.html,
       .help = "Write one self-contained HTML page",
       .type = "FILE"},
      {.name = "--md", .value = &globals.markdown, .help = "Write Markdown", .type = "FILE"},
      {.name = "--prom",
       .value = &globals.prometheus,
       .help = "Write metrics for Prometheus' textfile collector",
       .type = "FILE"},
  });
}

Result<std::unique_ptr<Host>> open_host(const Globals& globals) {
  if (!globals.replay) return make_live_host();
  auto recording = load_recording(*globals.replay);
  if (!recording) return std::unexpected(recording.error());
  return make_recorded_host(std::move(*recording));
}

Result<Machine> inspect_as_asked(Host& host, const Globals& globals, InspectOptions options) {
  const auto fakes = choose_fakes(host, globals.fake);
  if (!fakes) return std::unexpected(fakes.error());
  options.fakes = *fakes;
  if (globals.timeout_s)
    options.probe_timeout = std::chrono::milliseconds(static_cast<long>(*globals.timeout_s * 1000));
  return inspect(host, options);
}

std::optional<Error> unknown_device(const std::vector<std::string>& names, const Machine& machine) {
  for (const auto& name : names) {
    const auto fits = [&](const Gpu& gpu) { return names_gpu({name}, gpu); };
    if (is_executor_name(name) || std::any_of(machine.gpus.begin(), machine.gpus.end(), fits))
      continue;
    return Error{
        ErrorKind::bad_input,
        fmt::format("--device {}: no such GPU among the {} here; `gpuready detect` lists them",
                    printable(name), machine.gpus.size())};
  }
  return std::nullopt;
}

Result<Machine> inspect_recording(const std::string& path) {
  auto recording = load_recording(path);
  if (!recording) return std::unexpected(recording.error());
  const auto host = make_recorded_host(std::move(*recording));
  return inspect(*host, {.full = true});
}

void add_require_gpu(CommandSpec& command, std::optional<int>& count) {
  command.add({{.name = "--require-gpu",
                .value = &count,
                .help = "Exit 3 unless N usable GPUs are here (1 when no N is given)",
                .type = "[N]",
                .range = Range{1, 1024},
                .if_bare = "1"}});
}

void add_baseline(CommandSpec& command, std::optional<std::string>& file) {
  command.add({{.name = "--baseline",
                .value = &file,
                .help = "Compare with an earlier recording and tell what was lost",
                .type = "FILE"}});
}

Report begin_report(std::string command, Machine machine) {
  Report report;
  report.command = std::move(command);
  report.tool_version = GPUREADY_VERSION;
  report.created_utc = format_utc(std::time(nullptr));
  report.machine = std::move(machine);
  return report;
}

Result<void> write_file(const std::string& path, std::string_view content) {
  if (!path.starts_with("/dev/")) return write_file_atomically(path, content);
  // A pipe or device (--html /dev/stdout) is written to as it is.
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return fail_errno(path, errno);
  const int error_number = write_all(descriptor, content) ? 0 : errno;
  ::close(descriptor);
  if (error_number != 0) return fail_errno(path, error_number);
  return {};
}

int deliver(const Report& report, const Globals& globals) {
  struct Output {
    const std::optional<std::string>& path;
    std::string (*render)(const Report&);
  };
  const Output outputs[] = {
      {globals.json, [](const Report& r) { return dump(to_json(r)); }},
      {globals.html, render_html},
      {globals.markdown, render_markdown},
      {globals.prometheus, render_prometheus},
  };
  bool stdout_taken = false;
  for (const auto& [path, render] : outputs) {
    if (!path) continue;
    if (*path == "-") {
      if (stdout_taken) {
        complain("only one report can go to standard output: give the others a file name");
        return static_cast<int>(Exit::usage);
      }
      stdout_taken = true;
      if (!write_all(STDOUT_FILENO, render(report))) return static_cast<int>(Exit::usage);
    } else if (const auto written = write_file(*path, render(report)); !written) {
      return complain(written.error());
    }
  }
  if (!stdout_taken) write_all(STDOUT_FILENO, render_terminal(report, style_of(globals)));
  return static_cast<int>(report.exit);
}

int deliver(const SelfTestReport& report, const Globals& globals) {
  return deliver(to_json(report), report.exit, globals,
                 [&](const TerminalStyle& style) { return render_terminal(report, style); });
}

int deliver(const Json& document, Exit exit, const Globals& globals,
            const std::function<std::string(const TerminalStyle&)>& render) {
  const std::string text = dump(document);
  const bool on_stdout = globals.json == "-";
  if (globals.json && !on_stdout)
    if (const auto written = write_file(*globals.json, text); !written)
      return complain(written.error());
  if (!write_all(STDOUT_FILENO, on_stdout ? text : render(style_of(globals))))
    return static_cast<int>(Exit::usage);
  return static_cast<int>(exit);
}

}  // namespace gpuready::cli
