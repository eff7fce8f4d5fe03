// Markdown, HTML and Prometheus: escaping, and that each says the same as the summary.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "base/sha256.h"
#include "base/text.h"
#include "doctor/diagnose.h"
#include "host/recording/base64.h"
#include "report/conclude.h"
#include "report/report.h"
#include "report/summary.h"
#include "samples.h"

namespace gpuready {
namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

// Beside the JSON documents, for a look by eye and for promtool.
void keep(const std::string& name, const std::string& text) {
  const std::filesystem::path folder = std::string(GPUREADY_BINARY_DIR) + "/test-documents";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name) << text;
}

TEST(Renderers, EverySampleInEveryFormatIsPrintable) {
  for (const auto& [name, report] : samples::all()) {
    for (const auto& [ending, text] :
         {std::pair{"html", render_html(report)}, std::pair{"md", render_markdown(report)},
          std::pair{"prom", render_prometheus(report)},
          std::pair{"txt", render_terminal(report, {.unicode = true})},
          std::pair{"ascii.txt", render_terminal(report, {})}}) {
      keep("report." + name + "." + ending, text);
      EXPECT_FALSE(text.empty()) << name << ending;
      EXPECT_EQ(printable(text), text) << name << ending;
    }
  }
}

TEST(Renderers, EachTellsTheConclusionAndThatItIsFaked) {
  const Report report = samples::faked();
  for (const std::string& text :
       {render_terminal(report, {}), render_markdown(report), render_html(report)}) {
    EXPECT_TRUE(contains(text, "FAKED")) << text;
    EXPECT_TRUE(contains(text, *report.conclusion)) << text;
  }
  EXPECT_TRUE(contains(render_prometheus(report), "faked=\"cuda\""));
}

TEST(Renderers, DisplayOnlyGpuIsNeitherReadyNorAtFault) {
  const Report report = samples::desktop();
  EXPECT_EQ(report.exit, Exit::ok);
  EXPECT_EQ(report.conclusion, "No GPU for compute here. 1 GPU is for display only.");
  EXPECT_EQ(summarize(report).tone, Tone::neutral);
  for (const std::string& text :
       {render_terminal(report, {}), render_markdown(report), render_html(report)}) {
    EXPECT_TRUE(contains(text, "display only")) << text;
    EXPECT_TRUE(contains(text, "Its driver, nouveau, offers no compute.")) << text;
  }
  const Json status = to_json(report).at("gpu_status").at(0);
  EXPECT_EQ(status.at("status"), "display_only");
  const std::string metrics = render_prometheus(report);
  EXPECT_TRUE(contains(metrics, "status=\"display_only\"} 1\n")) << metrics;
  EXPECT_FALSE(contains(metrics, "gpuready_gpu_ready")) << "0 would be a false alarm";
}

TEST(Renderers, DisplayOnlyGpuIsNotReadyOnceComputeIsRequired) {
  Report report = samples::desktop();
  report.findings = diagnose(report.machine, {.expected_gpus = 1});
  conclude(report, {.required_gpus = 1});
  EXPECT_EQ(report.exit, Exit::unhealthy);
  EXPECT_EQ(to_json(report).at("gpu_status").at(0).at("status"), "not_ready");
  EXPECT_TRUE(contains(*report.conclusion, "nouveau holds the GPU")) << *report.conclusion;
}

TEST(Renderers, AgreeOnTheStatusOfEveryGpu) {
  const Report report = samples::eight();
  const Summary summary = summarize(report);
  const std::vector<GpuState> expected{GpuState::ready,     GpuState::ready,  GpuState::ready,
                                       GpuState::not_ready, GpuState::ready,  GpuState::attention,
                                       GpuState::not_ready, GpuState::unknown};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(summary.gpus[i].state, expected[i]) << i;
  EXPECT_EQ(summary.ready, 5);
  EXPECT_EQ(count(render_prometheus(report), "status=\"not_ready\"} 1"), 2u);
  EXPECT_EQ(count(render_markdown(report), "**not ready**"), 2u);
}

TEST(Summary, WhatWasNotTestedIsNeverReady) {
  Report report = samples::healthy();
  for (const auto status :
       {VerdictStatus::not_tested, VerdictStatus::not_supported, VerdictStatus::timed_out,
        VerdictStatus::inconclusive, VerdictStatus::failed}) {
    (*report.verdicts)[0].status = status;
    const Summary summary = summarize(report);
    EXPECT_NE(tone_of(summary.gpus[0].state), Tone::good) << to_string(status);
    EXPECT_EQ(summary.ready, 1) << to_string(status);
  }
  report.verdicts->clear();
  EXPECT_EQ(summarize(report).ready, 0);
}

