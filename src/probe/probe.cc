#include "probe/probe.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string_view>
#include <vector>

#include "probe/probes.h"

namespace gpuready {
namespace {

struct Probe {
  std::string_view name;
  void (*run)(ProbeWriter&, std::span<const std::string>);
};
constexpr Probe kProbes[] = {
    {"nvml", probe_nvml}, {"nvml-events", probe_nvml_events},
    {"cuda", probe_cuda}, {"vulkan", probe_vulkan},
    {"rocm", probe_rocm}, {"metal", probe_metal},
};

constexpr int kDocumentDescriptor = 3;
constexpr int kUsage = 2;

}  // namespace

int run_probe(std::span<const std::string> args) {
  if (args.empty()) return kUsage;
  const auto probe = std::ranges::find(kProbes, args.front(), &Probe::name);
  if (probe == std::end(kProbes)) return kUsage;
  std::vector<std::string> rest(args.begin() + 1, args.end());
  const bool to_stdout = std::erase(rest, "--stdout") > 0;
  const int descriptor = to_stdout ? STDOUT_FILENO : kDocumentDescriptor;
  if (fcntl(descriptor, F_GETFD) < 0) return kUsage;

  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would read what an orphan finds out

  ProbeWriter writer(descriptor, probe->name);
  probe->run(writer, rest);
  writer.end();
  _exit(0);
}

}  // namespace gpuready
