#include "report/obligations.h"

#include <gtest/gtest.h>

#include <functional>

#include "report/conclude.h"
#include "unit/report/healthy.h"

namespace gpuready {
namespace {

using enum ObligationKind;
using Status = ObligationStatus;

const Obligation& owed(const Report& report, ObligationKind kind, std::size_t gpu = 0) {
  return report.obligations.at(gpu).at(static_cast<std::size_t>(kind));
}

Verdict& verdict_of(Report& report, std::string_view test) {
  for (Verdict& verdict : *report.verdicts)
    if (verdict.test == test) return verdict;
  report.verdicts->push_back(passed_on(report.machine.gpus[0], std::string(test)));
  return report.verdicts->back();
}

void find(Report& report, std::string id, Severity severity) {
  Finding& finding = report.findings->emplace_back();
  finding.id = std::move(id);
  finding.severity = severity;
  finding.title = "It is so";
  finding.gpus = {0};
}

void fail_slowly(Verdict& verdict, std::string metric) {
  verdict.status = VerdictStatus::failed;
  verdict.metrics = {{std::move(metric), 1, "B/s", 2, "the link"}};
}

// What is made of a healthy H100, what that is expected to do to one obligation, and the exit code.
struct Row {
  std::string what;
  std::function<void(Report&)> make;
  ObligationKind kind;
  Status status;
  Exit exit;
  Asked asked = {};
};
const Asked kStandard{.level = Level::standard};

const Row kRows[] = {
    {"nothing", [](Report&) {}, integrity, Status::held, Exit::ok},
    {"half of the memory told", [](Report& r) { r.verdicts->at(0).coverage->total_bytes = 40 * GiB; },
     identity, Status::broken, Exit::unhealthy},
    {"half of the SMs told", [](Report& r) { verdict_of(r, "compute").units->total = 66; }, identity,
     Status::broken, Exit::unhealthy},
    {"no NVML",
     [](Report& r) {
       r.machine.nvidia.nvml_start.reset();
       r.machine.gpus[0].memory.total_bytes.reset();
     },
     identity, Status::not_judged, Exit::ok},
    {"NVML hangs",
     [](Report& r) {
       r.machine.nvidia.nvml_start.reset();
       r.machine.nvidia.nvml_outcome = "timed_out";
       r.machine.gpus[0].memory.total_bytes.reset();
     },
     identity, Status::not_judged, Exit::unhealthy},  // as ever where a driver hangs
    {"wrong words",
     [](Report& r) {
       r.verdicts->at(0).status = VerdictStatus::failed;
       r.verdicts->at(0).bad_words_total = 1;
     },
     integrity, Status::broken, Exit::unhealthy},
    {"code refused", [](Report& r) { verdict_of(r, "compute").status = VerdictStatus::not_supported; },
     integrity, Status::not_judged, Exit::unknown},
    {"compute timed out", [](Report& r) { verdict_of(r, "compute").status = VerdictStatus::timed_out; },
     integrity, Status::not_judged, Exit::unknown},
    {"a neighbour's 30 GiB unseen by NVML",
     [](Report& r) { r.verdicts->at(0).coverage->tested_bytes = 45 * GiB; }, coverage,
     Status::not_judged, Exit::unknown},
    {"a display's memory, as NVML tells",
     [](Report& r) {
       r.machine.gpus[0].memory.used_bytes = 5 * GiB;
       r.verdicts->at(0).coverage->tested_bytes = 74 * GiB;
     },
     coverage, Status::held, Exit::ok},
    {"with --busy", [](Report& r) { r.verdicts->at(0).coverage->tested_bytes = 45 * GiB; }, coverage,
     Status::not_judged, Exit::ok, {.busy = true}},
    {"--busy, and all required",
     [](Report& r) { r.verdicts->at(0).coverage->tested_bytes = 45 * GiB; }, coverage,
     Status::not_judged, Exit::unknown, {.busy = true, .required = {coverage}}},
    {"held at its brake", [](Report& r) { verdict_of(r, "clocks").status = VerdictStatus::failed; },
     clock, Status::broken, Exit::unhealthy},
    {"slow for a part of the time",
     [](Report& r) { verdict_of(r, "clocks").metrics = {{"slow_share", 0.3, "1", 0.1, "ours"}}; },
     clock, Status::degraded, Exit::unhealthy},
    {"the same, accepted",
     [](Report& r) { verdict_of(r, "clocks").metrics = {{"slow_share", 0.3, "1", 0.1, "ours"}}; },
     clock, Status::degraded, Exit::ok, {.accepted = {{clock}}}},
    {"the same, accepted of another GPU",
     [](Report& r) { verdict_of(r, "clocks").metrics = {{"slow_share", 0.3, "1", 0.1, "ours"}}; },
     clock, Status::degraded, Exit::unhealthy, {.accepted = {{clock, "7"}}}},
    {"a clock not judged",
     [](Report& r) { std::erase_if(*r.verdicts, [](auto& v) { return v.test == "clocks"; }); },
     clock, Status::not_judged, Exit::unknown},
    {"slower than its siblings", [](Report& r) { find(r, "slower-than-siblings", Severity::warning); },
     clock, Status::degraded, Exit::unhealthy},
    {"slow memory", [](Report& r) { fail_slowly(r.verdicts->at(0), "write_rate"); }, clock,
     Status::broken, Exit::unhealthy},
    {"a narrow link", [](Report& r) { find(r, "pcie-link-degraded", Severity::warning); }, host_link,
     Status::degraded, Exit::unhealthy},
    {"an unseen link", [](Report& r) { r.machine.gpus[0].link_now = {}; }, host_link,
     Status::not_judged, Exit::ok},
    {"the same, required", [](Report& r) { r.machine.gpus[0].link_now = {}; }, host_link,
     Status::not_judged, Exit::unknown, {.required = {host_link}}},
    {"a slow link", [](Report& r) { fail_slowly(verdict_of(r, "bandwidth"), "h2d_pinned_rate"); },
     host_link, Status::broken, Exit::unhealthy},
    {"an NVLink down", [](Report& r) { find(r, "nvlink-down", Severity::warning); }, peer_links,
     Status::degraded, Exit::unhealthy},
    {"one GPU at standard",
     [](Report& r) { verdict_of(r, "tensor").metrics = {{"burn_duration", 9, "s", {}, {}}}; },
     peer_links, Status::not_judged, Exit::ok, kStandard},
    {"a pending remap", [](Report& r) { find(r, "row-remap-pending", Severity::warning); },
     health_counters, Status::degraded, Exit::unhealthy},
    {"a new Xid", [](Report& r) { find(r, "new-xid", Severity::warning); }, health_counters,
     Status::degraded, Exit::unhealthy},
    {"one of the log, from before", [](Report& r) { find(r, "xid-63", Severity::warning); },
     health_counters, Status::held, Exit::ok},
    {"something to know", [](Report& r) { find(r, "new-xid", Severity::info); }, health_counters,
     Status::held, Exit::ok},
    {"no burn at quick", [](Report&) {}, burn, Status::not_judged, Exit::ok},
    {"no burn at quick, required", [](Report&) {}, burn, Status::not_judged, Exit::unknown,
     {.required = {burn}}},
    {"a burn", [](Report& r) { verdict_of(r, "tensor").metrics = {{"burn_duration", 9, "s", {}, {}}}; },
     burn, Status::held, Exit::ok, kStandard},
    {"no burn at standard", [](Report&) {}, burn, Status::not_judged, Exit::unknown, kStandard},
    {"matrix instructions that are no burn", [](Report& r) { verdict_of(r, "tensor"); }, burn,
     Status::not_judged, Exit::ok, kStandard},
    {"no matrix instructions",
     [](Report& r) { verdict_of(r, "tensor").status = VerdictStatus::not_supported; }, burn,
     Status::not_judged, Exit::ok, kStandard},
    {"a test that did not run",
     [](Report& r) { verdict_of(r, "tensor").status = VerdictStatus::not_tested; }, burn,
     Status::not_judged, Exit::unknown, kStandard},
};

TEST(Obligations, EndAsTheTableSays) {
  for (const Row& row : kRows) {
    Report report = healthy(1);
    row.make(report);
    conclude(report, {.asked = row.asked});
    const Obligation& found = owed(report, row.kind);
    EXPECT_EQ(found.status, row.status) << row.what << ": " << found.reason;
    EXPECT_FALSE(found.reason.empty()) << row.what;
    EXPECT_EQ(report.exit, row.exit) << row.what << ": " << *report.conclusion;
    const bool whole = report.conclusion->starts_with("1 of 1 GPU is ready");
    EXPECT_EQ(whole, row.exit == Exit::ok) << row.what << ": " << *report.conclusion;
  }
}

// Whatever else is wrong, an obligation of its own is: each row changes one GPU of two.
TEST(Obligations, OfOneGpuSayNothingOfAnother) {
  for (const Row& row : kRows) {
    Report report = healthy(2);
    row.make(report);
    conclude(report, {.asked = row.asked});
    for (const ObligationKind kind : {identity, integrity, coverage})
      EXPECT_NE(owed(report, kind, 1).status, Status::broken) << row.what;
  }
}

TEST(Obligations, WhatOthersSetDifferentlyIsDegraded) {
  const std::pair<ObligationKind, std::function<void(Gpu&, bool)>> settings[] = {
      {clock, [](Gpu& gpu, bool odd) { gpu.power.limit_mw = odd ? 200'000 : 700'000; }},
      {health_counters, [](Gpu& gpu, bool odd) { gpu.ecc.enabled_now = !odd; }},
  };
  for (const auto& [kind, set] : settings) {
    Report report = healthy(4);
    for (Gpu& gpu : report.machine.gpus) set(gpu, gpu.index == 2);
    conclude(report, {});
    EXPECT_EQ(report.exit, Exit::unhealthy);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(owed(report, kind, i).status, i == 2 ? Status::degraded : Status::held) << i;
  }
}

TEST(Obligations, WhatAnOperatorMayHaveChosenIsInTheHeadline) {
  Report report = healthy(2);
  for (Gpu& gpu : report.machine.gpus) {
    gpu.power.limit_mw = 200'000;
    gpu.power.default_limit_mw = 700'000;
    gpu.ecc.enabled_now = false;
  }
  conclude(report, {});
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_EQ(report.conclusion,
            "2 of 2 GPUs are ready for work; set: power limit 200 of 700 W, ECC off.");
}

TEST(Obligations, WhatSurroundingsHideIsInTheAnswer) {
  const std::pair<std::function<void(Report&)>, std::string> surroundings[] = {
      {[](Report& r) { r.machine.system.hypervisor = "kvm"; }, "host link"},
      {[](Report& r) { r.machine.system.wsl2 = true; }, "host link, health counters"},
      {[](Report& r) { r.machine.gpus[0].virtualization = "vgpu"; },
       "clock, host link, health counters"},
      {[](Report& r) { r.machine.gpus[0].mig_enabled = true; }, "identity, host link"},
  };
  for (const auto& [make, hidden] : surroundings) {
    Report report = healthy(1);
    make(report);
    report.machine.gpus[0].link_now = {};
    report.machine.gpus[0].inforom_valid.reset();
    if (hidden.starts_with("identity")) {
      report.machine.gpus[0].inforom_valid = true;
      report.machine.gpus[0].memory.total_bytes.reset();
    }
    if (hidden.starts_with("clock"))
      std::erase_if(*report.verdicts, [](const Verdict& v) { return v.test == "clocks"; });
    conclude(report, {});
    EXPECT_EQ(report.exit, Exit::ok) << *report.conclusion;
    EXPECT_NE(report.conclusion->find("not judged: " + hidden), std::string::npos)
        << *report.conclusion;
  }
}

}  // namespace
}  // namespace gpuready