TEST(Summary, TestWithAnInjectedFaultProvesNothing) {
  Report report = samples::healthy();
  (*report.verdicts)[0].injected_fault = "bitflip";
  EXPECT_EQ(summarize(report).gpus[0].state, GpuState::unknown);
  EXPECT_EQ(summarize(report).ready, 1);
}

TEST(Summary, AHostThatPassedIsNoGpuThatIsReady) {
  const Summary summary = summarize(samples::no_gpu());
  EXPECT_EQ(summary.ready, 0);
  EXPECT_EQ(summary.tone, Tone::neutral);
  EXPECT_EQ(summarize(samples::healthy()).tone, Tone::good);
}

TEST(Summary, WithoutAGpuItSaysWhatTheBusHoldsUnlessANoteSaidSo) {
  Report report = samples::no_gpu();
  report.machine.system.hypervisor.reset();
  for (const char* holds :
       {"the PCI bus holds no display controller and no accelerator",
        "the only display controller or accelerator on the PCI bus is not a GPU",
        "none of the 2 display controllers and accelerators on the PCI bus is a GPU"}) {
    EXPECT_EQ(summarize(report).no_gpu, "No GPU in this machine: " + std::string(holds) + ".");
    report.machine.pci.emplace_back().class_code = 0x030000;
  }
  report.machine.pci.clear();
  report.machine.system.hypervisor = "kvm";
  EXPECT_TRUE(summarize(report).no_gpu->ends_with(
      "accelerator, and none was passed to this virtual machine (kvm)."));
  for (const auto& [note, told] : {std::pair("No GPU was found.", true),
                                   {"no GPU", true},
                                   {"no GP", false},
                                   {"The host has no GPU.", false},
                                   {"", false}}) {
    report.notes = {note};
    EXPECT_EQ(summarize(report).no_gpu.has_value(), !told) << note;
  }
}

TEST(Summary, VerdictIsMatchedByAddressThenUuidNeverByNumberWhenEitherIsTold) {
  Report report = samples::healthy();
  Verdict& verdict = (*report.verdicts)[0];
  verdict.subject = "GPU 0";
  verdict.pci_address = report.machine.gpus[1].pci->text();
  EXPECT_EQ(summarize(report).tests[0].gpu, 1);
  verdict.pci_address.reset();
  EXPECT_EQ(summarize(report).tests[0].gpu, 0);  // by its UUID
  verdict.uuid = "GPU-of-another-machine";
  EXPECT_EQ(summarize(report).tests[0].gpu, std::nullopt);
  verdict.uuid.reset();
  EXPECT_EQ(summarize(report).tests[0].gpu, 0);  // by its subject, which is all there is
}

