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
#include "bench/run/adapter_child.h"
#include "cli/commands.h"
#include "cli/man_pages.h"
#include "cli/options.h"
#include "health/worker/worker.h"
#include "jobs/helper.h"
#include "jobs/orphans.h"
#include "pack/store/load_proof.h"
#include "pack/store/model_proof.h"
#include "probe/probe.h"
#include "report/report.h"
#include "vm/attribute_child.h"

namespace {

using namespace gpuready::cli;

// What this program starts itself as. Vendors' libraries are loaded in these children only.
using OwnArgs = std::span<const std::string>;
constexpr struct {
  std::string_view name;
  int (*run)(OwnArgs args);
} kOwnModes[] = {
    {"__probe", gpuready::run_probe},
    {"__worker", gpuready::run_worker},
    {gpuready::pack::kLoadChild, gpuready::pack::run_load_child},
    {gpuready::pack::kLoadHere, gpuready::pack::run_load_here},
    {gpuready::pack::kModelChild, gpuready::pack::run_model_child},
    {gpuready::vm::kAttributeChild, gpuready::vm::run_attribute_child},
    {gpuready::bench::kAdapterChild, gpuready::bench::run_adapter_child},
    {"__pages", [](OwnArgs args) { return print_pages(all_commands(), args); }},
};

// A descriptor that is closed would become that of the first file opened, and messages would land
// in it.
void open_standard_descriptors() {
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDWR);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  gpuready::be_own_helper();
  mallopt(M_MMAP_THRESHOLD, 4 << 20);  // what is large goes back to the system when it is freed
  for (const int number : {SIGPIPE, SIGXFSZ})  // writes fail with an error instead
    std::signal(number, SIG_IGN);
  std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  for (const auto& [name, run] : kOwnModes)
    if (!args.empty() && args.front() == name) return run(std::span(args).subspan(1));
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
