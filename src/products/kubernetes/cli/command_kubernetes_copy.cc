#include <memory>

#include "host/atomic_file.h"
#include "kubernetes/cli/kubernetes_commands.h"

namespace gpuready::cli {
namespace {

constexpr std::size_t kMostBytes = 1u << 30;  // with sanitizers and debug information
constexpr std::uint32_t kProgram = 0755;

Result<int> run_copy(const std::string& file) {
  const auto program = TRY(make_live_host()->read_file("/proc/self/exe", kMostBytes));
  TRY(write_file_atomically(file, program, {.mode = kProgram}));
  return static_cast<int>(Exit::ok);
}

}  // namespace

void declare_kubernetes_copy(CommandSpec& command) {
  auto file = std::make_shared<std::string>();
  command.run = [file] { return run_copy(*file); };
  command.add({{.name = "FILE",
                .value = file.get(),
                .help = "Where to put the program",
                .required = true,
                .files = Files::written}});
  command.footer = "Exit codes: 0 it is there; 2 it cannot be written.";
}

}  // namespace gpuready::cli
