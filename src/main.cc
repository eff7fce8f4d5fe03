// gpuready: is every GPU in this machine ready for work?
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/man_pages.h"
#include "cli/options.h"
#include "cli/product.h"
#include "health/worker/worker.h"
#include "jobs/helper.h"
#include "jobs/orphans.h"
#include "probe/probe.h"
#include "report/report.h"

namespace {

using namespace gpuready::cli;

constexpr OwnMode kCoreModes[] = {
    {"__probe", gpuready::run_probe},
    {"__worker", gpuready::run_worker},
    {"__complete", [](auto words) { return print_completions(all_commands(), words); }},
    {"__pages", [](auto args) { return print_pages(all_commands(), args); }},
};

const OwnMode* find_mode(std::string_view name) {
  for (const OwnMode& mode : kCoreModes)
    if (mode.name == name) return &mode;
  for (const Product& product : all_products())
    for (const OwnMode& mode : product.modes)
      if (mode.name == name) return &mode;
  return nullptr;
}

// A descriptor that is closed would become that of the first file opened, and messages would land
// in it. A result that goes to a closed standard output is lost, so writing there fails.
void open_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0 &&
        ::open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR) != descriptor)
      return;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  gpuready::be_own_helper();
  mallopt(M_MMAP_THRESHOLD, 4 << 20);  // what is large goes back to the system when it is freed
  for (const int number : {SIGPIPE, SIGXFSZ})  // writes fail with an error instead
    std::signal(number, SIG_IGN);
  std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const OwnMode* mode = args.empty() ? nullptr : find_mode(args.front());
  if (mode != nullptr) return mode->run(std::span(args).subspan(1));
  // What the program is called chooses only for who names no command: our children, which inherit
  // the name, each name theirs.
  const std::string_view self = argc > 0 ? argv[0] : "";
  const bool drop_in = self.substr(self.rfind('/') + 1) == "gpu_test";
  gpuready::adopt_orphans();
  try {
    return run_command_line(all_commands(), drop_in ? "gpu-test" : "check", std::move(args));
  } catch (const std::bad_alloc&) {
    complain("not enough memory");
    return static_cast<int>(gpuready::Exit::unknown);
  }
}