TEST(Html, HostileTextNeverBecomesMarkup) {
  const std::string text = render_html(samples::hostile());
  EXPECT_EQ(count(text, "<script"), 1u);  // our own
  EXPECT_EQ(count(text, "alert('x')"), 0u);
  EXPECT_TRUE(contains(text, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
}

// The policy names our script and our style by their hashes (Content Security Policy Level 2,
// 4.2.4), as a browser computes them: of all that stands between the tags.
std::string policy_source(std::string_view page, const std::string& tag) {
  const auto open = "<" + tag + ">";
  const auto begin = page.find(open) + open.size(), end = page.find("</" + tag + ">");
  const Sha256 sum = sha256(page.substr(begin, end - begin));
  return tag + "-src 'sha256-" +
         base64_encode({reinterpret_cast<const char*>(sum.data()), sum.size()}) + "';";
}
TEST(Html, ThePolicyAllowsOurScriptAndStyleAlone) {
  for (const auto& [name, report] : samples::all()) {
    const std::string text = render_html(report);
    const auto policy = "content=\"default-src 'none'; " + policy_source(text, "style") + " " +
                        policy_source(text, "script") + " base-uri 'none'; form-action 'none'\"";
    EXPECT_TRUE(contains(text, policy)) << name << " " << policy;
    for (const char* refused : {"unsafe", " style=", " onclick=", " onload="})
      EXPECT_FALSE(contains(text, refused)) << name << " " << refused;
  }
}

TEST(Html, AsksForNothingFromOutside) {
  for (const auto& [name, report] : samples::all()) {
    const std::string text = render_html(report);
    EXPECT_EQ(count(text, "http://"), 0u) << name;
    EXPECT_EQ(count(text, "https://"), 0u) << name;
    EXPECT_EQ(count(text, "url("), 0u) << name;
    EXPECT_EQ(count(text, " src="), 0u) << name;
  }
}

TEST(Html, TagsAreClosedInOrder) {
  static const std::set<std::string> kVoid{"meta", "!doctype"};
  const std::regex tag("<(/?)([a-zA-Z!][a-zA-Z0-9]*)[^>]*?(/?)>");
  for (const auto& [name, report] : samples::all()) {
    std::string text = render_html(report);
    text = text.substr(0, text.find("<script>")) + text.substr(text.find("</script>") + 9);
    text = text.substr(0, text.find("<style>")) + text.substr(text.find("</style>") + 8);
    std::vector<std::string> open;
    for (std::sregex_iterator it(text.begin(), text.end(), tag), end; it != end; ++it) {
      if (kVoid.contains((*it)[2]) || (*it)[3].length() > 0) continue;
      if ((*it)[1].length() == 0) {
        open.push_back((*it)[2]);
        continue;
      }
      ASSERT_FALSE(open.empty()) << name << ": " << (*it)[0];
      ASSERT_EQ(open.back(), (*it)[2]) << name << " at " << it->position();
      open.pop_back();
    }
    EXPECT_TRUE(open.empty()) << name << ": " << (open.empty() ? "" : open.back());
  }
}

TEST(Html, ThresholdAndFailureShowInTheBars) {
  const std::string text = render_html(samples::eight());
  EXPECT_TRUE(contains(text, "61% of copy rate"));
  EXPECT_EQ(count(text, "<svg class=\"fill bad\" width=\"61.0%\">"), 1u);
  EXPECT_EQ(count(text, "class=\"limit\"><svg width=\"90.0%\">"), 14u);
}

TEST(Html, TopologyDrawsBundlesAndTheNarrowLink) {
  const std::string text = render_html(samples::eight());
  EXPECT_TRUE(contains(text, ">NVSwitch</text>"));
  EXPECT_EQ(count(text, ">NV18</text>"), 8u);
  EXPECT_TRUE(contains(text, ">gen 5 x8/16</text>"));
  EXPECT_EQ(count(text, "class=\"group\""), 2u);
}

TEST(Markdown, HostileTextStaysInItsCellAndMakesNoMarkup) {
  const std::string text = render_markdown(samples::hostile());
  std::string fence;  // inside fenced code it may stand as it is
  for (const auto line : lines(text)) {
    const auto ticks = line.substr(0, std::min(line.find_first_not_of('`'), line.size()));
    if (ticks.size() >= 3) {
      if (fence.empty())
        fence = ticks;
      else if (line == fence)
        fence.clear();
      continue;
    }
    if (fence.empty()) {
      EXPECT_FALSE(contains(line, "<script")) << line;
    }
    if (line.starts_with("| 0 |")) {
      EXPECT_EQ(count(line, " | "), 6u) << line;
    }
  }
  EXPECT_TRUE(fence.empty());
}

TEST(Markdown, FenceIsLongerThanWhatItHolds) {
  const std::string text = render_markdown(samples::hostile());
  EXPECT_TRUE(contains(text, "\n````\n"));
}

TEST(Markdown, TableRowsHaveAsManyCellsAsTheirHeader) {
  for (const auto& [name, report] : samples::all()) {
    std::size_t cells = 0;
    const std::string text = render_markdown(report);
    for (const auto line : lines(text)) {
      if (!line.starts_with("| ")) {
        if (!line.starts_with("|")) cells = 0;
        continue;
      }
      const auto now = count(line, "|") - count(line, "\\|");
      if (cells != 0) {
        EXPECT_EQ(now, cells) << name << ": " << line;
      }
      cells = now;
    }
  }
}

// The rules of the text format and of `promtool check metrics`.
TEST(Prometheus, FollowsTheFormatAndItsNamingRules) {
  const std::regex sample(
      R"re(([a-z_]+)(\{[a-z_]+="([^"\\\n]|\\["\\n])*"(,[a-z_]+="([^"\\\n]|\\["\\n])*")*\})? -?[0-9.e+-]+)re");
  const std::regex unit("_(milliseconds|mhz|mw|ms|percent|kib|mib|gib|fahrenheit)(_|$)");
  for (const auto& [name, report] : samples::all()) {
    std::set<std::string> families, samples;
    std::string family, type;
    const std::string text = render_prometheus(report);
    for (const auto view : lines(text)) {
      const std::string line(view);
      if (const auto help = after_prefix(line, "# HELP ")) {
        family = std::string(help->substr(0, help->find(' ')));
        EXPECT_TRUE(families.insert(family).second) << "twice: " << family;
        EXPECT_GT(help->size(), family.size() + 1) << "no help";
        EXPECT_TRUE(family.starts_with("gpuready_")) << family;
        EXPECT_FALSE(std::regex_search(family, unit)) << family;
        continue;
      }
      if (const auto rest = after_prefix(line, "# TYPE ")) {
        type = std::string(rest->substr(rest->find(' ') + 1));
        EXPECT_EQ(rest->substr(0, rest->find(' ')), family);
        EXPECT_EQ(type == "counter", family.ends_with("_total")) << family;
        continue;
      }
      std::smatch match;
      ASSERT_TRUE(std::regex_match(line, match, sample)) << name << ": " << line;
      EXPECT_EQ(match[1], family) << line;
      EXPECT_TRUE(samples.insert(line.substr(0, line.rfind(' '))).second) << "twice: " << line;
    }
  }
}

TEST(Renderers, AnActionIsToldOfEachFindingEachGpuAndTheMachine) {
  const auto report = samples::eight();
  const Json doc = to_json(report);
  EXPECT_EQ(doc.at("action"), "replace") << "the strongest of the machine";
  std::map<int, std::string> of_gpus;
  for (const auto& status : doc.at("gpu_status"))
    of_gpus[status.at("index")] = status.at("action").get<std::string>();
  EXPECT_EQ(of_gpus[3], "reset_gpu");
  EXPECT_EQ(of_gpus[5], "replace");
  EXPECT_EQ(of_gpus[0], "none");
  EXPECT_FALSE(to_json(samples::detect()).contains("action")) << "nothing was diagnosed";
  EXPECT_TRUE(contains(render_markdown(report), "**Action:** reset gpu\n"));
  EXPECT_TRUE(contains(render_html(report), "<b>Action.</b> reset gpu<"));
}

TEST(Prometheus, HasTheFiguresInBaseUnits) {
  const std::string text = render_prometheus(samples::eight());
  EXPECT_TRUE(contains(text, "\ngpuready_exit_code 1\n"));
  EXPECT_TRUE(contains(text, "\ngpuready_gpus_ready 5\n"));
  EXPECT_TRUE(contains(text, "pci=\"0000:17:00.0\"} 76.54\n")) << "power in watts";
  EXPECT_TRUE(contains(
      text, "gpuready_finding{id=\"row-remap-pending\",severity=\"error\",action=\"reset_gpu\""));
  EXPECT_TRUE(contains(text, "rate=\"verify complement\"} 2630000000000\n"));
}

TEST(Prometheus, ATestHasItsSecondsAndTheThresholdsThatItHas) {
  Report report = samples::healthy();
  Verdict& verdict = report.verdicts->front();
  verdict.duration_ms = 1500;
  verdict.metrics = {{"copied", 8, "B/s", 4, {}}, {"heat", 70, "C", {}, {}}};
  const std::string text = render_prometheus(report);
  const auto sample = [&](std::string_view start, std::string_view end) {
    const auto all = lines(text);
    return std::ranges::count_if(
        all, [&](std::string_view line) { return line.starts_with(start) && line.ends_with(end); });
  };
  EXPECT_EQ(sample("gpuready_test_duration_seconds{", "} 1.5"), 1);
  EXPECT_EQ(sample("gpuready_metric{", "metric=\"copied\",unit=\"B/s\"} 8"), 1);
  EXPECT_EQ(sample("gpuready_metric_threshold{", "metric=\"copied\",unit=\"B/s\"} 4"), 1);
  EXPECT_EQ(sample("gpuready_metric{", "metric=\"heat\",unit=\"C\"} 70"), 1);
  EXPECT_EQ(count(text, "metric=\"copied\""), 2u);
  EXPECT_EQ(count(text, "metric=\"heat\""), 1u) << "it has no threshold";
}

TEST(Prometheus, HasEachObligationOfAGpuWithItsStatus) {
  Report report = samples::healthy();
  conclude(report, {});
  ASSERT_FALSE(report.obligations.empty() || report.obligations[0].empty());
  const std::string text = render_prometheus(report);
  for (std::size_t gpu = 0; gpu < report.obligations.size(); ++gpu)
    for (const Obligation& each : report.obligations[gpu])
      EXPECT_TRUE(contains(text, fmt::format("obligation=\"{}\",status=\"{}\"}} 1\n",
                                             to_string(each.kind), to_string(each.status))))
          << gpu << " " << to_string(each.kind);
  EXPECT_EQ(count(text, "\ngpuready_gpu_obligation{"),
            report.obligations.size() * report.obligations[0].size());
}

TEST(Prometheus, ReadyIsAbsentWhereNothingWasToBeTested) {
  EXPECT_FALSE(contains(render_prometheus(samples::detect()), "gpuready_gpu_ready"));
  EXPECT_TRUE(contains(render_prometheus(samples::healthy()), "gpuready_gpu_ready"));
}

}  // namespace
}  // namespace gpuready
