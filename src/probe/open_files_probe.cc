// Which processes hold device files. Several threads look: on a machine with many processes, what
// the kernel takes to answer is nearly all of the time.
#include <fcntl.h>
#include <linux/kcmp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/result.h"
#include "probe/mount_namespaces.h"
#include "probe/probes.h"
#include "probe/proc_files.h"
#include "probe/process_look.h"

namespace gpuready {
namespace {

constexpr std::uint32_t kKernel = 2;  // the process number of kthreadd, which never ends
constexpr unsigned kMostThreads = 4;
constexpr std::size_t kFewProcesses = 16;  // no work for another thread

class OpenFilesProbe {
 public:
  explicit OpenFilesProbe(ProbeWriter& writer) : writer_(writer) {
    for (unsigned i = 0; i < kMostThreads; ++i) looks_.emplace_back(proc_.get(), spaces_);
  }

  void run() {
    // A process that was looked at may have started another one and ended.
    constexpr int kMostRounds = 10;
    for (int round = 0; round < kMostRounds && look_at_new_processes(); ++round) {
    }
    looks_.front().look_at_consoles();
    for (auto& look : looks_) held_.add(std::move(look.held));
    for (const auto& [process, nodes] : held_.open)
      writer_.answer(process == 0 ? "consoles()" : "open(" + std::to_string(process) + ")", 0,
                     Json(nodes));
    for (const auto& [node, place] : held_.places)
      writer_.answer("place(" + node + ")", 0, Json(place));
    writer_.answer("mounts()", 0, Json(spaces_.foreign()));
    Json summary = {{"count", seen_.size()}, {"refused", held_.unread.size()}};
    if (!held_.unread.empty()) summary["unread"] = held_.unread.begin()->second;
    writer_.answer("processes()", 0, summary);
  }

 private:
  bool look_at_new_processes() {
    const auto listed = list_numbers(open_at(proc_.get(), ".", O_RDONLY));
    if (!listed) held_.unread.emplace(0, fail_errno("/proc", listed.error()).error().message);
    std::vector<std::uint32_t> fresh;
    for (const auto process : listed.value_or(std::vector<std::uint32_t>{}))
      if (seen_.insert(process).second) fresh.push_back(process);
    if (std::erase(fresh, kKernel) > 0) kernel_holds_nothing_ = looks_.front().look_at(kKernel);
    std::atomic<std::size_t> next = 0;
    in_parallel(std::min(looks_.size(), 1 + fresh.size() / kFewProcesses), kMostThreads,
                [&](std::size_t part) {
                  for (auto i = next++; i < fresh.size(); i = next++)
                    if (!is_kernels(fresh[i])) looks_[part].look_at(fresh[i]);
                });
    return !fresh.empty();
  }

  // Whether it has no table of its own, as most threads of the kernel have none.
  bool is_kernels(std::uint32_t process) const {
    return kernel_holds_nothing_ && share(process, kKernel, KCMP_VM) &&
           share(process, kKernel, KCMP_FILES) && share(process, kKernel, KCMP_FS);
  }

  ProbeWriter& writer_;
  Descriptor proc_ = open_at(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY);
  MountNamespaces spaces_;
  std::vector<ProcessLook> looks_;
  Held held_;
  std::set<std::uint32_t> seen_;
  bool kernel_holds_nothing_ = false;
};

}  // namespace

void probe_open_files(ProbeWriter& writer, std::span<const std::string>) {
  OpenFilesProbe(writer).run();
}

}  // namespace gpuready
