// What `vm attach` and `vm detach` of a GPU with its audio function take beyond the kernel's own
// work and fsync: on a machine in memory, whose writes cost nothing, with a real child for all
// accesses of an operation (`GPUREADY __attribute`, asked for a device that does not exist) and the
// real look at this machine's processes, whose answer is not used. As the floor: without that look,
// and with `/bin/true` in the child's place, which is started once and asked nothing. With another
// program, its rounds are made in turn with those of the first.
//   bench_vm_overhead GPUREADY [ROUNDS [OTHER_GPUREADY]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "jobs/job.h"
#include "unit/products/vm/fake_kernel.h"
#include "vm/attribute_child.h"
#include "vm/operations.h"

namespace gpuready::vm {
namespace {

constexpr char kGpu[] = "0000:17:00.0";

class WithChild final : public FakeKernel {
 public:
  explicit WithChild(bool is_floor) : is_floor_(is_floor) {}
  Result<JobOutcome> exchange(const AttributeRequest& request,
                              std::chrono::milliseconds deadline) override {
    if (!is_floor_) {
      const auto answered = child_->exchange(
          {request.verb, "/sys/bus/pci/devices/ffff:ff:1f.7/driver_override", request.value},
          deadline);
      if (!answered || answered->channel.empty()) std::abort();
    } else if (accesses == 0) {
      Job job;
      job.program = "/bin/true";
      if (!run_job(job)) std::abort();
    }
    ++accesses;
    return FakeKernel::exchange(request, deadline);
  }
  std::vector<ProbeDocument> probe(const std::vector<ProbeRequest>& requests) override {
    for (const auto& request : requests) {
      if (is_floor_ || request.probe != "open-files") continue;
      const auto start = Clock::now();
      const auto documents = live_->probe({request});
      look_ms += elapsed_ms(start);
      ++looks;
      processes = member(documents.front().value("processes()"), "count").get<std::uint64_t>();
    }
    return FakeKernel::probe(requests);
  }
  void expect_probe(const ProbeRequest& request) override {
    if (!is_floor_) live_->expect_probe(request);
  }
  // What `operation` takes as a process of its own.
  template <class Operation>
  double time_ms(Operation operation) {
    accesses = looks = 0;
    look_ms = 0;
    const auto start = Clock::now();
    child_.emplace();
    live_ = make_live_host();
    if (!operation()) std::abort();
    child_.reset();
    live_.reset();
    return elapsed_ms(start);
  }
  int accesses = 0, looks = 0;
  double look_ms = 0;
  std::uint64_t processes = 0;  // of this machine

 private:
  bool is_floor_;
  std::unique_ptr<Host> live_;
  std::optional<AttributeChild> child_;
};

struct Measured {
  std::vector<double> times_ms, looks_ms;
  int accesses = 0, looks = 0;
  std::uint64_t processes = 0;

  void add(double time_ms, const WithChild& kernel) {
    times_ms.push_back(time_ms);
    looks_ms.push_back(kernel.look_ms);
    accesses = kernel.accesses;
    looks = kernel.looks;
    processes = kernel.processes;
  }
  static double median(std::vector<double>& times) {
    std::ranges::sort(times);
    return times[times.size() / 2];
  }
  static std::string text(std::vector<double>& times) {
    const double middle = median(times);
    return fmt::format("min {:.1f}, median {:.1f}, max {:.1f} ms", times.front(), middle,
                       times.back());
  }
  void print(const std::string& what) {
    fmt::print("{}, {} accesses, {} rounds: {}\n", what, accesses, times_ms.size(), text(times_ms));
    if (looks > 0)
      fmt::print("  of it {} looks at {} processes: {}\n", looks, processes, text(looks_ms));
  }
};

struct Series {
  std::string how;
  std::string helper;  // empty: the floor
  Measured attaching = {}, detaching = {};

  void run_round() {
    setenv("GPUREADY_HELPER", helper.c_str(), 1);
    WithChild kernel(helper.empty());
    kernel.add(kGpu, {});
    kernel.add("0000:17:00.1", {.class_code = "0x040300", .native = "snd_hda_intel"});
    kernel.services = kernel.enabled = {"nvidia-persistenced.service"};
    auto hands = kernel.hands(kernel);
    const auto attached_ms = kernel.time_ms([&] {
      const auto done = attach(hands, {.name = "guest-1", .devices = {*parse_pci_address(kGpu)}});
      return done && done->ok();
    });
    attaching.add(attached_ms, kernel);
    const auto detached_ms = kernel.time_ms([&] {
      const auto done = detach(hands, "guest-1", {});
      return done && done->size() == 1 && done->front().ok();
    });
    detaching.add(detached_ms, kernel);
  }
  void print() {
    attaching.print("attach" + how);
    detaching.print("detach" + how);
  }
};

}  // namespace
}  // namespace gpuready::vm

int main(int count, char** arguments) {
  using gpuready::vm::Measured;
  if (count < 2) return 2;
  const int rounds = count > 2 ? std::max(1, std::atoi(arguments[2])) : 40;
  std::vector<gpuready::vm::Series> all = {{"", arguments[1]}, {" with /bin/true", ""}};
  if (count > 3) all.push_back({" by " + std::string(arguments[3]), arguments[3]});
  for (int round = 0; round < rounds; ++round)
    for (auto& series : all) series.run_round();
  for (auto& series : all) series.print();
  if (count > 3)
    fmt::print(
        "ratio of the medians: attach {:.2f}, detach {:.2f}\n",
        Measured::median(all[0].attaching.times_ms) / Measured::median(all[2].attaching.times_ms),
        Measured::median(all[0].detaching.times_ms) / Measured::median(all[2].detaching.times_ms));
}
