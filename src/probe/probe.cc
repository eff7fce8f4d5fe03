#include "probe/probe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <thread>
#include <vector>

#include "host/probe_document.h"
#include "jobs/parent_watch.h"
#include "probe/probes.h"

namespace gpuready {
namespace {

struct Probe {
  std::string_view name;
  void (*run)(ProbeWriter&, std::span<const std::string>);
  bool outlives_parent = false;
};
constexpr Probe kProbes[] = {
    {"nvml", probe_nvml},
    {"nvml-events", probe_nvml_events},
    {"nvml-clocks", probe_nvml_clocks, true},
    {"cuda", probe_cuda},
    {"vulkan", probe_vulkan},
    {"rocm", probe_rocm},
    {"metal", probe_metal},
    {"files", probe_files},
    {"open-files", probe_open_files},
    {"disk-claims", probe_disk_claims},
};

constexpr int kUsage = 2;

}  // namespace

int run_probe(std::span<const std::string> args) {
  if (args.empty()) return kUsage;
  const auto probe = std::ranges::find(kProbes, args.front(), &Probe::name);
  if (probe == std::end(kProbes)) return kUsage;
  std::vector<std::string> rest(args.begin() + 1, args.end());
  const bool to_stdout = std::erase(rest, "--stdout") > 0;
  const bool again = std::erase(rest, kProbeAgain) > 0;
  const int descriptor = to_stdout ? STDOUT_FILENO : kChannelDescriptor;
  if (fcntl(descriptor, F_GETFD) < 0) return kUsage;

  if (!to_stdout && !probe->outlives_parent)
    end_with_parent();  // no one would read what an orphan finds out

  const auto answer = [&] {
    ProbeWriter writer(descriptor, probe->name);
    probe->run(writer, rest);
    writer.end();
  };
  if (!again) answer();
  // A thread for each: a look may leave its thread in another mount namespace.
  while (again && read_channel_line()) std::jthread{answer};
  _exit(0);
}

}  // namespace gpuready
