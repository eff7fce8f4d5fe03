// Whether threads help: each product by one thread and by several, in interleaved pairs, with gaps
// between the calls in which the caller's thread is busy with something else.
//   bench_ternary_threads [--threads N] [--rounds N] [--tier NAME] [--most RATIO] [--pin]
// A figure is the time of several threads / the time of one: of the least times, and the median of
// the pairs. With --most the exit code is 1 where both are above it: a busy machine takes shares of
// time from several threads more often than from one, and then the least times alone are sound.
// --pin gives each thread a CPU of its own: a busy system else wakes two of them on one.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gpuready/ternary.h"

namespace {

using namespace gpuready::ternary;
using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}
void busy_for(double us) {
  const auto start = Clock::now();
  while (us_since(start) < us) {
  }
}

void pin_each_thread() {
  std::set<int> tasks;  // the caller's is the lowest
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    tasks.insert(std::atoi(entry.path().filename().c_str()));
  unsigned cpu = 0;
  for (const int task : tasks) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu++, &set);
    if (sched_setaffinity(task, sizeof set, &set) != 0) std::perror("sched_setaffinity");
  }
}

struct Work {
  std::string name;
  std::function<bool(const CpuEngine&)> call;
};

double least(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// The mean time of some calls with a gap before each, us; the first call is not counted.
double burst(const CpuEngine& engine, const Work& work, double gap_us) {
  const int calls = gap_us > 500 ? 2 : 6;
  double sum = 0;
  for (int i = 0; i <= calls; ++i) {
    if (gap_us > 0) busy_for(gap_us);
    const auto start = Clock::now();
    if (!work.call(engine)) std::abort();
    if (i > 0) sum += us_since(start);
  }
  return sum / calls;
}

struct Product {
  PackedWeights weights;
  Activations rows;
  std::vector<float> out;
};
Product product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t group) {
  std::minstd_rand random(7);
  std::vector<std::int8_t> codes(static_cast<std::size_t>(n * k));
  for (auto& w : codes) w = static_cast<std::int8_t>(static_cast<int>(random() % 3) - 1);
  std::vector<std::int8_t> y(static_cast<std::size_t>(m * k));
  for (auto& q : y) q = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  const std::vector<float> scales(
      static_cast<std::size_t>(group == 0 ? n : n * ((k + group - 1) / group)), 0.5f);
  return {*PackedWeights::pack(codes, {n, k}, {std::span<const float>(scales), group}),
          *Activations::from_int8(y, m, k), std::vector<float>(static_cast<std::size_t>(m * n))};
}

}  // namespace

int main(int argc, char** argv) {
  unsigned threads = 2;
  int rounds = 15;
  double most = 0;
  std::string tier_name;
  bool pin = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    pin |= option == "--pin";
    if (option == "--threads")
      threads = static_cast<unsigned>(std::max(2, std::atoi(value.c_str())));
    if (option == "--rounds") rounds = std::max(3, std::atoi(value.c_str()));
    if (option == "--most") most = std::atof(value.c_str());
    if (option == "--tier") tier_name = value;
  }
  std::optional<Tier> tier;
  for (const TierStatus& status : tiers())
    if (to_string(status.tier) == tier_name) tier = status.tier;
  const auto one = CpuEngine::create({tier, true, 1}),
             several = CpuEngine::create({tier, true, threads});
  if (!one || !several) return 2;
  if (pin) pin_each_thread();

  struct Case {
    std::int64_t m, n, k, group;
  };
  constexpr Case kCases[] = {{1, 64, 256, 0},     {1, 256, 512, 0},     {1, 640, 1024, 0},
                             {1, 1024, 2560, 0},  {1, 2560, 2560, 0},   {1, 2560, 2560, 128},
                             {1, 4096, 4096, 0},  {1, 6912, 2560, 0},   {1, 8192, 8192, 0},
                             {4, 256, 512, 0},    {4, 2560, 2560, 0},   {32, 256, 512, 0},
                             {32, 1024, 2560, 0}, {32, 2560, 2560, 64}, {128, 2560, 2560, 0}};
  std::vector<Product> products;
  std::vector<Work> works;
  products.reserve(std::size(kCases));
  for (const Case& c : kCases) {
    products.push_back(product(c.m, c.n, c.k, c.group));
    Product* p = &products.back();
    works.push_back({std::to_string(c.m) + " x " + std::to_string(c.n) + " x " +
                         std::to_string(c.k) + (c.group ? ", by " + std::to_string(c.group) : ""),
                     [p](const CpuEngine& engine) {
                       return engine.multiply(p->weights, p->rows, std::span(p->out)).has_value();
                     }});
  }
  struct Values {
    std::int64_t m, k;
    std::vector<float> x;
  };
  std::vector<Values> values;
  values.reserve(3);
  for (const auto& [m, k] : {std::pair{1, 8192}, {32, 2560}, {512, 2560}}) {
    values.push_back({m, k, std::vector<float>(static_cast<std::size_t>(m * k))});
    Values* v = &values.back();
    std::minstd_rand random(3);
    for (float& x : v->x) x = static_cast<float>(random() % 2001) * 1e-3f - 1;
    works.push_back(
        {"quantise " + std::to_string(m) + " x " + std::to_string(k), [v](const CpuEngine& engine) {
           return engine.quantise(std::span<const float>(v->x), v->m, v->k).has_value();
         }});
  }
  constexpr double kGaps[] = {0, 10, 100, 1000, 10000};
  std::printf("%s, %u threads / one thread: least times, median of %d pairs; (us of one thread)\n",
              std::string(to_string(one->tier())).c_str(), threads, rounds);
  std::printf("%-24s", "gap, us");
  for (const double gap : kGaps) std::printf(" %18.0f", gap);
  std::printf("\n");
  int worse = 0;
  for (const Work& work : works) {
    std::printf("%-24s", work.name.c_str());
    for (const double gap : kGaps) {
      std::vector<double> alone, together, ratios;
      for (int round = 0; round < rounds; ++round) {
        const bool first = round % 2 == 0;
        if (first) alone.push_back(burst(*one, work, gap));
        together.push_back(burst(*several, work, gap));
        if (!first) alone.push_back(burst(*one, work, gap));
        ratios.push_back(together.back() / alone.back());
      }
      const double by_least = least(together) / least(alone), by_median = median(ratios);
      worse += most > 0 && by_least > most && by_median > most;
      std::printf(" %4.2f %4.2f (%6.1f)", by_least, by_median, least(alone));
      std::fflush(stdout);
    }
    std::printf("\n");
  }
  if (worse > 0) std::printf("%d figures are above %.2f\n", worse, most);
  return worse > 0 ? 1 : 0;
}
