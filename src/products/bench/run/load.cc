#include "bench/run/load.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/cpu/cpus.h"
#include "base/text.h"

namespace gpuready::bench {
namespace {

constexpr const char* kStat = "/proc/stat";
// "cpu0 user nice system idle iowait irq softirq steal", in ticks since the start; what follows is
// part of user and nice.
constexpr std::size_t kTimes = 8, kIdle = 3, kIoWait = 4;

struct Ticks {
  double all = 0, idle = 0;
};

std::optional<Ticks> ticks_of(std::string_view stat, std::span<const unsigned> cpus) {
  Ticks ticks;
  std::size_t found = 0;
  for (const std::string_view line : split(stat, "\n")) {
    const auto words = split(line, " ");
    if (words.size() <= kTimes || !words[0].starts_with("cpu")) continue;
    const auto cpu = parse_uint(words[0].substr(3));
    if (!cpu || std::ranges::find(cpus, *cpu) == cpus.end()) continue;
    ++found;
    for (std::size_t i = 0; i < kTimes; ++i) {
      const double time = parse_double(words[1 + i]).value_or(0);
      ticks.all += time;
      if (i == kIdle || i == kIoWait) ticks.idle += time;
    }
  }
  return found == cpus.size() ? std::optional(ticks) : std::nullopt;
}

double own_cpu_s() {
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& time : {used.ru_utime, used.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
  return seconds;
}

}  // namespace

std::optional<double> others_cpu_percent(std::string_view before, std::string_view after,
                                         std::span<const unsigned> cpus, double own_s,
                                         double ticks_per_s) {
  const auto from = ticks_of(before, cpus), to = ticks_of(after, cpus);
  if (!from || !to || to->all <= from->all) return std::nullopt;
  const double all = to->all - from->all, idle = to->idle - from->idle;
  return std::clamp((all - idle - own_s * ticks_per_s) / all * 100, 0.0, 100.0);
}

LoadWatch::LoadWatch(Host& host, const Gpu* gpu)
    : host_(host),
      cpus_(cpus_of_affinity()),
      stat_(host.read_file(kStat).value_or("")),
      own_s_(own_cpu_s()) {
  if (gpu == nullptr) return;
  load_.gpu_processes = gpu->processes.size();
  if (gpu->utilization_percent) load_.gpu_percent = *gpu->utilization_percent;
}

Load LoadWatch::until_now() const {
  Load load = load_;
  load.others_cpu_percent =
      others_cpu_percent(stat_, host_.read_file(kStat).value_or(""), cpus_, own_cpu_s() - own_s_,
                         static_cast<double>(sysconf(_SC_CLK_TCK)));
  return load;
}

}  // namespace gpuready::bench
