#include "report/obligations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/named.h"
#include "base/text.h"
#include "health/clocks.h"
#include "report/conclude.h"
#include "report/summary.h"
#include "unit/report/healthy.h"
#include "unit/value/describe.h"

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

void link_runs_at(Report& report, double generation) {
  verdict_of(report, "clocks").metrics.push_back({kLinkGeneration, generation, "1", 5, "the link"});
}

void burn_and(Report& report, VerdictStatus peers) {
  verdict_of(report, "tensor").metrics = {{"burn_duration", 9, "s", {}, {}}};
  verdict_of(report, "peers").status = peers;
}

void offer(Report& report, std::uint64_t told, std::uint64_t offered) {
  GpuMemory& memory = report.machine.gpus[0].memory;
  memory.total_bytes = told;
  memory.reserved_bytes = told - std::min(told, offered);
  report.verdicts->at(0).coverage = Coverage{offered, offered, offered, {}};
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
    {"half of the memory told",
     [](Report& r) { r.verdicts->at(0).coverage->total_bytes = 40 * GiB; }, identity,
     Status::broken, Exit::unhealthy},
    {"half of the SMs told", [](Report& r) { verdict_of(r, "compute").units->total = 66; },
     identity, Status::broken, Exit::unhealthy},
    {"half of the SMs told, and NVML knows no cores but a sibling has more",
     [](Report& r) {
       r.machine.gpus[0].cores.reset();
       Gpu sibling = r.machine.gpus[0];
       sibling.index = 1;
       sibling.uuid = "GPU-sibling";
       sibling.pci->bus += 1;
       r.machine.gpus.push_back(sibling);
       Verdict other = verdict_of(r, "compute");
       other.uuid = sibling.uuid;
       other.pci_address = sibling.pci->text();
       r.verdicts->push_back(other);
       verdict_of(r, "compute").units->total = 66;
     },
     identity, Status::broken, Exit::unhealthy},
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
    {"code refused",
     [](Report& r) { verdict_of(r, "compute").status = VerdictStatus::not_supported; }, integrity,
     Status::not_judged, Exit::unknown},
    {"compute timed out",
     [](Report& r) { verdict_of(r, "compute").status = VerdictStatus::timed_out; }, integrity,
     Status::not_judged, Exit::unknown},
    {"a neighbour's 30 GiB unseen by NVML",
     [](Report& r) { r.verdicts->at(0).coverage->tested_bytes = 45 * GiB; }, coverage,
     Status::not_judged, Exit::unknown},
    {"less than half of a small memory",
     [](Report& r) {
       r.machine.gpus[0].memory.total_bytes = r.verdicts->at(0).coverage->total_bytes = 512 * MiB;
       r.verdicts->at(0).coverage->tested_bytes = 250 * MiB;
     },
     coverage, Status::not_judged, Exit::unknown},
    {"a display's memory, as NVML tells",
     [](Report& r) {
       r.machine.gpus[0].memory.used_bytes = 5 * GiB;
       r.verdicts->at(0).coverage->tested_bytes = 74 * GiB;
     },
     coverage, Status::held, Exit::ok},
    {"with --busy",
     [](Report& r) { r.verdicts->at(0).coverage->tested_bytes = 45 * GiB; },
     coverage,
     Status::not_judged,
     Exit::ok,
     {.busy = true}},
    {"--busy, and all required",
     [](Report& r) { r.verdicts->at(0).coverage->tested_bytes = 45 * GiB; },
     coverage,
     Status::not_judged,
     Exit::unknown,
     {.busy = true, .required = {coverage}}},
    {"held at its brake", [](Report& r) { verdict_of(r, "clocks").status = VerdictStatus::failed; },
     clock, Status::broken, Exit::unhealthy},
    {"slow for a part of the time",
     [](Report& r) { verdict_of(r, "clocks").metrics = {{"slow_share", 0.3, "1", 0.1, "ours"}}; },
     clock, Status::degraded, Exit::unhealthy},
    {"the same, accepted",
     [](Report& r) { verdict_of(r, "clocks").metrics = {{"slow_share", 0.3, "1", 0.1, "ours"}}; },
     clock,
     Status::degraded,
     Exit::ok,
     {.accepted = {{clock}}}},
    {"the same, accepted of another GPU",
     [](Report& r) { verdict_of(r, "clocks").metrics = {{"slow_share", 0.3, "1", 0.1, "ours"}}; },
     clock,
     Status::degraded,
     Exit::unhealthy,
     {.accepted = {{clock, {"7"}}}}},
    {"the same, accepted of this GPU",
     [](Report& r) { verdict_of(r, "clocks").metrics = {{"slow_share", 0.3, "1", 0.1, "ours"}}; },
     clock,
     Status::degraded,
     Exit::ok,
     {.accepted = {{clock, {"0"}}}}},
    {"a clock not judged",
     [](Report& r) { std::erase_if(*r.verdicts, [](auto& v) { return v.test == "clocks"; }); },
     clock, Status::not_judged, Exit::unknown},
    {"slower than its siblings",
     [](Report& r) { find(r, "slower-than-siblings", Severity::warning); }, clock, Status::degraded,
     Exit::unhealthy},
    {"slow memory", [](Report& r) { fail_slowly(r.verdicts->at(0), "write_rate"); }, clock,
     Status::broken, Exit::unhealthy},
    {"a narrow link", [](Report& r) { find(r, "pcie-link-degraded", Severity::warning); },
     host_link, Status::degraded, Exit::unhealthy},
    {"a link that stays slow under load", [](Report& r) { link_runs_at(r, 1); }, host_link,
     Status::degraded, Exit::unhealthy},
    {"a link at full speed under load", [](Report& r) { link_runs_at(r, 5); }, host_link,
     Status::held, Exit::ok},
    {"a slow link, though its rate is right",
     [](Report& r) {
       link_runs_at(r, 1);
       verdict_of(r, "bandwidth").metrics = {{"h2d_pinned_rate", 2, "B/s", 1, "the link"}};
     },
     host_link, Status::held, Exit::ok},
    {"a slow link, and a brake on the clocks: two causes",
     [](Report& r) {
       link_runs_at(r, 1);
       verdict_of(r, "clocks").status = VerdictStatus::failed;
     },
     clock, Status::broken, Exit::unhealthy},
    {"an unseen link", [](Report& r) { r.machine.gpus[0].link_now = {}; }, host_link,
     Status::not_judged, Exit::ok},
    {"the same, required",
     [](Report& r) { r.machine.gpus[0].link_now = {}; },
     host_link,
     Status::not_judged,
     Exit::unknown,
     {.required = {host_link}}},
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
    {"no burn at quick, required",
     [](Report&) {},
     burn,
     Status::not_judged,
     Exit::unknown,
     {.required = {burn}}},
    {"a burn",
     [](Report& r) { verdict_of(r, "tensor").metrics = {{"burn_duration", 9, "s", {}, {}}}; }, burn,
     Status::held, Exit::ok, kStandard},
    {"no burn at standard", [](Report&) {}, burn, Status::not_judged, Exit::unknown, kStandard},
    {"matrix instructions that are no burn", [](Report& r) { verdict_of(r, "tensor"); }, burn,
     Status::not_judged, Exit::ok, kStandard},
    {"no matrix instructions",
     [](Report& r) { verdict_of(r, "tensor").status = VerdictStatus::not_supported; }, burn,
     Status::not_judged, Exit::ok, kStandard},
    {"a test that did not run",
     [](Report& r) { verdict_of(r, "tensor").status = VerdictStatus::not_tested; }, burn,
     Status::not_judged, Exit::unknown, kStandard},
    // ---- at the limits
    {"90% of the memory told", [](Report& r) { offer(r, 100 * GiB, 90 * GiB); }, identity,
     Status::held, Exit::ok},
    {"101% of the memory told", [](Report& r) { offer(r, 100 * GiB, 101 * GiB); }, identity,
     Status::held, Exit::ok},
    {"more than that", [](Report& r) { offer(r, 100 * GiB, 101 * GiB + 1); }, identity,
     Status::broken, Exit::unhealthy},
    {"slow for all that it may be",
     [](Report& r) { verdict_of(r, "clocks").metrics = {{"slow_share", 0.1, "1", 0.1, "ours"}}; },
     clock, Status::held, Exit::ok},
    {"86% of the memory on WSL 2",
     [](Report& r) {
       r.machine.system.wsl2 = true;
       r.verdicts->at(0).coverage->tested_bytes = 69 * GiB;
     },
     coverage, Status::held, Exit::ok},
    {"a whole MIG instance, by what lists it",
     [](Report& r) {
       r.machine.gpus[0].mig.emplace_back();
       r.verdicts->at(0).coverage = Coverage{10 * GiB, 10 * GiB, 10 * GiB, {}};
     },
     coverage, Status::held, Exit::unhealthy},
    {"a whole MIG instance, by the mode",
     [](Report& r) {
       r.machine.gpus[0].mig_enabled = true;
       r.verdicts->at(0).coverage = Coverage{10 * GiB, 10 * GiB, 10 * GiB, {}};
     },
     coverage, Status::held, Exit::ok},
    {"86% elsewhere", [](Report& r) { r.verdicts->at(0).coverage->tested_bytes = 69 * GiB; },
     coverage, Status::not_judged, Exit::unknown},
    // ---- what settles what
    {"a brake is no wrong result",
     [](Report& r) { verdict_of(r, "clocks").status = VerdictStatus::failed; }, integrity,
     Status::held, Exit::unhealthy},
    {"a slow link is no wrong result",
     [](Report& r) { fail_slowly(verdict_of(r, "bandwidth"), "d2h_pinned_rate"); }, integrity,
     Status::held, Exit::unhealthy},
    {"wrong and slow is wrong",
     [](Report& r) {
       fail_slowly(verdict_of(r, "bandwidth"), "d2h_pinned_rate");
       verdict_of(r, "bandwidth").mismatches_total = 1;
     },
     integrity, Status::broken, Exit::unhealthy},
    {"failed without a figure below its limit is wrong",
     [](Report& r) { verdict_of(r, "bandwidth").status = VerdictStatus::failed; }, integrity,
     Status::broken, Exit::unhealthy},
    {"compute did not run",
     [](Report& r) { std::erase_if(*r.verdicts, [](auto& v) { return v.test == "compute"; }); },
     integrity, Status::not_judged, Exit::unknown},
    {"a link that was measured",
     [](Report& r) {
       r.machine.gpus[0].link_now = {};
       verdict_of(r, "bandwidth").metrics = {{"h2d_pinned_rate", 2, "B/s", 1, "the link"}};
     },
     host_link, Status::held, Exit::ok},
    {"a measurement that did not end",
     [](Report& r) { verdict_of(r, "bandwidth").status = VerdictStatus::timed_out; }, host_link,
     Status::not_judged, Exit::unknown},
    {"no measurement here, but the link's own facts",
     [](Report& r) { verdict_of(r, "bandwidth").status = VerdictStatus::not_supported; }, host_link,
     Status::held, Exit::ok},
    {"memory of the host", [](Report& r) { r.machine.gpus[0].integrated = true; }, host_link,
     Status::not_judged, Exit::ok},
    {"slow peers", [](Report& r) { fail_slowly(verdict_of(r, "peers"), "rate"); }, peer_links,
     Status::broken, Exit::unhealthy},
    {"peers that were tested", [](Report& r) { burn_and(r, VerdictStatus::passed); }, peer_links,
     Status::held, Exit::ok, kStandard},
    {"peers that did not end", [](Report& r) { burn_and(r, VerdictStatus::timed_out); }, peer_links,
     Status::not_judged, Exit::unknown, kStandard},
    {"peers that reach none", [](Report& r) { burn_and(r, VerdictStatus::not_supported); },
     peer_links, Status::not_judged, Exit::ok, kStandard},
    {"a slow burn", [](Report& r) { fail_slowly(verdict_of(r, "tensor"), "rate"); }, burn,
     Status::broken, Exit::unhealthy, kStandard},
    {"an error as a consequence",
     [](Report& r) {
       find(r, "some-cause", Severity::warning);
       r.findings->back().explains.emplace_back() = r.findings->front();
       r.findings->back().explains[0].id = "row-remap-failed";
       r.findings->back().explains[0].severity = Severity::error;
     },
     health_counters, Status::broken, Exit::unhealthy},
    {"a remapping that failed, accepted",
     [](Report& r) {
       find(r, "row-remap-failed", Severity::error);
       std::swap(*r.findings, r.accepted);
     },
     health_counters, Status::degraded, Exit::ok},
    {"the same, and a counter that is not",
     [](Report& r) {
       find(r, "row-remap-failed", Severity::error);
       std::swap(*r.findings, r.accepted);
       find(r, "sram-errors-exceeded", Severity::error);
     },
     health_counters, Status::broken, Exit::unhealthy},
    {"accepted errors do not judge the counters",
     [](Report& r) {
       find(r, "nvlink-down", Severity::error);
       std::swap(*r.findings, r.accepted);
       verdict_of(r, "peers").status = VerdictStatus::timed_out;
     },
     peer_links, Status::not_judged, Exit::unknown, kStandard},
    {"errors of the link that the kernel counted",
     [](Report& r) {
       find(r, "pcie-errors", Severity::warning);
       r.findings->back().evidence = {{"/sys/bus/pci/devices/0000:10:00.0/aer_dev_nonfatal", "7"}};
     },
     host_link, Status::degraded, Exit::unhealthy},
    {"errors of the link that only its log names",
     [](Report& r) {
       find(r, "pcie-errors", Severity::warning);
       r.findings->back().evidence = {{"kernel log", "AER: Multiple Corrected error received"}};
     },
     host_link, Status::held, Exit::ok},
    {"what was asked for does not judge it",
     [](Report& r) { std::erase_if(*r.verdicts, [](auto& v) { return v.test == "compute"; }); },
     integrity,
     Status::not_judged,
     Exit::ok,
     {.tests = {"memory"}}},
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

// What a test found says more than the obligation that is broken by it.
TEST(Obligations, AGpusReasonIsThatOfItsTestThenThatOfWhatItOwes) {
  Report report = healthy(2);
  for (std::size_t gpu : {0, 1}) report.verdicts->at(gpu).coverage->tested_bytes = 69 * GiB;
  report.verdicts->at(0).status = VerdictStatus::failed;
  report.verdicts->at(0).reason = "3 words are wrong.";
  conclude(report, {});
  const Summary summary = summarize(report);
  EXPECT_EQ(summary.gpus[0].reason, "memory: 3 words are wrong.");
  EXPECT_TRUE(summary.gpus[1].reason.starts_with("Coverage not judged: "))
      << summary.gpus[1].reason;
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

TEST(Obligations, TheConclusionNamesTheGpu) {
  for (int odd = 0; odd < 4; ++odd) {
    Report report = healthy(4);
    for (Gpu& gpu : report.machine.gpus) gpu.power.limit_mw = gpu.index == odd ? 200'000 : 700'000;
    conclude(report, {});
    EXPECT_TRUE(contains(*report.conclusion, fmt::format("GPU {}: clock degraded: its power limit "
                                                         "is not that of GPUs of its kind here",
                                                         odd)))
        << *report.conclusion;
  }
}

TEST(Obligations, WhoDoesNotAnswerDiffersFromNobody) {
  Report report = healthy(4);
  for (Gpu& gpu : report.machine.gpus) {
    gpu.ecc.enabled_now = gpu.index == 2 ? std::optional(true) : std::nullopt;
    gpu.power.limit_mw = gpu.index == 2 ? std::optional<std::uint64_t>(700'000) : std::nullopt;
  }
  conclude(report, {});
  EXPECT_EQ(report.exit, Exit::ok);
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

TEST(Obligations, OnlyWhatDiffersFromTheDefaultIsASetting) {
  Gpu gpu = healthy_gpu(0);
  EXPECT_TRUE(chosen_settings(gpu).empty());
  // A limit is compared only with a known default.
  gpu.power.default_limit_mw = 700'000;
  EXPECT_TRUE(chosen_settings(gpu).empty());
  gpu.power = {};
  gpu.power.limit_mw = 0;
  EXPECT_TRUE(chosen_settings(gpu).empty());
  gpu.power.limit_mw = gpu.power.default_limit_mw = 700'000;
  EXPECT_TRUE(chosen_settings(gpu).empty());
  gpu.clock_event_reasons = 0x2;
  EXPECT_EQ(chosen_settings(gpu), std::vector<std::string>{"application clocks"});
  gpu.clock_event_reasons = 0x4 | 0x1;
  for (const auto* name : {"GeForce RTX 4090", "Quadro P4000", "TITAN V", "RTX A6000"}) {
    gpu.name = name;  // sold with ECC off
    gpu.ecc.enabled_now = false;
    EXPECT_TRUE(chosen_settings(gpu).empty()) << name;
  }
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

// "quick", the level from which it is owed, or why it never is.
std::string cell(ObligationKind kind, Vendor vendor, Surroundings around) {
  for (const Level level : {Level::quick, Level::standard, Level::thorough}) {
    const Due found = due(kind, vendor, around, level);
    if (found.duty == Duty::owed) return "from " + std::string(to_string(level));
    if (found.duty == Duty::hidden) return "hidden: " + std::string(found.why);
  }
  return {};
}

std::string table_of(Vendor vendor) {
  using enum Surroundings;
  constexpr Surroundings kColumns[] = {bare_metal, container, vm, wsl2, mig, vgpu};
  std::string text = "| obligation |", rule = "|---|";
  for (const Surroundings around : kColumns) {
    text += " " + std::string(to_text(around)) + " |";
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const auto& entry : kNames<ObligationKind>) {
    text += "| `" + std::string(entry.name) + "` |";
    for (const Surroundings around : kColumns)
      text += " " + cell(entry.value, vendor, around) + " |";
    text += "\n";
  }
  return text;
}

TEST(Obligations, TheDocsAreCurrent) {
  std::string text = R"(# Obligations

A GPU is ready for work when it has shown everything that it owes. `gpuready check` and `gpuready test` judge eight
obligations of each GPU and report them in every form: the terminal, JSON (`gpu_status[].obligations`), Markdown, HTML
and Prometheus (`gpuready_gpu_obligation`). Each has a status, a reason and, where something was measured, the figure,
its limit and the source of the limit. This page is generated from the rules (`src/report/obligations*.cc`).

| obligation | what a GPU shows | judged by |
|---|---|---|
| `identity` | The driver offers the memory (0.90 to 1.01 of it) and the SMs that NVML reports. | memory, compute, NVML's total and number of cores |
| `integrity` | Every word, result and copy that was checked is right. | memory and compute, and what else ran; siblings |
| `coverage` | At least 95% of the memory that NVML does not report as used was tested (WSL 2: 85%), or all but 512 MiB, and never less than half. | memory |
| `clock` | It ran at the clock that it may run at, and as fast as its siblings. | clocks, memory and compute; siblings |
| `host_link` | Its link has its full width and, under load, its full speed; from standard, its full rate. | quick: the link's own facts, NVML's samples; standard: bandwidth |
| `peer_links` | Its links to other GPUs have, too. | peers, findings about NVLink and its fabric |
| `health_counters` | No repair is pending, and no error counter rose during the tests. | NVML's and amdgpu's counters |
| `burn` | Matrix products loaded it up to its power limit. | tensor |

## What each outcome does

| status | duty | exit code |
|---|---|---|
| `held` | any | 0 |
| `broken` | any | 1 |
| `degraded`: a warning or a figure speaks against it | any | 1; 0 if `--accept OBLIGATION[@DEVICE]` accepts it, and the answer says so |
| `not_judged` | `owed`: it could have been judged (the GPU was busy, the driver refused, the time ran out) | 4 |
| `not_judged` | `hidden`: the kind of GPU or its surroundings hide it for good | 0, and the answer names it; 4 if `--require OBLIGATION` names it |
| `not_judged` | `not_owed`: the level or the named tests do not include it | 0; 4 if `--require OBLIGATION` names it |

If no GPU could be judged at all, such as on a machine without one, `--require` also makes the exit code 4.

A setting that an operator may have chosen (a lower power limit, ECC off, application clocks) is named in the answer. It
is `degraded` only where GPUs of the same name in the machine differ. A warning that speaks against no obligation is
named in the answer, and the exit code stays 0.

Besides what the tables say, an obligation is hidden where nothing on the machine could judge it: without NVML
(`identity`, `clock`, `health_counters`), for a GPU that shares the host's memory (`coverage`, `host_link`), with `--busy`
(`coverage`), for the only GPU of a machine (`peer_links`), and for GPUs whose matrix instructions do not load them
fully (`burn`).

## What is owed

"From quick" means that quick and every higher level owe it.
)";
  for (const auto& [title, vendor] : {std::pair{"NVIDIA", Vendor::nvidia},
                                      {"AMD", Vendor::amd},
                                      {"Intel", Vendor::intel},
                                      {"Others", Vendor::other}})
    text += "\n### " + std::string(title) + "\n\n" + table_of(vendor);
  value::expect_current("docs/obligations.md", text);
}

TEST(Obligations, OfTwoThatDifferBothAreDegraded) {
  Report report = healthy(2);
  report.machine.gpus[0].power.limit_mw = 700'000;
  report.machine.gpus[1].power.limit_mw = 200'000;
  conclude(report, {});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(owed(report, clock, i).status, Status::degraded);
}

// A context takes more than 5% of a small GPU.
TEST(Obligations, AllBut512MiBIsCoverageEnough) {
  for (const std::uint64_t missing : {512 * MiB, 512 * MiB + 1}) {
    Report report = healthy(1);
    report.machine.gpus[0].memory.total_bytes = 2 * GiB;
    report.verdicts->at(0).coverage = Coverage{2 * GiB - missing, 2 * GiB, 2 * GiB - missing, {}};
    conclude(report, {});
    EXPECT_EQ(owed(report, coverage).status,
              missing == 512 * MiB ? Status::held : Status::not_judged);
  }
}

}  // namespace
}  // namespace gpuready
