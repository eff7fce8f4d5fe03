// Reports of many tests: samples, and how they are told.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/summary.h"
#include "report/text_layout.h"
#include "samples.h"

namespace gpuready {
namespace samples {
namespace {

constexpr const char* kSiblings = "0.95 of the median of the GPUs of this model";

Verdict verdict_of(const Gpu& gpu, const char* test, double started_ms, double duration_ms,
                   std::string reason) {
  Verdict out;
  out.test = test;
  out.subject = fmt::format("GPU {}", gpu.index);
  out.uuid = gpu.uuid;
  out.pci_address = gpu.pci->text();
  out.executor = "cuda";
  out.status = VerdictStatus::passed;
  out.reason = std::move(reason);
  out.started_ms = started_ms;
  out.duration_ms = duration_ms;
  return out;
}

// The five tests of one GPU beside the memory test, one after another.
std::vector<Verdict> more_tests(const Gpu& gpu) {
  std::vector<Verdict> out;
  Verdict& compute = out.emplace_back(
      verdict_of(gpu, "compute", 6'300, 4'120, "Every SM computed every result bit for bit."));
  compute.units = UnitCoverage{132, 132};
  compute.metrics = {{"int32_rate", 16.1e12, "OP/s", {}, {}},
                     {"fp32_fma_rate", 58.4e12, "FLOP/s", {}, {}},
                     {"fp64_fma_rate", 29.1e12, "FLOP/s", {}, {}},
                     {"results_checked", 9.1e9, "1", {}, {}}};
  compute.digests = {{"special functions", 0x1f3c'99a0'0c4d'e871}};
  Verdict& tensor = out.emplace_back(verdict_of(
      gpu, "tensor", 10'600, 12'050, "Every sum of every chain was exact, under full load."));
  tensor.units = UnitCoverage{132, 132};
  tensor.metrics = {{"bf16_rate", 791e12, "FLOP/s", 725e12, kSiblings},
                    {"int8_rate", 1.48e15, "OP/s", {}, {}},
                    {"fp8_rate", 1.44e15, "FLOP/s", {}, {}},
                    {"power_mean", 692, "W", {}, {}}};
  Verdict& bandwidth = out.emplace_back(
      verdict_of(gpu, "bandwidth", 22'800, 2'410, "Every copied byte arrived as it was sent."));
  bandwidth.metrics = {
      {"host_to_device_pinned_rate", 55.3e9, "B/s", 47.3e9, "0.75 of gen 5 x16, read under load"},
      {"device_to_host_pinned_rate", 54.1e9, "B/s", 47.3e9, "0.75 of gen 5 x16, read under load"},
      {"both_ways_pinned_rate", 98.7e9, "B/s", {}, {}},
      {"host_to_device_pageable_rate", 11.2e9, "B/s", {}, {}},
      {"latency", 0.0021, "ms", {}, {}}};
  Verdict& benchmark = out.emplace_back(
      verdict_of(gpu, "benchmark", 25'400, 380, "The product took less than its limit."));
  benchmark.metrics = {{"product_time", 19.3, "ms", {}, {}},
                       {"product_rate", 51.2e12, "FLOP/s", {}, {}}};
  return out;
}

Verdict pair_of(const Gpu& a, const Gpu& b) {
  Verdict out = verdict_of(a, "peers", 26'000, 800, "Loads, stores and atomics reached the peer.");
  out.subject = fmt::format("GPU {} and GPU {}", a.index, b.index);
  out.peer_uuid = b.uuid;
  out.metrics = {{"one_way_rate", 368e9, "B/s", {}, {}}, {"both_ways_rate", 710e9, "B/s", {}, {}}};
  return out;
}

SampleSeries curve(const Gpu& gpu, const char* name, const char* unit, auto value_at) {
  SampleSeries out;
  out.gpu = gpu.index;
  out.uuid = gpu.uuid;
  out.name = name;
  out.unit = unit;
  double sum = 0;
  for (int i = 0; i < 270; ++i) {
    out.t_ms.push_back(450 + 100.0 * i);
    out.value.push_back(std::round(value_at(out.t_ms.back()) * 10) / 10);
    sum += out.value.back();
  }
  out.taken = out.value.size();
  out.min = *std::min_element(out.value.begin(), out.value.end());
  out.max = *std::max_element(out.value.begin(), out.value.end());
  out.mean = sum / static_cast<double>(out.taken);
  out.last = out.value.back();
  return out;
}

// How hard a GPU works at that time, from 0 to 1.
double load_at(double t) {
  if (t > 10'600 && t < 22'650) return 1;
  if (t > 1'200 && t < 10'420) return 0.62;
  return t > 22'800 ? 0.25 : 0.02;
}

void add_samples(const Gpu& gpu, bool hot, Samples& out) {
  const double heat = hot ? 31 : 0;
  const auto warm = [=](double t) {
    return 29 + heat * std::min(1.0, t / 9e3) + 33 * (1 - std::exp(-t / 6e3)) * load_at(t) +
           (t > 12e3 ? 5 : 0);
  };
  const auto held = [=](double t) { return hot && t > 13'000 && t < 22'650 ? 1.0 : 0.0; };
  const auto wobble = [&](double t) { return std::sin(t / 370 + gpu.index); };
  const auto add = [&](const char* name, const char* unit, auto at) {
    out.series.push_back(curve(gpu, name, unit, at));
  };
  add("sm_clock", "MHz", [&](double t) {
    return load_at(t) < 0.1
               ? 345
               : (held(t) > 0 ? 1210 : 1980 - 260 * (load_at(t) > 0.9)) + 12 * wobble(t);
  });
  add("memory_clock", "MHz", [](double) { return 3201; });
  add("power", "W",
      [&](double t) { return 78 + (held(t) > 0 ? 380 : 616) * load_at(t) + 4 * wobble(t); });
  add("gpu_temperature", "C", warm);
  add("memory_temperature", "C", [&](double t) { return warm(t) + 8; });
  add("utilization", "1", [](double t) { return load_at(t) > 0.1 ? 1 : 0; });
  add("ecc_corrected", "1", [&](double t) { return hot && t > 17e3 ? 2 : 0; });
  add("ecc_uncorrected", "1", [](double) { return 0; });
  add("clock_event_any", "1", [&](double t) { return held(t) > 0 || load_at(t) > 0.9; });
  add("clock_event_sw_power_cap", "1", [&](double t) { return !hot && load_at(t) > 0.9; });
  if (hot) add("clock_event_hw_thermal_slowdown", "1", held);
}

Report tested(Report report, std::size_t gpus) {
  report.duration_ms = 27'350;
  report.samples.emplace();
  report.samples->interval_ms = 100;
  report.machine.gpus.resize(gpus);
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < gpus; ++i) {
    const Gpu& gpu = report.machine.gpus[i];
    Verdict memory = (*report.verdicts)[i];
    memory.started_ms = 1'200;
    memory.duration_ms = 4'980;
    verdicts.push_back(memory);
    for (Verdict& verdict : more_tests(gpu)) verdicts.push_back(std::move(verdict));
    for (std::size_t j = i + 1; j < gpus; ++j)
      verdicts.push_back(pair_of(gpu, report.machine.gpus[j]));
  }
  report.verdicts = std::move(verdicts);
  return report;
}

Verdict& verdict_in(Report& report, std::string_view subject, std::string_view test) {
  for (Verdict& verdict : *report.verdicts)
    if (verdict.subject == subject && verdict.test == test) return verdict;
  ADD_FAILURE() << subject << test;
  return report.verdicts->front();
}

}  // namespace

Report one_gpu() {
  Report report = tested(healthy(), 1);
  add_samples(report.machine.gpus[0], false, *report.samples);
  report.conclusion = "1 of 1 GPU is ready for work.";
  return report;
}

Report full() {
  Report report = tested(eight(), 8);
  for (const Gpu& gpu : report.machine.gpus) add_samples(gpu, gpu.index == 5, *report.samples);
  report.samples->sampled_xids = {{3, 5'100, 94}};
  report.samples->absent = {"PCIe replays: no permission (NVML_ERROR_NO_PERMISSION)"};
  Verdict& wrong = verdict_in(report, "GPU 2", "compute");
  wrong.status = VerdictStatus::failed;
  wrong.reason = "SM 17 computed 1204 of 69120000 results of fp32 fma wrongly.";
  wrong.mismatches_total = 1204;
  for (std::uint64_t i = 0; i < 6; ++i)
    wrong.mismatches.push_back(
        {"fp32 fma", 17u, 8'912 + i * 128, 0x3f80'1234 + i, (0x3f80'1234 + i) ^ 0x0040'0000});
  Verdict& slow = verdict_in(report, "GPU 5", "tensor");
  slow.status = VerdictStatus::failed;
  slow.metrics[0].value = 497e12;
  slow.reason =
      "bf16 reached 497 TFLOP/s; 725 TFLOP/s is the least; clocks were held back: HW thermal "
      "slowdown during 79% of the test (up to 97 C)";
  for (const char* test : {"compute", "tensor", "bandwidth", "benchmark"}) {
    Verdict& skipped = verdict_in(report, "GPU 7", test);
    skipped.status = VerdictStatus::not_tested;
    skipped.reason = "The memory test did not end; the GPU is left alone.";
    skipped.started_ms.reset();
    skipped.duration_ms = 0;
    skipped.metrics.clear();
    skipped.units.reset();
    skipped.digests.clear();
  }
  for (Verdict& verdict : *report.verdicts)
    if (verdict.test == "peers" && verdict.subject.ends_with("GPU 7")) {
      verdict.status = VerdictStatus::not_tested;
      verdict.reason = "GPU 7 did not end its memory test.";
      verdict.started_ms.reset();
      verdict.duration_ms = 0;
      verdict.metrics.clear();
    }
  report.conclusion = "3 of 8 GPUs are ready for work: GPU 3 failed the memory test.";
  return report;
}

Report injected() {
  Report report = one_gpu();
  Verdict& tensor = verdict_in(report, "GPU 0", "tensor");
  tensor.injected_fault = "wrong_sm";
  tensor.status = VerdictStatus::failed;
  tensor.reason = "SM 44 computed 12 results wrongly.";
  tensor.mismatches_total = 12;
  tensor.mismatches = {{"bf16 mma", 44u, 7, 0x4210'0000, 0x4210'0001}};
  verdict_in(report, "GPU 0", "compute").injected_fault = "wrong_sm";  // and it was not found
  report.exit = Exit::unhealthy;
  report.conclusion = "0 of 1 GPU are ready for work: GPU 0 failed the tensor test.";
  return report;
}

}  // namespace samples

namespace {

std::string terminal(const Report& report, TerminalStyle style = {}) {
  return render_terminal(report, style);
}

std::string line_with(const std::string& text, std::string_view part) {
  for (const auto line : lines(text))
    if (contains(line, part)) return std::string(line);
  return {};
}

TEST(ManyTests, OneGpuTakesALineATestWithItsMainFigures) {
  const std::string text = terminal(samples::one_gpu());
  EXPECT_TRUE(contains(line_with(text, "  memory "), "99.6% of 139.8 GiB, write 4.28 TB/s"))
      << text;
  EXPECT_TRUE(contains(line_with(text, "  compute "), "132 of 132 SMs")) << text;
  EXPECT_FALSE(contains(line_with(text, "  compute "), "results checked")) << "no main figure";
  EXPECT_TRUE(contains(line_with(text, "  tensor "), "bf16 791 TFLOP/s")) << text;
  EXPECT_TRUE(contains(line_with(text, "  bandwidth "), "host to device pinned 55.3 GB/s"));
  EXPECT_TRUE(contains(line_with(text, "  benchmark "), "product 51.2 TFLOP/s"));
}

TEST(ManyTests, EightGpusTakeALineEachThatFits80Columns) {
  const std::string text = terminal(samples::full());
  const std::string line = line_with(text, "  GPU 0 ");
  EXPECT_TRUE(contains(text, "Device  memory")) << text;
  EXPECT_TRUE(contains(text, "ok 791 TFLOP/s")) << text;
  for (const auto each : lines(text)) EXPECT_LE(display_width(each), 80u) << each;
}

TEST(ManyTests, NoTestIsLeftOutOfATableThatIsTooWide) {
  Report report = samples::full();
  for (Verdict& verdict : *report.verdicts)
    if (verdict.test == "benchmark") verdict.test = "a_test_with_quite_a_long_name";
  for (const int columns : {40, 60, 80}) {
    const std::string text = terminal(report, {.columns = columns});
    for (const char* name :
         {"memory", "compute", "tensor", "bandwidth", "peers", "a_test_with_quite_a_long_name"})
      EXPECT_FALSE(line_with(text, std::string("  ") + name).empty()) << columns << name << text;
  }
}

TEST(ManyTests, WhatDidNotPassIsToldOnceWithReasonAndSm) {
  const std::string text = terminal(samples::full());
  EXPECT_TRUE(contains(text, "GPU 2, compute: failed: SM 17 computed 1204")) << text;
  EXPECT_TRUE(contains(text, "1204 wrong values; some of them:"));
  EXPECT_TRUE(contains(text, "SM 17, fp32 fma, result 8912: expected 0x3f801234, got 0x3fc01234"));
  EXPECT_TRUE(contains(text, "HW thermal")) << text;
  EXPECT_TRUE(contains(text, "GPU 0 and GPU 7, GPU 1 and GPU 7 and 5 more, peers:")) << text;
}

TEST(ManyTests, NotTestedNeverLooksLikePassed) {
  const Report report = samples::full();
  const Summary summary = summarize(report);
  const auto row = std::find_if(summary.test_rows.begin(), summary.test_rows.end(),
                                [](const TestRow& each) { return each.subject == "GPU 7"; });
  ASSERT_NE(row, summary.test_rows.end());
  for (const auto& name : summary.test_names) {
    const auto cell = test_cell(summary, *row, name);
    ASSERT_TRUE(cell) << name;
    EXPECT_NE(cell->tone, Tone::good) << name;
  }
  const std::string line = line_with(terminal(report), "  GPU 7 ");
  EXPECT_FALSE(contains(line, "ok ")) << line;
  EXPECT_TRUE(contains(render_prometheus(report),
                       "gpuready_test_passed{test=\"tensor\",subject=\"GPU 7\""));
  EXPECT_TRUE(contains(line_with(render_prometheus(report),
                                 "gpuready_test_passed{test=\"tensor\",subject=\"GPU 7\""),
                       "} 0"));
}

TEST(ManyTests, PairCountsForBothOfItsGpus) {
  Report report = samples::full();
  for (Verdict& verdict : *report.verdicts)
    if (verdict.subject == "GPU 0 and GPU 1") verdict.status = VerdictStatus::failed;
  const Summary summary = summarize(report);
  EXPECT_EQ(summary.gpus[0].state, GpuState::not_ready);
  EXPECT_EQ(summary.gpus[1].state, GpuState::not_ready);
  EXPECT_EQ(test_cell(summary, summary.test_rows[1], "peers")->text, "5 of 7");
}

TEST(ManyTests, InjectedFaultIsToldInEveryOutputAndIsNeverGreen) {
  const Report report = samples::injected();
  for (const std::string& text : {terminal(report), terminal(report, {.quiet = true}),
                                  render_markdown(report), render_html(report)}) {
    EXPECT_TRUE(contains(text, "FAULT INJECTED ON PURPOSE")) << text;
    EXPECT_TRUE(contains(text, "wrong\\_sm") || contains(text, "wrong_sm"));
  }
  EXPECT_TRUE(contains(render_prometheus(report), "\ngpuready_fault_injected 1\n"));
  EXPECT_TRUE(contains(render_prometheus(samples::one_gpu()), "\ngpuready_fault_injected 0\n"));
  EXPECT_EQ(to_json(report).at("injected_faults"), Json::array({"wrong_sm"}));
  EXPECT_FALSE(to_json(samples::one_gpu()).contains("injected_faults"));
  // The compute test passed with the fault inside: that proves nothing.
  const std::string passed =
      line_with(render_prometheus(report), "gpuready_test_passed{test=\"compute\"");
  EXPECT_TRUE(passed.ends_with("} 0")) << passed;
}

TEST(ManyTests, SamplesTakeALineAGpu) {
  const std::string text = terminal(samples::full());
  EXPECT_TRUE(contains(text, "While the tests ran"));
  const auto at = text.find("While the tests ran");
  const std::string below = text.substr(at);
  EXPECT_TRUE(contains(line_with(below, "  GPU 0 "), "SW power cap 44%")) << below;
  EXPECT_TRUE(contains(line_with(below, "  GPU 5 "), "HW thermal slowdown")) << below;
  EXPECT_TRUE(contains(below, "GPU 5: counted meanwhile: 2 ECC corrected"));
  EXPECT_TRUE(contains(below, "Not sampled: PCIe replays"));
  EXPECT_TRUE(
      contains(render_prometheus(samples::full()), "gpuready_sampled_clock_event_ratio{gpu=\"5\""));
  EXPECT_TRUE(contains(render_markdown(samples::full()), "| GPU 5 | "));
}

TEST(ManyTests, QuantitiesAreWrittenInTheirUnits) {
  EXPECT_EQ(quantity_text(791.2e12, "FLOP/s"), "791 TFLOP/s");
  EXPECT_EQ(quantity_text(1.48e15, "OP/s"), "1.48 POP/s");
  EXPECT_EQ(quantity_text(999.96e12, "FLOP/s"), "1000 TFLOP/s");
  EXPECT_EQ(quantity_text(55.3e9, "B/s"), "55.3 GB/s");
  EXPECT_EQ(quantity_text(0.0021, "ms"), "2.1 us");
  EXPECT_EQ(quantity_text(692.4, "W"), "692.4 W");
  EXPECT_EQ(quantity_text(0.9966, "1"), "0.9966");
  EXPECT_EQ(quantity_text(0, "FLOP/s"), "0 FLOP/s");
}

TEST(Curves, EachGpuHasItsCurvesWithUnitsAndItsTestsBelow) {
  const std::string text = render_html(samples::full());
  const auto count = [&](std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<div class=\"card curves\">"), 8u);
  EXPECT_EQ(count("<b>Power, W</b>"), 8u);
  EXPECT_EQ(count("<b>Temperatures, \u00b0C</b>"), 8u);
  EXPECT_EQ(count("<b>Errors, counted since boot</b>"), 1u);
  EXPECT_GE(count("<title>tensor: 10.6 to 22.6 s</title>"), 8u);
  EXPECT_EQ(count(">Xid 94</text>"), 5u) << "once a chart of GPU 3";
}

TEST(Curves, PeakOfALongRunIsDrawnAndTheFileStaysSmall) {
  Report report = samples::one_gpu();
  SampleSeries& power = report.samples->series[2];
  ASSERT_EQ(power.name, "power");
  power.t_ms.clear();
  power.value.clear();
  for (int i = 0; i < 100'000; ++i) {
    power.t_ms.push_back(100.0 * i);
    power.value.push_back(i == 31'337 ? 700 : 100);
  }
  power.max = 700;
  const std::string text = render_html(report);
  EXPECT_LT(text.size(), 400'000u);
  // The axis goes from 0 to 800 W over 110 units: 700 W is at 8 + 110 / 8.
  EXPECT_TRUE(contains(text, ",21.8 ")) << "the peak";
}

TEST(Curves, NonsenseOfADriverIsDrawnInFiniteTime) {
  Report report = samples::one_gpu();
  for (SampleSeries& series : report.samples->series) {
    series.value.back() = series.last = series.max = 1.8e19;  // a counter of all ones
    series.min = series.name == "ecc_corrected" ? 1.7999e19 : 0;
  }
  EXPECT_LT(render_html(report).size(), 400'000u);
  EXPECT_FALSE(render_terminal(report, {}).empty());
}

}  // namespace
}  // namespace gpuready
