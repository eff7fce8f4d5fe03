// gpuready: is every GPU in this machine ready for work?
#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "health/worker.h"
#include "probe/probe.h"
#include "report/report.h"

namespace {

using gpuready::Exit;

struct CommandEntry {
  const char* name;
  const char* summary;
  void (*add)(CLI::App&, int&);
};
constexpr CommandEntry kCommands[] = {
    {"check", "Find every GPU, diagnose it and test its memory (the default)",
     gpuready::cli::add_check},
    {"test", "Test every GPU in full: memory, arithmetic, tensor cores, links, endurance",
     gpuready::cli::add_test},
    {"selftest", "Prove the tests: inject every fault class many times and count what is found",
     gpuready::cli::add_selftest},
    {"detect", "List the GPUs and what surrounds them; nothing is started but NVML",
     gpuready::cli::add_detect},
    {"doctor", "Name the one cause when something is wrong, with proof and cure",
     gpuready::cli::add_doctor},
    {"record", "Record everything that the other commands read, for --replay",
     gpuready::cli::add_record},
    {"gpu-test", "The text contract of runpod's gpu_test, earned by a real test",
     gpuready::cli::add_gpu_test},
    {"ternary", "Ternary (1.58-bit) weights: GGUF files, and the kernels that multiply by them",
     gpuready::cli::add_ternary},
};

bool names_command(std::string_view word) {
  for (const auto& command : kCommands)
    if (word == command.name) return true;
  return false;
}

// Options may stand before the command: `gpuready --json - detect`. Without a command it is check.
void put_command_first(std::vector<std::string>& args) {
  constexpr std::string_view kOwn[] = {"-h", "--help", "--version"};
  if (!args.empty() && !args.front().starts_with("-")) return;
  for (const auto own : kOwn)
    if (args.size() == 1 && args.front() == own) return;
  const auto command = std::find_if(args.begin(), args.end(), names_command);
  if (command == args.end())
    args.insert(args.begin(), "check");
  else
    std::rotate(args.begin(), command, command + 1);
}

// As CLI11 has it, but a subcommand that is not there is named.
std::string failure(const CLI::App* app, const CLI::Error& error) {
  const auto rest = app->remaining(true);
  const bool unknown = error.get_name() == "RequiredError" && !rest.empty();
  return (unknown ? "There is no such subcommand: " + rest.front() : error.what()) +
         std::string("\nRun with --help for more information.\n");
}

int run(std::vector<std::string> args) {
  int exit_code = 0;
  CLI::App app{"gpuready: is every GPU in this machine ready for work?", "gpuready"};
  app.set_version_flag("--version", "gpuready " GPUREADY_VERSION);
  app.require_subcommand(1);
  app.failure_message(failure);
  app.footer(
      "Exit codes: 0 all that was asked holds; 1 something is unhealthy; 2 wrong usage or bad\n"
      "input; 3 what was required is absent; 4 it could not be found out.");
  put_command_first(args);
  for (const auto& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    if (args.front() == command.name) command.add(*sub, exit_code);  // the others cost half a ms
  }
  std::vector<std::string> reversed(args.rbegin(), args.rend());  // as CLI11 wants them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    // Help and version succeed; everything else is wrong usage.
    return app.exit(error) == 0 ? 0 : static_cast<int>(Exit::usage);
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string_view self = argc > 0 ? argv[0] : "gpuready";
  if (self.substr(self.rfind('/') + 1) == "gpu_test") args.insert(args.begin(), "gpu-test");
  // Our own children. Vendor libraries are loaded in these alone.
  if (!args.empty() && args[0] == "__probe") return gpuready::run_probe(std::span(args).subspan(1));
  if (!args.empty() && args[0] == "__worker")
    return gpuready::run_worker(std::span(args).subspan(1));
  return run(std::move(args));
}
