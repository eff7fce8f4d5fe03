#include <fmt/format.h>
#include <poll.h>

#include <memory>

#include "base/clock.h"
#include "cli/terminal.h"
#include "kubernetes/cli/kubernetes_commands.h"
#include "kubernetes/report/events.h"
#include "kubernetes/unary_call.h"

namespace gpuready::cli {
namespace {

constexpr std::chrono::seconds kSendWithin{5};  // as NVSentinel's own monitors
constexpr int kNapMs = 500;

struct EventCommand {
  NodeOptions node;
  std::string socket = "/var/run/nvsentinel.sock", name;
  std::optional<double> interval_s;
};

Result<int> send_events(Host& host, const std::string& name, const EventCommand& options) {
  const auto judged = TRY(judge_node(options.node));
  const auto events = kubernetes::health_events(
      judged.condition, judged.report ? &*judged.report : nullptr, judged.status);
  if (events.empty()) {
    complain("nothing was sent, since the node's state is undetermined: " + judged.condition.line);
    return static_cast<int>(Exit::unknown);
  }
  const auto socket = after_prefix(options.socket, "unix://").value_or(options.socket);
  const auto now = TRY(host.identity()).unix_seconds;
  const auto sent = kubernetes::call({.socket = std::string(socket),
                                      .method = kubernetes::kHealthEventMethod,
                                      .message = kubernetes::encode(events, name, now),
                                      .timeout = kSendWithin});
  if (!sent) {
    complain("NVSentinel was not told: " + sent.error().message);
    return static_cast<int>(Exit::unknown);
  }
  TRY(write_file("-", kubernetes::lines_of(events)));
  return static_cast<int>(Exit::ok);
}

Result<int> run_event(const EventCommand& options) {
  const auto host = make_live_host();
  const auto name =
      options.name.empty() ? host->environment("NODE_NAME").value_or("") : options.name;
  if (name.empty())
    return fail(ErrorKind::bad_input,
                "which node? Name it as Kubernetes does, by --node or NODE_NAME");
  if (!options.interval_s) return send_events(*host, name, options);
  catch_interrupts();
  while (!interrupted()) {
    const Deadline next = deadline_in(to_milliseconds(*options.interval_s));
    if (const auto sent = send_events(*host, name, options); !sent) complain(sent.error());
    while (!interrupted() && Clock::now() < next) ::poll(nullptr, 0, kNapMs);  // a signal ends it
  }
  return static_cast<int>(Exit::ok);
}

}  // namespace

void declare_kubernetes_event(CommandSpec& command) {
  auto options = std::make_shared<EventCommand>();
  command.run = [options] { return run_event(*options); };
  command.add({{.name = "--node",
                .value = &options->name,
                .help = "This node, as Kubernetes names it (default: the variable NODE_NAME)",
                .type = "NAME"},
               {.name = "--socket",
                .value = &options->socket,
                .help = fmt::format("Socket of NVSentinel's platform connector: {} if not given",
                                    options->socket),
                .type = "PATH"},
               {.name = "--interval",
                .value = &options->interval_s,
                .help = "Repeat it until SIGTERM, with this time between two starts",
                .range = Range{1, 3600},
                .seconds = true}});
  add_node_options(command, options->node);
  command.footer =
      "Exit codes: 0 NVSentinel has the events, whatever they say; 2 wrong usage; 4 it was not "
      "told, since the node's state is undetermined or it does not answer within 5 s. With "
      "--interval: 0.";
}

}  // namespace gpuready::cli
