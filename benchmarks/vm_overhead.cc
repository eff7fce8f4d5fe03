// What `vm attach` and `vm detach` of a GPU with its audio function take beyond the kernel's own
// work and fsync: on a machine in memory, whose writes cost nothing, with each child of ours really
// started (`GPUREADY __attribute` of a device that is not there).
//   bench_vm_overhead GPUREADY [ROUNDS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "jobs/job.h"
#include "unit/products/vm/fake_kernel.h"
#include "vm/attribute_child.h"
#include "vm/operations.h"

namespace gpuready::vm {
namespace {

constexpr char kGpu[] = "0000:17:00.0";

class WithChildren final : public FakeKernel {
 public:
  explicit WithChildren(std::string program) : program_(std::move(program)) {}
  Result<JobOutcome> run(const Job& job) override {
    if (!job.args.empty() && job.args[0] == kAttributeChild) {
      Job child = job;
      child.program = program_;
      child.args[1] = "/sys/bus/pci/devices/ffff:ff:1f.7/driver_override";  // of no device
      if (const auto ended = run_job(child); !ended || ended->end != JobEnd::exited) std::abort();
      ++children;
    }
    return FakeKernel::run(job);
  }
  int children = 0;

 private:
  std::string program_;
};

int measure(const std::string& program, int rounds) {
  std::vector<double> times;
  int children = 0;
  for (int round = 0; round < rounds; ++round) {
    WithChildren kernel(program);
    kernel.add(kGpu, {});
    kernel.add("0000:17:00.1", {.class_code = "0x040300", .native = "snd_hda_intel"});
    kernel.services = kernel.enabled = {"nvidia-persistenced.service"};
    auto hands = kernel.hands(kernel);
    const auto start = Clock::now();
    const auto attached = attach(hands, {.name = "guest-1", .devices = {*parse_pci_address(kGpu)}});
    if (!attached || !attached->ok()) return 1;
    const auto detached = detach(hands, "guest-1", {});
    if (!detached || detached->size() != 1 || !detached->front().ok()) return 1;
    times.push_back(elapsed_ms(start));
    children = kernel.children;
  }
  std::ranges::sort(times);
  fmt::print(
      "attach and detach, {} children, {} rounds: least {:.1f}, median {:.1f}, most {:.1f} ms\n",
      children, rounds, times.front(), times[times.size() / 2], times.back());
  return 0;
}

}  // namespace
}  // namespace gpuready::vm

int main(int count, char** arguments) {
  if (count < 2) return 2;
  return gpuready::vm::measure(arguments[1], count > 2 ? std::max(1, std::atoi(arguments[2])) : 40);
}
