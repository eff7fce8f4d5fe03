// Runs every tier that this CPU has against the plain reference; a program of its own, to be
// carried to other machines (also under qemu-user). Says of each tier what was run or why not; exit
// code 1 when a product was wrong, and 3 when a tier that was named on the command line is not
// here.
//   ternary_every_tier [tier ...]
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "reference.h"

namespace {

using namespace gpuready::ternary;
using reference::Fill;

struct Counts {
  int products = 0, wrong = 0;
};

void check(const CpuEngine& engine, const reference::Problem& p, Counts& counts) {
  const auto y = Activations::from_int8(p.y, p.m, p.k, p.steps);
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    const auto packed = PackedWeights::pack(p.weights, form);
    const std::string text = packed && y ? reference::wrong(engine, p, *packed, *y) : "not packed";
    ++counts.products;
    if (text.empty()) continue;
    if (++counts.wrong <= 10) {
      std::printf("  WRONG %s %s: %s\n", std::string(to_string(engine.tier())).c_str(),
                  std::string(to_string(form)).c_str(), text.c_str());
    }
  }
}

void check(const CpuEngine& engine, const reference::GroupedProblem& p, Counts& counts) {
  const std::string text = reference::wrong(engine, p);
  ++counts.products;
  if (text.empty() || ++counts.wrong > 10) return;
  std::printf("  WRONG %s by group: %s\n", std::string(to_string(engine.tier())).c_str(),
              text.c_str());
}

// Scales by group: tails of K around groups, tails of N and M, and the greatest sums.
void run_grouped(const CpuEngine& engine, bool small, Counts& counts) {
  unsigned seed = 1;
  const auto one = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t group,
                       Fill fill = Fill::random) {
    check(engine, reference::make_grouped(m, n, k, group, fill, seed++), counts);
  };
  for (const std::int64_t group : {32, 64, 128, 256}) {
    for (std::int64_t k = 1; k <= 2 * group + 20; k += small ? 7 : 1) {
      one(1, 17, k, group);
      one(3, 33, k, group);
    }
    for (std::int64_t n = 1; n <= 130; n += small ? 13 : 1) one(n % 3 + 1, n, 600, group);
    for (const std::int64_t m : {2, 4, 5, 11, 12, 13, 31, 32, 33, 95, 96, 97, 191, 193, 515})
      if (!small || m < 5 || m % 32 == 1) one(m, 35, 2 * group + 1, group);
    for (const Fill fill : reference::kFills) {
      one(1, 19, 5120, group, fill);
      one(5, 34, 5120, group, fill);
    }
    one(1, 600, small ? 512 : 4096, group);
    one(small ? 130 : 600, small ? 70 : 230, 520, group);
    one(1, 16, small ? 40000 : 600011, group);
  }
}

Counts run(const CpuEngine& engine, bool small) {
  Counts counts;
  unsigned seed = 1;
  // Every tail of K within a few blocks of both forms, for a vector and for a few rows.
  for (std::int64_t k = 1; k <= (small ? 170 : 400); ++k) {
    check(engine, reference::make(1, 17, k, Fill::random, seed++), counts);
    check(engine, reference::make(3, 33, k, Fill::random, seed++), counts);
  }
  // Every tail of N and M.
  for (std::int64_t n = 1; n <= 50; ++n) {
    check(engine, reference::make(n % 7 + 1, n, 140, Fill::random, seed++), counts);
  }
  for (std::int64_t m = 1; m <= 70; ++m) {
    check(engine, reference::make(m, 35, 96, Fill::random, seed++), counts);
  }
  // Long sums at their limits, which 16-bit accumulators do not survive.
  for (const std::int64_t k : {4096, 5120, 5121, 8640, 32767, 32768}) {
    for (const Fill fill : reference::kFills) {
      check(engine, reference::make(1, 19, k, fill, seed++), counts);
      if (!small || k <= 5121) check(engine, reference::make(5, 34, k, fill, seed++), counts);
    }
  }
  // Larger than the chunks that kernels widen their sums after.
  for (const Fill fill : {Fill::saturating, Fill::all_plus, Fill::all_minus}) {
    check(engine, reference::make(1, 16, small ? 70001 : 600011, fill, seed++), counts);
  }
  // Enough rows and panels for sums that are looked up, at their limits, and of several groups of
  // panels.
  for (const Fill fill : reference::kFills) {
    check(engine, reference::make(32, 353, 496, fill, seed++), counts);
  }
  check(engine, reference::make(32, 1601, 40, Fill::random, seed++), counts);
  // More activation rows than are worked on together, and more panels.
  check(engine, reference::make(1061, 45, 70, Fill::random, seed++), counts);
  check(engine, reference::make(515, 613, 41, Fill::random, seed++), counts);
  for (int i = 0; i < (small ? 5 : 40); ++i) {
    check(engine,
          reference::make(1 + seed * 7 % 90, 1 + seed * 13 % 120, 1 + seed * 131 % 3000,
                          Fill::random, seed),
          counts);
    ++seed;
  }
  run_grouped(engine, small, counts);
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> wanted(argv + 1, argv + argc);
  const bool small = std::erase(wanted, "--small") > 0;
  int result = 0;
  for (const TierStatus& status : tiers()) {
    const std::string name(to_string(status.tier));
    const bool named = std::find(wanted.begin(), wanted.end(), name) != wanted.end();
    if (!wanted.empty() && !named) continue;
    for (const unsigned threads : {1u, 3u}) {
      const auto engine = CpuEngine::create({status.tier, true, threads});
      if (!engine) {
        std::printf("%-12s not tested: %s\n", name.c_str(), engine.error().message.c_str());
        if (named) result = 3;
        break;
      }
      const Counts counts = run(*engine, small);
      std::printf("%-12s %u threads: %d products, %d wrong\n", name.c_str(), engine->threads(),
                  counts.products, counts.wrong);
      std::fflush(stdout);
      if (counts.wrong > 0) result = 1;
    }
  }
  return result;
}
