// Every machine under tests/machines, through the whole way: recording, inspection, diagnosis. Its
// expected.json says what is found and what is diagnosed. GPUREADY_UPDATE_EXPECTED=1 writes these
// files anew; read each difference before it is committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "base/json.h"
#include "base/text.h"
#include "doctor/cause.h"
#include "doctor/compare.h"
#include "doctor/diagnose.h"
#include "host/recording/recording.h"
#include "host/recording/recording_archive.h"
#include "host/redaction/redactor.h"
#include "machine/inspect.h"
#include "machine/redaction.h"
#include "unit/machine_folders.h"

namespace gpuready {
namespace {

using test::folder_of, test::machine_names, test::machine_of, test::recording_of;
namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// What a program met on a GPU after the inspection: only running work tells some causes.
void add_worker_errors(const Json& expected, Machine& machine) {
  for (const auto& item : member(expected, "worker_errors")) {
    const auto gpu = static_cast<std::size_t>(get_uint(item, "gpu").value_or(0));
    ASSERT_LT(gpu, machine.gpus.size());
    machine.gpus[gpu].errors.push_back({get_string(item, "call").value_or(""),
                                        static_cast<int>(get_int(item, "code").value_or(0)),
                                        get_string(item, "name").value_or("")});
  }
}

Json link_text(const PcieLink& now, const PcieLink& max) {
  const auto text = [](const PcieLink& link) {
    return (link.generation ? "Gen" + std::to_string(*link.generation) : "Gen?") + " x" +
           (link.width ? std::to_string(*link.width) : "?");
  };
  return text(now) + " of " + text(max);
}

Json detected(const Machine& machine) {
  Json doc = Json::object();
  doc["gpus"] = Json::array();
  for (const auto& gpu : machine.gpus) {
    Json item = Json::object();
    item["vendor"] = to_string(gpu.vendor);
    if (gpu.pci) item["pci"] = gpu.pci->text();
    put(item, "name", gpu.name);
    put(item, "driver", gpu.driver);
    put(item, "compute_capability", gpu.compute_capability);
    put(item, "gfx_target", gpu.gfx_target);
    put(item, "memory_total_bytes", gpu.memory.total_bytes);
    put(item, "multiprocessors", gpu.multiprocessors);
    if (gpu.link_now.width || gpu.link_max.width)
      item["link"] = link_text(gpu.link_now, gpu.link_max);
    if (gpu.suspended) item["suspended"] = true;
    if (gpu.integrated) item["integrated"] = true;
    if (!gpu.mig.empty()) item["mig_instances"] = gpu.mig.size();
    if (!gpu.nvlinks.empty()) item["nvlinks"] = gpu.nvlinks.size();
    doc["gpus"].push_back(std::move(item));
  }
  put(doc, "nvidia_module", machine.nvidia.module_version);
  put(doc, "nvidia_flavour", machine.nvidia.module_flavour);
  put(doc, "cuda", machine.nvidia.cuda_version);
  put(doc, "amdgpu_module", machine.amd.module_version);
  put(doc, "rocm", machine.amd.rocm_version);
  put(doc, "container", machine.container.runtime);
  if (machine.system.wsl2) doc["wsl2"] = true;
  put(doc, "jetson", machine.system.jetson_release);
  return doc;
}

Json summary_of(const Finding& finding) {
  Json doc = Json::object();
  doc["id"] = finding.id;
  doc["severity"] = to_string(finding.severity);
  doc["action"] = to_string(finding.action);
  doc["gpus"] = finding.gpus;
  doc["explains"] = Json::array();
  for (const auto& inner : finding.explains) doc["explains"].push_back(inner.id);
  return doc;
}

// What a user sees of it where that is not its row's, and where each quote is from.
Json shown(const Finding& finding) {
  Json doc = summary_of(finding);
  const auto row = std::ranges::find(doctor::causes(), finding.id, &doctor::Cause::id);
  const bool known = row != doctor::causes().end();
  const auto differs = [&](const char* name, const std::optional<std::string>& text,
                           std::string_view own) {
    if (!known || text.value_or("") != own) doc[name] = text ? Json(*text) : Json();
  };
  differs("title", finding.title, known ? row->title : "");
  differs("explanation", finding.explanation, known ? row->explanation : "");
  differs("cure", finding.cure, known ? row->cure : "");
  differs("command", finding.command, known ? row->command : "");
  for (const auto& item : finding.evidence) doc["evidence"].push_back(item.source);
  return doc;
}

void check_form(const Finding& finding) {
  EXPECT_FALSE(finding.title.empty()) << finding.id;
  EXPECT_FALSE(finding.explanation.empty()) << finding.id;
  EXPECT_FALSE(finding.evidence.empty()) << finding.id;
  for (const auto& item : finding.evidence) {
    EXPECT_FALSE(item.source.empty()) << finding.id;
    EXPECT_LE(item.quote.size(), 200u) << finding.id;
    EXPECT_EQ(item.quote, printable(item.quote)) << finding.id;
  }
  EXPECT_EQ(finding.title, printable(finding.title));
  EXPECT_FALSE(contains(finding.command.value_or(""), "{")) << *finding.command;
  for (const auto& inner : finding.explains) check_form(inner);
}

class Machines : public testing::TestWithParam<std::string> {};

TEST_P(Machines, FindingsAreAsExpected) {
  const auto path = folder_of(GetParam()) / "expected.json";
  Json expected = Json::object();
  if (fs::exists(path)) {
    auto parsed = parse_json(slurp(path), path.string());
    ASSERT_TRUE(parsed) << parsed.error().message;
    expected = std::move(*parsed);
  }
  auto machine = machine_of(GetParam());
  Json actual = Json::object();
  actual["detect"] = detected(machine);
  if (expected.contains("worker_errors")) actual["worker_errors"] = expected["worker_errors"];
  add_worker_errors(expected, machine);
  actual["findings"] = Json::array();
  for (const auto& finding : diagnose(machine)) {
    check_form(finding);
    actual["findings"].push_back(shown(finding));
  }
  if (std::getenv("GPUREADY_UPDATE_EXPECTED") != nullptr) {
    std::ofstream(path) << actual.dump(1) << '\n';
    return;
  }
  if (actual == expected) return;
  const Json difference = Json::diff(expected, actual);
  std::string text;
  for (const auto& step : difference) text += "  " + dump_line(step) + "\n";
  ADD_FAILURE() << GetParam() << " differs from " << path << " in:\n" << text;
}

// What a finding says, with all names gone: what redaction leaves of the original's text and of the
// redacted recording's is the same. Quotes are cut after some letters, so only their start is
// compared.
std::string without_names(std::string_view text) {
  constexpr std::size_t kCompared = 60;
  Redactor redactor(redaction_rules());
  static const std::regex kName("redacted-[0-9]+");
  const auto kept = std::regex_replace(redactor.text(text, Redactor::Kind::log), kName, "*");
  return kept.substr(0, kCompared);
}
Json told_by(const Finding& finding) {
  Json doc = summary_of(finding);
  for (const std::string& text : {finding.title, finding.explanation, finding.cure.value_or(""),
                                  finding.command.value_or("")})
    doc["texts"].push_back(without_names(text));
  for (const auto& item : finding.evidence)
    doc["texts"].push_back(without_names(item.source) + " | " + without_names(item.quote));
  for (const auto& inner : finding.explains) doc["inner"].push_back(told_by(inner));
  return doc;
}
Json told_of(Host& host) {
  Json findings = Json::array();
  for (const auto& finding : diagnose(inspect(host, {.full = true})))
    findings.push_back(told_by(finding));
  return findings;
}

// Names that a machine, its users and its jobs may have, and that rules look for.
constexpr const char* kCollidingNames[] = {
    "version",     "reset",  "failed", "pcie",   "Xid",  "nvidia",  "NVRM",  "GPU",
    "79",          "119",    "62",     "154",    "580",  "535.261", "fatal", "gpu",
    "AER",         "error",  "amdgpu", "xe",     "vfio", "bus",     "0000",  "17",
    "Uncorrected", "driver", "module", "device", "lost", "none"};

void name_after(std::mt19937& draw, Recording& recording) {
  const auto name = [&] {
    return std::string(kCollidingNames[draw() % std::size(kCollidingNames)]);
  };
  if (recording.identity)
    if (auto* who = std::get_if<SystemIdentity>(&*recording.identity)) who->host_name = name();
  const std::string group[] = {
      "0::/user.slice/session-" + name() + ".scope\n", "0::/lxc/" + name() + "\n",
      "0::/system.slice/" + name() + ".service\n", "0::/" + name() + "/" + name() + "\n"};
  recording.files.try_emplace("/proc/self/cgroup", group[draw() % std::size(group)]);
  const auto user = name();
  auto& libraries = recording.environment["LD_LIBRARY_PATH"];
  if (libraries)
    *libraries += ":/home/" + user + "/lib";
  else
    libraries = "/home/" + user + "/lib";
  if (recording.kernel_log)
    if (auto* log = std::get_if<std::string>(&*recording.kernel_log))
      *log += "99999.0 traps: " + user + "[79] general protection fault ip:79 in " + user + "\n";
}

// As it is, and with other names.
void expect_the_same_redacted(const std::string& machine_name) {
  std::mt19937 draw(static_cast<unsigned>(std::hash<std::string>{}(machine_name)));
#ifdef GPUREADY_SANITIZED
  constexpr int kFirst = 1, kEnd = 2;
#else
  constexpr int kFirst = 0, kEnd = 4;
#endif
  for (int round = kFirst; round < kEnd; ++round) {
    auto script = load_recording(recording_of(machine_name));
    ASSERT_TRUE(script) << script.error().message;
    if (round > 0) name_after(draw, *script);
    const auto machine = make_recorded_host(std::move(*script));
    Recording recording;
    const auto recorder = make_recording_host(*machine, recording);
    const Json before = told_of(*recorder);
    const auto once = redact(recording, redaction_rules());
    const auto redacted = make_recorded_host(once);
    const Json after = told_of(*redacted);
    std::string text;
    for (const auto& step : Json::diff(before, after)) text += "  " + dump_line(step) + "\n";
    ASSERT_EQ(after, before) << text;
    const auto twice = redact(once, redaction_rules());
    EXPECT_EQ(recording_to_archive(twice).value(), recording_to_archive(once).value());
  }
}

TEST(RedactedMachines, SayTheSameWhateverNamesAre) {
  for (const auto& name : test::walked(machine_names())) {
    SCOPED_TRACE(name);
    expect_the_same_redacted(name);
  }
}

std::string name_in_words(const testing::TestParamInfo<std::string>& machine) {
  std::string name;
  for (const char c : machine.param) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Scripted, Machines, testing::ValuesIn(machine_names()), name_in_words);

std::set<std::string> told_ids() {
  std::set<std::string> told;
  for (const auto& name : machine_names()) {
    const auto expected = parse_json(slurp(folder_of(name) / "expected.json"), name);
    if (!expected) continue;
    for (const auto& finding : member(*expected, "findings")) {
      told.insert(get_string(finding, "id").value_or(""));
      for (const auto& inner : member(finding, "explains")) told.insert(inner.get<std::string>());
    }
  }
  return told;
}

TEST(MachineFolders, EveryCauseHasAMachineThatShowsIt) {
  const auto told = told_ids();
  // Shown by unit tests: they depend on an option, or on a recording that lacks something.
  const std::set<std::string> elsewhere = {"xid", "expected-gpu-count", "not-recorded",
                                           "probe-not-started", "gpu-unusable"};
  for (const auto& cause : doctor::causes()) {
    if (cause.match == nullptr && cause.lines.empty()) continue;  // baseline_test.cc
    const std::string id(cause.id);
    EXPECT_TRUE(told.contains(id) || elsewhere.contains(id)) << id;
  }
}

TEST(MachineFolders, BaseAndHealthyMachinesHaveNoErrorOrWarning) {
  for (const auto& name : machine_names()) {
    if (!name.starts_with("base-") && !name.starts_with("healthy-") && !name.starts_with("procfs-"))
      continue;
    for (const auto& finding : diagnose(machine_of(name)))
      EXPECT_EQ(finding.severity, Severity::info) << name << ": " << finding.title;
  }
}

TEST(MachineFolders, EveryScriptNamesItsSource) {
  for (const auto& name : machine_names()) {
    const auto path = folder_of(name) / "machine.json";
    if (!fs::exists(path)) continue;
    const auto doc = parse_json(slurp(path), name);
    ASSERT_TRUE(doc) << doc.error().message;
    EXPECT_TRUE(get_string(*doc, "source")) << name;
    EXPECT_TRUE(get_string(*doc, "description")) << name;
  }
}

TEST(CauseTable, ExplainsOnlyKnownIdsAndInNoCircle) {
  std::map<std::string_view, const doctor::Cause*> by_id;
  for (const auto& cause : doctor::causes())
    EXPECT_TRUE(by_id.emplace(cause.id, &cause).second) << "twice: " << cause.id;
  for (const auto& cause : doctor::causes()) {
    std::set<std::string_view> seen;
    std::vector<std::string_view> open(cause.explains.begin(), cause.explains.end());
    while (!open.empty()) {
      const auto id = open.back();
      open.pop_back();
      EXPECT_NE(id, cause.id) << "a circle";
      if (id.starts_with("xid-")) continue;
      const auto known = by_id.find(id);
      ASSERT_NE(known, by_id.end()) << cause.id << " explains " << id;
      if (!seen.insert(id).second) continue;
      open.insert(open.end(), known->second->explains.begin(), known->second->explains.end());
    }
  }
}

// docs/findings.md has one heading an id: "### `id`".
TEST(CauseTable, EveryIdIsDocumentedAndEveryDocumentedIdExists) {
  std::set<std::string> known = {"slower-than-siblings", "differs-from-siblings"};
  for (const auto& id : finding_ids()) EXPECT_TRUE(known.insert(id).second) << "twice: " << id;
  std::set<std::string> documented;
  const auto page = slurp(std::string(GPUREADY_SOURCE_DIR) + "/docs/findings.md");
  for (const auto line : lines(page))
    if (const auto rest = after_prefix(line, "### `"))
      documented.insert(std::string(rest->substr(0, rest->find('`'))));
  EXPECT_EQ(documented, known);
}

}  // namespace
}  // namespace gpuready
