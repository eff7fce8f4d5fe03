#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/nodes/hostlist.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "fleet/cli/fleet_commands.h"
#include "fleet/fields_fleet.h"
#include "fleet/history.h"
#include "fleet/read_reports.h"
#include "fleet/report/exit_rules.h"
#include "fleet/report/fleet_report.h"
#include "host/atomic_file.h"
#include "host/lock_wait.h"
#include "report/kept_results.h"

namespace gpuready::cli {
namespace {

constexpr std::size_t kPiece = 1u << 20, kMostHistoryBytes = 1u << 30;

struct FleetMergeOptions {
  Globals globals;
  std::vector<std::string> paths;
  std::optional<std::string> nodes, history, forget;
  double valid_s = kDefaultValidSeconds;
};

// Standard input, or a pipe.
Result<void> read_descriptor(int descriptor, const std::string& source,
                             fleet::ReportReader& reader) {
  std::string buffer(kPiece, '\0');
  return fleet::read_stream(
      [&]() -> Result<std::string_view> {
        while (true) {
          const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
          if (got >= 0) return std::string_view(buffer).substr(0, static_cast<std::size_t>(got));
          if (errno != EINTR || interrupted()) return fail_errno(source, errno);
        }
      },
      source, reader);
}

Result<void> read_path(Host& host, const std::string& path, fleet::ReportReader& reader) {
  if (path == "-") return read_descriptor(STDIN_FILENO, "standard input", reader);
  const auto status = TRY(host.status(path));
  if (status.kind == FileKind::regular || status.kind == FileKind::directory)
    return fleet::read_reports(host, path, reader);
  // A pipe that no process writes to is empty.
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened || ::fcntl(opened.get(), F_SETFL, 0) != 0) return fail_errno(path, errno);
  struct stat facts{};
  if (::fstat(opened.get(), &facts) != 0) return fail_errno(path, errno);
  const bool null = S_ISCHR(facts.st_mode) && facts.st_rdev == makedev(1, 3);
  if ((S_ISCHR(facts.st_mode) && !null) || S_ISBLK(facts.st_mode))  // may never end
    return fail(ErrorKind::bad_input, path + ": a device; give a file, a folder or a pipe");
  return read_descriptor(opened.get(), path, reader);
}

// Of a list of nodes. Names that differ only after their first dot are the same.
Result<std::vector<std::string>> short_names(std::string_view option, const std::string& list) {
  auto names = TRY(parse_nodes(list));
  std::map<std::string, std::string> whole;
  for (std::string& name : names) {
    const std::string key(short_host_name(name));
    if (const auto [known, fresh] = whole.emplace(key, name); !fresh && known->second != name)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: {} and {} are both {}: names must differ before their first dot",
                              option, known->second, name, key));
    name = key;
  }
  return names;
}

Result<fleet::History> open_history(Host& host, const std::string& path) {
  std::string text;
  if (host.exists(path)) text = TRY(host.read_own_file(path, kMostHistoryBytes));
  return fleet::History::read(text, path);
}

// With the history, which is read and written while it is locked.
Result<fleet::Fleet> merged(Host& host, const FleetMergeOptions& options,
                            const std::vector<fleet::NodeReport>& reports,
                            const fleet::MergeOptions& merging) {
  if (!options.history) return fleet::merge(reports, merging);
  const std::string& path = *options.history;
  const auto left =
      options.forget ? TRY(short_names("--forget", *options.forget)) : std::vector<std::string>();
  TRY(host.check_own(folder_of(path) + "/"));
  const auto lock = TRY(lock_when_free([&] { return live_storage().lock(path + ".lock"); },
                                       [] { return !interrupted(); }));
  auto history = TRY(open_history(host, path));
  for (const std::string& node : left)
    if (!history.forget(node))
      return fail(ErrorKind::bad_input,
                  fmt::format("--forget {}: {} does not know this node", printable(node), path));
  auto fleet = fleet::merge(reports, merging, &history);
  TRY(write_file_atomically(path, history.text()));
  return fleet;
}

Result<int> run_fleet_merge(FleetMergeOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  fleet::MergeOptions merging;
  merging.valid_seconds = static_cast<std::int64_t>(options.valid_s);
  if (options.nodes) merging.expected = TRY(short_names("--nodes", *options.nodes));
  fleet::ReportReader reader;
  if (options.paths.empty()) options.paths = {"-"};
  for (const std::string& path : options.paths) TRY(read_path(*host, path, reader));
  reader.finish();
  merging.now_unix_seconds = std::time(nullptr);
  merging.faults = std::move(reader.faults);
  const fleet::Fleet fleet = TRY(merged(*host, options, reader.reports, merging));
  Envelope envelope = begin_envelope("fleet merge");
  envelope.exit = exit_of(fleet);
  envelope.conclusion = conclusion_of(fleet);
  envelope.duration_ms = elapsed_ms(start);
  return deliver(
      Delivery{
          .envelope = envelope,
          .json = [&] { return to_json(fleet, envelope); },
          .terminal = [&](const TerminalStyle& style) { return render_terminal(fleet, style); },
          .html = [&] { return render_html(fleet, envelope); },
          .markdown = [&] { return render_markdown(fleet, envelope); }},
      options.globals);
}

}  // namespace

void declare_fleet_merge(CommandSpec& command) {
  auto options = std::make_shared<FleetMergeOptions>();
  command.run = [options] { return run_fleet_merge(*options); };
  add_output(command, options->globals);
  command.add({{.name = "REPORTS",
                .value = &options->paths,
                .help = "Files with reports, and folders of *.json files; - or nothing: standard "
                        "input",
                .files = Files::read},
               {.name = "--nodes",
                .value = &options->nodes,
                .help = "The nodes that must report, as Slurm writes them: n[01-64],login1",
                .type = "LIST"},
               valid_option(options->valid_s, "a report"),
               {.name = "--history",
                .value = &options->history,
                .help = "Keep what nodes reported in this file: nodes that reported before "
                        "must report again, and changes and repairs are shown",
                .type = "FILE",
                .files = Files::written},
               {.name = "--forget",
                .value = &options->forget,
                .help = "Nodes that left the fleet or have fewer GPUs on purpose, for the history",
                .type = "LIST",
                .needs = "--history"},
               html_option(options->globals.html),
               markdown_option(options->globals.markdown)});
  command.footer =
      "Exit codes: 0 no node is bad, absent or unknown; 1 a node is bad; 2 wrong usage or bad "
      "input; 3 a node lacks what was required; 4 nothing is known of a node, a report could not "
      "be read, or no node reported.";
}

}  // namespace gpuready::cli
