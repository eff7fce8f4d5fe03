#include "bench/compare/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "bench/compare/fields_compare.h"
#include "bench/noise.h"
#include "unit/products/bench/runs.h"

namespace gpuready::bench {
namespace {

const std::vector<double> kBase = {1000, 1003, 998, 1001, 999, 1002};

Side side(std::string name, const std::vector<double>& ns, const std::vector<std::size_t>& places) {
  return {std::move(name), runs_at(ns, places)};
}
Side base_side(const std::vector<double>& ns = kBase) {
  return side("base", ns, base_places(ns.size()));
}
Side candidate_side(std::vector<double> ns, double factor = 1) {
  for (double& one : ns) one *= factor;
  return side("candidate", ns, candidate_places(ns.size()));
}
const std::vector<double> kOther = {1002, 999, 1000, 1001, 1003, 998};

Comparison compared(const Side& base, const Side& candidate, CompareOptions options = {}) {
  auto result = compare(base, candidate, options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Comparison{};
}
const KpiComparison& kpi(const Comparison& comparison, Kpi wanted) {
  return comparison.stacks.at(0).kpis.at(static_cast<std::size_t>(wanted));
}

TEST(BenchCompare, FindsWhichIsFaster) {
  const auto faster = compared(base_side(), candidate_side(kOther, 1 / 1.05));
  ASSERT_EQ(faster.stacks.size(), 1u);
  EXPECT_EQ(faster.stacks[0].outcome, Outcome::faster);
  EXPECT_EQ(faster.stacks[0].reason, "better in p50, throughput");
  const auto& p50 = kpi(faster, Kpi::p50);
  EXPECT_EQ(p50.method, "trend_adjusted_t");
  EXPECT_NEAR(*p50.gain_percent, 5, 0.1);
  EXPECT_LT(*p50.low_percent, *p50.gain_percent);
  EXPECT_GT(*p50.low_percent, 0);
  EXPECT_EQ(p50.run_gains_percent.size(), 6u);
  EXPECT_NEAR(*kpi(faster, Kpi::throughput).gain_percent, 5, 0.1);
  EXPECT_EQ(compared(base_side(), candidate_side(kOther, 1.05)).stacks[0].outcome, Outcome::slower);
}

TEST(BenchCompare, SameIsWithinTheMargin) {
  const auto same = compared(base_side(), candidate_side(kOther));
  EXPECT_EQ(same.stacks[0].outcome, Outcome::same);
  // Sure and too small to matter is as good as none.
  EXPECT_EQ(compared(base_side(), candidate_side(kBase, 1.002)).stacks[0].outcome, Outcome::same);
  CompareOptions fine;
  fine.margin = 0.001;
  EXPECT_EQ(compared(base_side(), candidate_side(kBase, 1.002), fine).stacks[0].outcome,
            Outcome::slower);
}

TEST(BenchCompare, InconclusiveSaysHowManyRunsMore) {
  const auto unsure = compared(base_side({1000, 1030, 990}), candidate_side({995, 985, 1000}));
  EXPECT_EQ(unsure.stacks[0].outcome, Outcome::inconclusive);
  const auto& p50 = kpi(unsure, Kpi::p50);
  ASSERT_TRUE(p50.further_runs);
  EXPECT_GT(*p50.further_runs, 3u);
  EXPECT_EQ(unsure.stacks[0].reason,
            fmt::format("about {} more runs a side would decide", *p50.further_runs));
}

TEST(BenchCompare, OneMoreRunIsOne) {
  std::size_t found = 0;
  for (double slower = 1.02; slower < 3; slower += 0.02) {
    const auto unsure = compared(base_side({1000, 1030, 990}),
                                 candidate_side({1000 * slower, 1025 * slower, 985 * slower}));
    if (kpi(unsure, Kpi::p50).further_runs != 1u) continue;
    ++found;
    EXPECT_EQ(unsure.stacks[0].reason, "about 1 more run a side would decide");
  }
  EXPECT_GT(found, 0u);
}

TEST(BenchCompare, OneRunASideDecidesNothing) {
  // A thousand samples within one run say nothing about the next.
  Side one = base_side({1000}), other = candidate_side({500});
  one.runs[0].stacks[0].repeats[0].samples_ns.assign(1000, 1000);
  const auto unsure = compared(one, other);
  EXPECT_EQ(unsure.stacks[0].outcome, Outcome::inconclusive);
  EXPECT_TRUE(contains(unsure.stacks[0].reason, "run-to-run variation is known from 2 runs"));
  EXPECT_NEAR(*kpi(unsure, Kpi::p50).gain_percent, 100, 1e-9);
  EXPECT_FALSE(kpi(unsure, Kpi::p50).low_percent);
}

TEST(BenchCompare, RunsInBlocksAreNotTakenForPairs) {
  // A machine that warms up: each run is 1% slower than the one before.
  std::vector<double> ns;
  for (int i = 0; i < 12; ++i) ns.push_back(1000 * std::pow(1.01, i) + (i % 3) * 0.5);
  const Side before = side("before", {ns.begin(), ns.begin() + 6}, {0, 1, 2, 3, 4, 5});
  const Side after = side("after", {ns.begin() + 6, ns.end()}, {6, 7, 8, 9, 10, 11});
  const auto drifting = compared(before, after);
  EXPECT_EQ(kpi(drifting, Kpi::p50).design, "in_blocks");
  EXPECT_EQ(drifting.stacks[0].outcome, Outcome::inconclusive);
}

TEST(BenchCompare, FewRunsASideInBlocksSayNothingOfAGain) {
  const auto with = [](std::size_t runs) {
    std::vector<double> before = {20000, 22000, 24000, 22000, 22100};
    std::vector<double> after = {25500, 27500, 30500, 27000, 27600};
    before.resize(runs);
    after.resize(runs);
    return compared(side("before", before, {0, 1, 2, 3, 4}),
                    side("after", after, {10, 11, 12, 13, 14}));
  };
  const auto few = with(4);
  const auto& p50 = kpi(few, Kpi::p50);
  EXPECT_EQ(p50.outcome, Outcome::inconclusive);
  EXPECT_EQ(p50.design, "in_blocks");
  EXPECT_TRUE(p50.base_value && p50.candidate_value);
  EXPECT_FALSE(p50.gain_percent || p50.low_percent || p50.p || p50.further_runs);
  EXPECT_TRUE(p50.run_gains_percent.empty());
  EXPECT_EQ(few.stacks[0].outcome, Outcome::inconclusive);
  EXPECT_TRUE(contains(few.stacks[0].reason, "4 and 4 runs, one side after the other"))
      << few.stacks[0].reason;
  // The gain is that of the two values of its line, whatever a drift explains.
  const auto enough = kpi(with(5), Kpi::p50);
  EXPECT_NEAR(*enough.gain_percent, (*enough.base_value / *enough.candidate_value - 1) * 100, 1e-9);
  EXPECT_LT(*enough.gain_percent, -15);
}

// A base of 20 or 80 us: no interval from three runs tells anything.
TEST(BenchCompare, AnIntervalOfNoUseIsNamedSo) {
  const auto wild = kpi(
      compared(base_side({20000, 80000, 21000}), candidate_side({70000, 20000, 90000})), Kpi::p50);
  ASSERT_TRUE(wild.runs_for_interval);
  EXPECT_GT(*wild.runs_for_interval, 3u);
  EXPECT_FALSE(kpi(compared(base_side(), candidate_side(kOther)), Kpi::p50).runs_for_interval);
}

TEST(BenchCompare, P95NeedsItsSamples) {
  const auto with = [](std::size_t samples) {
    Side base = base_side(), candidate = candidate_side(kOther);
    for (Side* side : {&base, &candidate})
      for (auto& run : side->runs) {
        auto& ns = run.stacks[0].repeats[0].samples_ns;
        const double level = ns[0];
        ns.clear();
        for (std::size_t i = 0; i < samples; ++i) ns.push_back(level + double(i % 10));
      }
    return kpi(compared(base, candidate), Kpi::p95);
  };
  EXPECT_FALSE(with(199).p);
  EXPECT_EQ(with(199).reason, "no run has it; it needs 200 samples a run");
  EXPECT_TRUE(with(200).p);
}

TEST(BenchCompare, WhatAStackSaysOfItsMemoryIsNotHeldAgainstWhatIsSeen) {
  Side base = base_side(), candidate = candidate_side(kOther);
  for (auto& run : base.runs) run.stacks[0].repeats[0].memory_peak_bytes = 1ull << 30;
  for (auto& run : candidate.runs) run.stacks[0].repeats[0].self_memory_peak_bytes = 1 << 20;
  EXPECT_EQ(kpi(compared(base, candidate), Kpi::memory).reason, "no run of the base has it");
  for (auto& run : candidate.runs) run.stacks[0].repeats[0].memory_peak_bytes = 2ull << 30;
  EXPECT_EQ(kpi(compared(base, candidate), Kpi::memory).outcome, Outcome::slower);
  EXPECT_NEAR(*kpi(compared(base, candidate), Kpi::memory).gain_percent, -50, 1e-9);
}

TEST(BenchCompare, BetterHereAndWorseThereIsNoVerdict) {
  Side base = base_side(), candidate = candidate_side(kOther, 0.9);
  for (auto& run : base.runs) run.stacks[0].repeats[0].memory_peak_bytes = 1ull << 30;
  for (auto& run : candidate.runs) run.stacks[0].repeats[0].memory_peak_bytes = 2ull << 30;
  const auto mixed = compared(base, candidate);
  EXPECT_EQ(mixed.stacks[0].outcome, Outcome::inconclusive);
  EXPECT_EQ(mixed.stacks[0].reason, "better in p50, throughput, worse in memory");
}

std::string differs(const std::function<void(RunRecord&)>& change) {
  Side candidate = candidate_side(kOther, 0.5);
  for (auto& run : candidate.runs) change(run);
  const auto result = compared(base_side(), candidate);
  EXPECT_EQ(result.refused(), result.stacks.empty());
  std::string text;
  for (const auto& difference : result.differences)
    text += (difference.refused ? "!" : "") + difference.what + " ";
  return text;
}

TEST(BenchCompare, RefusesWhatCannotBeComparedAndSaysWhatDiffers) {
  EXPECT_EQ(differs([](RunRecord&) {}), "");
  EXPECT_EQ(differs([](RunRecord& run) { run.environment.gpus[0].uuid = "GPU-2"; }), "!gpu ");
  EXPECT_EQ(differs([](RunRecord& run) { run.environment.driver_version = "590.1"; }), "!driver ");
  EXPECT_EQ(differs([](RunRecord& run) { run.workload.shape["batch"] = 65; }), "!workload ");
  EXPECT_EQ(differs([](RunRecord& run) { run.workload.dtype = "fp16"; }), "!dtype ");
  EXPECT_EQ(differs([](RunRecord& run) { run.workload.device = "cpu"; }), "!device ");
  EXPECT_EQ(differs([](RunRecord& run) { run.protocol.origin = "nvbench"; }), "!protocol ");
  EXPECT_EQ(differs([](RunRecord& run) { run.environment.cpu_model = "EPYC"; }), "!cpu ");
  EXPECT_EQ(differs([](RunRecord& run) { run.environment.cpu_cores = 2; }), "!cpu ");
  EXPECT_EQ(differs([](RunRecord& run) { run.environment.cpu_governor = "powersave"; }), "!cpu ");
  EXPECT_EQ(differs([](RunRecord& run) { run.environment.cpu_limit = 1.5; }), "!cpu ");
  EXPECT_EQ(differs([](RunRecord& run) { run.protocol.locked_mhz = 1980; }), "!protocol ");
  EXPECT_EQ(differs([](RunRecord& run) { run.environment.cpu_affinity = "0-3"; }), "!cpu ");
  EXPECT_EQ(differs([](RunRecord& run) { run.environment.kernel_release = "6.1"; }), "kernel ");
  EXPECT_EQ(differs([](RunRecord& run) { run.protocol.repeats = 50; }), "!protocol ");
  EXPECT_EQ(differs([](RunRecord& run) { run.environment.variables["ANY"] = "1"; }), "ANY ");
  EXPECT_EQ(differs([](RunRecord& run) { run.git_dirty = true; }), "commit ");
  const auto stack = [](auto change) {
    return [change](RunRecord& run) { change(run.stacks[0]); };
  };
  EXPECT_EQ(differs(stack([](StackResult& it) { it.versions["torch"] = "2.9"; })),
            "gpuready versions ");
  EXPECT_EQ(differs(stack([](StackResult& it) { it.mode = "proxy"; })), "gpuready mode ");
  EXPECT_EQ(differs(stack([](StackResult& it) { it.repeats[0].conditions.sm_mhz = 1980; })), "");
  EXPECT_EQ(differs(stack([](StackResult& it) { it.command = {"b.py"}; })), "flags ");
  // What each run has of its own.
  EXPECT_EQ(differs([](RunRecord& run) {
              run.tag = "other";
              run.id += "x";
              run.idea = "POOL";
              run.protocol.seed = 7;
              run.roofline = {.flops_per_s = 1e12, .bytes_per_s = {}};
              run.notes = {"a note"};
              run.stacks[0].reason = "1 of 5 repeats failed";
            }),
            "");
}

// A figure that each run reads never repeats: the means of the sides are held against a limit.
TEST(BenchCompare, RefusesLoadsThatDiffer) {
  const auto at_load = [](Side side, const std::vector<double>& percents) {
    for (std::size_t i = 0; i < percents.size(); ++i) side.runs[i].load = Load{percents[i], 1, {}};
    return side;
  };
  const std::vector<double> quiet = {1, 0, 2, 1, 0, 2}, busy = {97, 99, 98, 97, 99, 98},
                            changing = {0, 60, 0, 60, 0, 60}, changing_too = {60, 0, 60, 0, 60, 20};
  const auto differences = [&](const std::vector<double>& ours, const std::vector<double>& theirs) {
    return compared(at_load(base_side(), ours), at_load(candidate_side(kOther), theirs))
        .differences;
  };
  const auto found = differences(quiet, busy);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, "load");
  EXPECT_TRUE(found[0].refused);
  EXPECT_TRUE(found[0].measured);
  EXPECT_FALSE(found[0].mixed);
  EXPECT_EQ(found[0].base, "others_cpu_percent 1");
  EXPECT_EQ(found[0].candidate, "others_cpu_percent 98");
  EXPECT_TRUE(differences(busy, busy).empty());
  EXPECT_TRUE(differences(changing, changing_too).empty());
  EXPECT_TRUE(differences(quiet, {}).empty());  // runs of earlier versions do not know

  Side used = at_load(candidate_side(kOther), quiet);
  for (auto& run : used.runs) run.load->gpu_processes = 2;
  EXPECT_EQ(compared(at_load(base_side(), quiet), used).differences[0].candidate,
            "gpu_processes 2");
  CompareOptions allowing;
  allowing.allowed = {"load"};
  EXPECT_FALSE(compared(at_load(base_side(), quiet), used, allowing).refused());
}

TEST(BenchCompare, LoadsMayDifferByTheirLimit) {
  const auto differ = [](auto member, auto ours, auto theirs) {
    Side base = base_side(), candidate = candidate_side(kOther);
    for (auto& run : base.runs) run.load.emplace().*member = ours;
    for (auto& run : candidate.runs) run.load.emplace().*member = theirs;
    const auto found = compared(base, candidate).differences;
    const auto reversed = compared(candidate, base).differences;
    EXPECT_EQ(found.size(), reversed.size());
    return !found.empty();
  };
  EXPECT_FALSE(differ(&Load::others_cpu_percent, 5.0, 25.0));
  EXPECT_TRUE(differ(&Load::others_cpu_percent, 5.0, 25.5));
  EXPECT_FALSE(differ(&Load::gpu_percent, 5.0, 15.0));
  EXPECT_TRUE(differ(&Load::gpu_percent, 5.0, 15.5));
  EXPECT_FALSE(differ(&Load::gpu_processes, 1u, 1u));
  EXPECT_TRUE(differ(&Load::gpu_processes, 1u, 2u));
}

TEST(BenchCompare, ADifferenceNamesWhatDiffersAlone) {
  Side base = base_side(), candidate = candidate_side(kOther);
  for (auto& run : candidate.runs) {
    run.workload.name = "gemm";
    run.workload.shape["batch"] = 128;
    run.environment.variables["NEW"] = "a";
  }
  base.runs[1].environment.variables["NEW"] = "b";
  const auto refused = compared(base, candidate);
  ASSERT_EQ(refused.differences.size(), 2u);
  EXPECT_EQ(refused.differences[0].base, "mlp, batch 64");
  EXPECT_EQ(refused.differences[0].candidate, "gemm, batch 128");
  EXPECT_TRUE(refused.differences[0].refused);
  EXPECT_EQ(refused.differences[1].base, "\"b\" and not set");
  EXPECT_EQ(refused.differences[1].candidate, "\"a\"");
  EXPECT_TRUE(refused.differences[1].mixed);
}

TEST(BenchCompare, WhatDoesNotCountIsCountedAndTold) {
  Side base = base_side(), candidate = candidate_side(kOther);
  for (auto& run : base.runs) {
    auto& repeats = run.stacks[0].repeats;
    repeats.assign(5, repeats[0]);
  }
  auto& stack = base.runs[3].stacks[0];
  stack.repeats[1].status = stack.repeats[4].status = StackStatus::error;
  stack.repeats[1].reason = "exit code 9";
  stack.repeats[2].status = StackStatus::different_work;
  base.runs[4].stacks.clear();
  const auto result = compared(base, candidate);
  const Losses& losses = result.stacks[0].base_losses;
  EXPECT_EQ(losses.runs, 6u);
  EXPECT_EQ(losses.lost_runs, 1u);
  EXPECT_EQ(losses.repeats, 25u);
  EXPECT_EQ(losses.lost_repeats, 3u);
  EXPECT_EQ(losses.failures, 3u);
  EXPECT_EQ(losses.reasons,
            (std::vector<std::string>{"1 of 6 runs of gpuready is missing",
                                      "2 of 25 repeats of gpuready failed: exit code 9",
                                      "1 of 25 repeats of gpuready did other work"}));
  EXPECT_FALSE(result.stacks[0].candidate_losses.any());
  EXPECT_EQ(kpi(result, Kpi::p50).base_runs, 5u);
}

TEST(BenchCompare, EqualMemoryIsTheSame) {
  Side base = base_side({1000, 1003}), candidate = candidate_side({1002, 999});
  for (Side* side : {&base, &candidate})
    for (auto& run : side->runs) run.stacks[0].repeats[0].memory_peak_bytes = 64 << 20;
  // Two runs a side and pages of 2 MiB: by intervals alone it would not be decided.
  EXPECT_EQ(kpi(compared(base, candidate), Kpi::memory).outcome, Outcome::same);
  base.runs[0].stacks[0].repeats[0].memory_peak_bytes = 66 << 20;
  EXPECT_EQ(kpi(compared(base, candidate), Kpi::memory).outcome, Outcome::inconclusive);
}

TEST(BenchCompare, ARunWithinASideThatDiffersRefusesToo) {
  Side base = base_side();
  base.runs[2].environment.driver_version = "590.1";
  const auto refused = compared(base, candidate_side(kOther));
  ASSERT_TRUE(refused.refused());
  EXPECT_EQ(refused.differences[0].base, "580.65.06 and 590.1");
}

TEST(BenchCompare, AllowedDifferencesAreToldAndNotRefused) {
  Side candidate = candidate_side(kOther, 0.5);
  for (auto& run : candidate.runs) run.environment.driver_version = "590.1";
  CompareOptions options;
  options.allowed = {"driver"};
  const auto result = compared(base_side(), candidate, options);
  EXPECT_FALSE(result.refused());
  EXPECT_EQ(result.differences.size(), 1u);
  EXPECT_EQ(result.stacks[0].outcome, Outcome::faster);
}

TEST(BenchCompare, NormalisedFiguresAreSharesOfTheRoofline) {
  // Twice the time on a machine of half the speed is the same share.
  Side base = base_side(), candidate = candidate_side(kOther, 2);
  for (Side* side : {&base, &candidate})
    for (auto& run : side->runs) run.workload.flops = 1'000'000;
  for (auto& run : base.runs) run.roofline = {.flops_per_s = 2e12, .bytes_per_s = {}};
  for (auto& run : candidate.runs) run.environment.gpus[0] = {"NVIDIA L4", "GPU-9"};
  CompareOptions options;
  options.normalise = true;
  const auto without = compare(base, candidate, options);
  ASSERT_FALSE(without);
  EXPECT_TRUE(contains(without.error().message, "of candidate has no roofline"));
  for (auto& run : candidate.runs) run.roofline = {.flops_per_s = 1e12, .bytes_per_s = {}};
  const auto result = compared(base, candidate, options);
  EXPECT_EQ(result.stacks[0].outcome, Outcome::same);
  EXPECT_NEAR(*kpi(result, Kpi::p50).gain_percent, 0, 0.2);
  EXPECT_NEAR(*kpi(result, Kpi::throughput).gain_percent, 0, 0.2);
}

// A share of each machine's roofline may come from another machine, and from no other work.
TEST(BenchCompare, OnlyDifferencesOfTheMachineAreNormalised) {
  struct Row {
    const char* what;
    void (*change)(RunRecord& run);
    bool is_machine;
  };
  for (const Row& row :
       {Row{"gpu", [](RunRecord& run) { run.environment.gpus[0] = {"NVIDIA L4", "GPU-9"}; }, true},
        Row{"driver", [](RunRecord& run) { run.environment.driver_version = "590.1"; }, true},
        Row{"cpu", [](RunRecord& run) { run.environment.cpu_model = "another"; }, true},
        Row{"dtype", [](RunRecord& run) { run.workload.dtype = "fp16"; }, false}})
    for (const bool normalise : {false, true}) {
      Side base = base_side(), candidate = candidate_side(kOther);
      for (auto& run : base.runs) run.environment.cpu_model = "one";
      for (auto& run : candidate.runs) {
        run.environment.cpu_model = "one";
        row.change(run);
      }
      for (Side* side : {&base, &candidate})
        for (auto& run : side->runs) {
          run.workload.flops = 1'000'000;
          run.roofline = {.flops_per_s = 2e12, .bytes_per_s = {}};
        }
      CompareOptions options;
      options.normalise = normalise;
      const auto result = compared(base, candidate, options);
      ASSERT_EQ(result.differences.size(), 1u) << row.what;
      EXPECT_EQ(result.differences[0].what, row.what);
      EXPECT_EQ(result.refused(), !(normalise && row.is_machine)) << row.what << normalise;
    }
}

TEST(BenchCompare, StacksAreComparedByName) {
  Side base = base_side(), candidate = candidate_side(kOther);
  for (auto& run : candidate.runs) run.stacks[0].id = "tvm";
  EXPECT_EQ(compared(base, candidate).stacks[0].candidate_stack, "tvm");  // one a side
  for (auto& run : base.runs) {
    run.stacks.push_back(run.stacks[0]);
    run.stacks[1].id = "xla";
  }
  const auto none = compare(base, candidate, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "base and candidate have no stack in common: gpuready, xla against tvm; name two with "
            "--stack A=B");
  CompareOptions options;
  options.stacks = {"xla=tvm"};
  EXPECT_EQ(compared(base, candidate, options).stacks[0].base_stack, "xla");
  options.stacks = {"glow=tvm"};
  EXPECT_EQ(compare(base, candidate, options).error().message,
            "base has no result of the stack glow; it has gpuready, xla");
}

TEST(BenchCompare, AStackWithoutADigestIsComparedWithItselfOnly) {
  Side base = base_side(), candidate = candidate_side(kOther, 0.9);
  for (auto& run : candidate.runs) run.stacks[0].unverified = true;
  EXPECT_FALSE(compare(base, candidate, CompareOptions()));
  for (auto& run : base.runs) run.stacks[0].unverified = true;
  EXPECT_EQ(compared(base, candidate).stacks.at(0).outcome, Outcome::faster);
  for (auto& run : candidate.runs) run.stacks[0].id = "other";
  CompareOptions options;
  options.stacks = {"gpuready=other"};
  const auto other = compare(base, candidate, options);
  ASSERT_FALSE(other);
  EXPECT_TRUE(contains(other.error().message, "gave no digest")) << other.error().message;
}

// Thirty earlier runs that vary as these six do.
TEST(BenchCompare, TheNoiseIsLearnedFromEarlierRuns) {
  const Side base = base_side(), candidate = candidate_side(kOther, 0.97);
  CompareOptions options;
  options.earlier.push_back({workload_key(base.runs[0].workload),
                             "bf16",
                             "cuda",
                             "gpuready",
                             base.runs[0].environment.fingerprint(),
                             Kpi::p50,
                             {}});
  for (int i = 0; i < 30; ++i)
    options.earlier[0].runs.push_back({"old" + std::to_string(i), "old", i % 2 ? 1020.0 : 1000.0});
  const auto width = [&](const CompareOptions& with) {
    const auto p50 = kpi(compared(base, candidate, with), Kpi::p50);
    return std::pair(*p50.high_percent - *p50.low_percent, p50.learned);
  };
  // Noise of 1% that these runs do not show is not taken from them.
  const auto [noisy, not_used] = width(options);
  EXPECT_EQ(not_used, "");
  for (auto& run : options.earlier[0].runs) run.value = run.value > 1000 ? 1002.6 : 1000;
  const auto [learned, from] = width(options);
  EXPECT_EQ(from, "30 earlier runs of this machine");
  options.learn = false;
  const auto [own, nothing] = width(options);
  EXPECT_EQ(nothing, "");
  EXPECT_LT(learned, own);
  EXPECT_EQ(noisy, own);
  options.learn = true;
  // Of other work, another stack or another machine nothing is learned.
  for (const auto& [member, other] : {std::pair{&EarlierSeries::workload, "gemm"},
                                      {&EarlierSeries::dtype, "fp16"},
                                      {&EarlierSeries::device, "cpu"},
                                      {&EarlierSeries::stack, "tvm"},
                                      {&EarlierSeries::fingerprint, "another machine"}}) {
    CompareOptions unlike = options;
    unlike.earlier[0].*member = other;
    EXPECT_EQ(width(unlike), std::pair(own, std::string())) << other;
  }
  options.earlier[0].kpi = Kpi::p95;
  EXPECT_EQ(width(options), std::pair(own, std::string()));
}

// Of fewer than three others each may be another kind of program.
TEST(BenchCompare, TheNoiseIsLearnedFromThreeOtherStacks) {
  const auto five = [](const std::vector<double>& ns) {
    return std::vector(ns.begin(), ns.begin() + 5);
  };
  for (const std::size_t stacks : {3u, 4u}) {
    Side base = base_side(five(kBase)), candidate = candidate_side(five(kOther), 0.97);
    for (auto* side : {&base, &candidate})
      for (auto& run : side->runs)
        while (run.stacks.size() < stacks) {
          run.stacks.push_back(run.stacks[0]);
          run.stacks.back().id = fmt::format("other-{}", run.stacks.size());
        }
    const auto result = compared(base, candidate);
    ASSERT_EQ(result.stacks.size(), stacks);
    for (const auto& stack : result.stacks)
      for (const auto& each : stack.kpis)
        EXPECT_EQ(each.learned, stacks > 3 && each.p ? "the other stacks of these runs" : "")
            << stacks << name_of(each.kpi);
  }
}

// Listed from 3% on; the idea itself may be why, so that it is not refused.
TEST(BenchCompare, ClocksThatDifferAreListed) {
  Side base = base_side(), candidate = candidate_side(kOther, 0.5);
  const auto listed = [&](double mhz) {
    for (auto& run : base.runs) run.stacks[0].repeats[0].conditions.sm_mhz = 1980;
    for (auto& run : candidate.runs) run.stacks[0].repeats[0].conditions.sm_mhz = mhz;
    std::string text;
    for (const auto& one : compared(base, candidate).differences)
      text += fmt::format("{}{}: {} against {}", one.refused ? "!" : "", one.what, one.base,
                          one.candidate);
    return text;
  };
  EXPECT_EQ(listed(1940), "");
  EXPECT_EQ(listed(1900), "gpuready sm_mhz: 1980 against 1900");
}

TEST(BenchCompare, TwoLevelsAreTwoFigures) {
  const Side base = base_side({1000, 1100, 1001, 1101, 1000, 1102});
  const auto p50 = kpi(compared(base, candidate_side(kOther)), Kpi::p50);
  ASSERT_EQ(p50.base_states.size(), 2u);
  EXPECT_NEAR(p50.base_states[0], 1000, 1);
  EXPECT_NEAR(p50.base_states[1], 1101, 1);
  EXPECT_TRUE(p50.candidate_states.empty());
}

// Whether three pairs without a difference are called faster or slower.
bool is_decided(const SimulatedNoise& noise, std::uint64_t seed, const CompareOptions& options) {
  const auto sides = simulate(noise, Order::alternating, 3, 0, seed, 1);
  const auto result = compared(sides.base, sides.candidate, options);
  return std::ranges::any_of(result.stacks[0].kpis, [](const auto& one) {
    return one.outcome == Outcome::faster || one.outcome == Outcome::slower;
  });
}

// Earlier runs teach their levels, too. Random clocks 10% apart put all three runs of a side at one
// of them and those of the other at the other in 3% of comparisons; 1% is stated.
TEST(BenchCompare, EarlierRunsAtTwoLevelsLetNoThreeRunsDecide) {
  constexpr SimulatedNoise kClocks{.name = "", .white = 0.003, .states = 0.1};
  constexpr int kTrials = 1500;
  int decided = 0;
  for (std::uint64_t seed = 1; seed <= kTrials; ++seed) {
    CompareOptions options;
    options.earlier = earlier(kClocks, 10, 7919 * seed, 1);
    decided += is_decided(kClocks, 7919 * seed + 1, options);
  }
  EXPECT_LE(decided, kTrials * 0.01 + 3 * std::sqrt(kTrials * 0.01 * 0.99));
}

// States need not be clocks, nor near each other.
TEST(BenchCompare, NoClockLetsThreeRunsDecideBetweenTwoStates) {
  constexpr int kTrials = 1000;
  for (const auto& noise :
       {SimulatedNoise{.name = "clock read", .white = 0.003, .states = 0.1, .sm_mhz = 1980},
        SimulatedNoise{.name = "40%", .white = 0.003, .states = 0.4}}) {
    int decided = 0;
    for (std::uint64_t seed = 1; seed <= kTrials; ++seed)
      decided += is_decided(noise, 7919 * seed + 1, {});
    EXPECT_LE(decided, kTrials * 0.01 + 3 * std::sqrt(kTrials * 0.01 * 0.99)) << noise.name;
  }
}

// Ten runs in five configurations, each of two at once fast and once slow, or all at one level.
TEST(BenchCompare, EarlierRunsAtOneLevelLetThreeRunsDecide) {
  const Side base = base_side({1000, 1001, 999}), candidate = candidate_side({900, 901, 899});
  CompareOptions options;
  options.earlier.push_back({workload_key(base.runs[0].workload),
                             "bf16",
                             "cuda",
                             "gpuready",
                             base.runs[0].environment.fingerprint(),
                             Kpi::p50,
                             {}});
  auto& runs = options.earlier[0].runs;
  for (int i = 0; i < 15; ++i)
    runs.push_back({"old" + std::to_string(i), "tag" + std::to_string(i / 3), 1000.0 + i % 3});
  EXPECT_EQ(kpi(compared(base, candidate, options), Kpi::p50).outcome, Outcome::faster);
  for (std::size_t i = 0; i < runs.size(); i += 3) runs[i].value = 1250;
  const auto unknown = kpi(compared(base, candidate, options), Kpi::p50);
  EXPECT_EQ(unknown.outcome, Outcome::inconclusive);
  EXPECT_EQ(unknown.reason,
            "too few runs to tell a difference from a machine with two states (3 of at least 5); "
            "earlier runs lie at two levels 25% apart");
  // Levels that are so far apart may look like a gain of 25%.
  EXPECT_EQ(kpi(compared(base, candidate_side({800, 801, 799}), options), Kpi::p50).outcome,
            Outcome::inconclusive);
}

// Of two equal states, all of eight runs are in the same one in 1 of 128 cases. A tag's first run
// says nothing: each tag is another configuration.
TEST(BenchCompare, EightEarlierRunsAtOneLevelShowThatThereAreNoTwoStates) {
  const Side base = base_side({1000, 1001, 999}), candidate = candidate_side({900, 901, 899});
  struct Row {
    std::vector<int> runs_of_tags;
    bool enough;
  };
  for (const auto& [runs_of_tags, enough] : std::initializer_list<Row>{
           {{8}, true}, {{7}, false}, {{4, 5}, true}, {{4, 4}, false}, {{3, 3, 4}, true}}) {
    EarlierSeries series{workload_key(base.runs[0].workload),    "bf16",   "cuda", "gpuready",
                         base.runs[0].environment.fingerprint(), Kpi::p50, {}};
    for (std::size_t tag = 0; tag < runs_of_tags.size(); ++tag)
      for (int i = 0; i < runs_of_tags[tag]; ++i)
        series.runs.push_back(
            {fmt::format("old{}-{}", tag, i), fmt::format("tag{}", tag), 1000.0 + i % 3});
    CompareOptions options;
    options.earlier.push_back(std::move(series));
    const auto p50 = kpi(compared(base, candidate, options), Kpi::p50);
    EXPECT_EQ(p50.outcome, enough ? Outcome::faster : Outcome::inconclusive)
        << runs_of_tags.size() << " tags, " << runs_of_tags[0] << " runs";
    EXPECT_EQ(p50.runs_for_states.has_value(), !enough);
  }
}

// The stack "tvm" beside what is there, as each run has it.
void add_stack(Side& side, StackStatus status, const std::string& reason = "") {
  for (auto& run : side.runs) {
    StackResult stack = run.stacks[0];
    stack.id = "tvm";
    stack.status = status;
    stack.reason = reason;
    run.stacks.push_back(std::move(stack));
  }
}

TEST(BenchCompare, AStackThatTheCandidateLostIsTold) {
  for (const auto status :
       {StackStatus::error, StackStatus::different_work, StackStatus::not_believable,
        StackStatus::no_valid_samples, StackStatus::unavailable}) {
    Side base = base_side(), candidate = candidate_side(kOther, 0.9);
    add_stack(base, StackStatus::ok);
    add_stack(candidate, status, "boom");
    const auto result = compared(base, candidate);
    ASSERT_EQ(result.stacks.size(), 2u);
    EXPECT_EQ(result.stacks[0].outcome, Outcome::faster);
    EXPECT_EQ(result.stacks[1].outcome, Outcome::lost);
    EXPECT_TRUE(result.stacks[1].kpis.empty());
    EXPECT_EQ(result.stacks[1].candidate_losses.lost_runs, 6u);
    EXPECT_TRUE(contains(result.stacks[1].reason, "boom")) << result.stacks[1].reason;
  }
  Side base = base_side();
  add_stack(base, StackStatus::ok);
  const auto gone = compared(base, candidate_side(kOther, 0.9));
  ASSERT_EQ(gone.stacks.size(), 2u);
  EXPECT_EQ(gone.stacks[1].outcome, Outcome::lost);
  EXPECT_EQ(gone.stacks[1].reason,
            "no run of the candidate has a figure of it: 6 of 6 runs of tvm are missing");
}

TEST(BenchCompare, AStackThatTheBaseLacksDecidesNothing) {
  Side base = base_side(), candidate = candidate_side(kOther, 0.9);
  add_stack(candidate, StackStatus::ok);
  const auto result = compared(base, candidate);
  ASSERT_EQ(result.stacks.size(), 2u);
  EXPECT_EQ(result.stacks[1].outcome, Outcome::inconclusive);
  // It does not share the error that the other stack may spend.
  EXPECT_EQ(kpi(result, Kpi::p50).adjusted_p,
            kpi(compared(base_side(), candidate_side(kOther, 0.9)), Kpi::p50).adjusted_p);
  add_stack(base, StackStatus::error, "boom");
  EXPECT_EQ(compared(base, candidate).stacks[1].reason,
            "no run of the base has a figure of it: 6 of 6 runs of tvm failed: boom");
}

TEST(BenchCompare, WhatCouldBeRunOnNeitherSideIsNoLoss) {
  Side base = base_side(), candidate = candidate_side(kOther, 0.9);
  add_stack(base, StackStatus::unavailable);
  EXPECT_EQ(compared(base, candidate).stacks.size(), 1u);
  add_stack(candidate, StackStatus::unavailable);
  EXPECT_EQ(compared(base, candidate).stacks.size(), 1u);
}

TEST(BenchCompare, StacksOfOtherNamesAreHeldAgainstEachOtherOnlyWhereEachSideHasOne) {
  Side base = base_side(), candidate = candidate_side(kOther, 0.9);
  add_stack(base, StackStatus::error, "boom");
  add_stack(candidate, StackStatus::ok);
  for (auto& run : candidate.runs) run.stacks[0].status = StackStatus::error;
  const auto result = compared(base, candidate);
  ASSERT_EQ(result.stacks.size(), 2u);
  EXPECT_EQ(result.stacks[0].candidate_stack, "gpuready");
  EXPECT_EQ(result.stacks[0].outcome, Outcome::lost);
  EXPECT_EQ(result.stacks[1].outcome, Outcome::inconclusive);
}

TEST(BenchCompare, TheOnlyStackIsLostToo) {
  Side base = base_side(), candidate = candidate_side(kOther, 0.5);
  for (auto& run : candidate.runs) run.stacks[0].status = StackStatus::different_work;
  const auto result = compared(base, candidate);
  EXPECT_EQ(result.stacks[0].outcome, Outcome::lost);
  EXPECT_EQ(result.stacks[0].reason,
            "no run of the candidate has a figure of it: 6 of 6 runs of gpuready did other work");
}

TEST(BenchCompare, NamesOfStacksMayHoldEqualsSignsAndCommas) {
  Side base = base_side(), candidate = candidate_side(kOther);
  add_stack(base, StackStatus::ok);
  add_stack(candidate, StackStatus::ok);
  for (Side* side : {&base, &candidate})
    for (auto& run : side->runs) {
      run.stacks[0].id = "n_prompt=512 n_gen=0";
      run.stacks[1].id = "BM_Copy<int, 4>/n=8";
    }
  const auto pairs = [&](std::string name) {
    CompareOptions options;
    options.stacks = {std::move(name)};
    std::vector<std::string> texts;
    const auto result = compare(base, candidate, options);
    if (!result) return result.error().message;
    for (const auto& stack : result->stacks)
      texts.push_back(stack.base_stack + " -> " + stack.candidate_stack);
    return join(texts, "; ");
  };
  const std::string llama = "n_prompt=512 n_gen=0", copy = "BM_Copy<int, 4>/n=8";
  EXPECT_EQ(pairs(llama), llama + " -> " + llama);
  EXPECT_EQ(pairs(copy), copy + " -> " + copy);
  EXPECT_EQ(pairs(llama + "=" + copy), llama + " -> " + copy);
  EXPECT_EQ(pairs(copy + "," + llama), copy + " -> " + copy + "; " + llama + " -> " + llama);
  EXPECT_EQ(pairs(copy + "=" + llama + "," + copy),
            copy + " -> " + llama + "; " + copy + " -> " + copy);
  EXPECT_EQ(pairs("nope"), "base has no result of the stack nope; it has " + llama + ", " + copy);
  EXPECT_EQ(pairs(llama + ",nope"),
            "base has no result of the stack nope; it has " + llama + ", " + copy);
}

TEST(BenchCompare, ASideWithoutRunsIsAnError) {
  EXPECT_EQ(compare({"none", {}}, base_side(), {}).error().message, "none holds no run");
}

}  // namespace
}  // namespace gpuready::bench
