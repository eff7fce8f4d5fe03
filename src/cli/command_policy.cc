// `gpuready policy check|init`: what this machine must have.
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "report/conclude.h"
#include "report/exit_rules.h"
#include "report/policy.h"

namespace gpuready::cli {
namespace {

struct PolicyCommand {
  Globals globals;
  std::string file;
};

Result<Report> machine_of(const Globals& globals) {
  auto host = TRY(open_host(globals));
  return begin_report("detect", TRY(inspect_as_asked(*host, globals, {})));
}

Result<int> run_check(const PolicyCommand& options) {
  const auto start = Clock::now();
  const auto policy = TRY(read_policy(options.file, false));
  const auto report = TRY(machine_of(options.globals));
  const PolicyReport explained = explain(policy, report.machine, usable_gpus(report));
  Envelope envelope = begin_envelope("policy check");
  envelope.exit = explained.unmet.empty() ? Exit::ok : Exit::required_absent;
  return deliver_report(envelope, explained, start, options.globals);
}

Result<int> run_init(const PolicyCommand& options) {
  const auto report = TRY(machine_of(options.globals));
  const std::string text = policy_text(report.machine, usable_gpus(report));
  TRY(write_file(options.file, text));
  return static_cast<int>(Exit::ok);
}

void declare_check_policy(CommandSpec& command) {
  auto options = std::make_shared<PolicyCommand>();
  command.run = [options] { return run_check(*options); };
  add_globals(command, options->globals, false);
  command.add({{.name = "FILE",
                .value = &options->file,
                .help = "The policy",
                .required = true,
                .files = Files::read}});
  command.footer =
      "Exit codes: 0 the machine meets it; 2 the file is wrong; 3 something is absent.";
}

void declare_init_policy(CommandSpec& command) {
  auto options = std::make_shared<PolicyCommand>();
  options->file = "-";
  command.run = [options] { return run_init(*options); };
  add_globals(command, options->globals, false);
  command.add({{.name = "FILE",
                .value = &options->file,
                .help = "Where it is written (default: standard output)",
                .files = Files::written}});
}

constexpr CommandEntry kSubcommands[] = {
    {"check", "Explain a policy and say whether this machine meets it", declare_check_policy,
     "policy check policy.toml\n"
     "policy check policy.toml --replay machine.tar.zst"},
    {"init", "Write the policy that this machine meets now", declare_init_policy,
     "policy init policy.toml\n"
     "policy init  # to standard output"},
};

}  // namespace

void declare_policy(CommandSpec& command) { command.subcommands = kSubcommands; }

}  // namespace gpuready::cli
