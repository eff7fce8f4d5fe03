// What the page says of machines that lose GPUs, drivers that hang, and Xids that are cleared. The
// numbers follow from docs/exporter.md.
#include "exporter/report/page.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "doctor/diagnose.h"
#include "exporter/http_server.h"
#include "exporter/sample.h"
#include "report/conclude.h"
#include "unit/report/healthy.h"

namespace gpuready::exporter {
namespace {

constexpr std::int64_t kBoot = 1'772'366'400;  // 2026-03-01T12:00:00Z
const PciAddress kFirst{0, 0x17, 0, 0}, kSecond{0, 0x2a, 0, 0};

Gpu gpu_at(int index, PciAddress pci, std::string uuid) {
  Gpu gpu = healthy_gpu(index);
  gpu.pci = pci;
  gpu.uuid = std::move(uuid);
  gpu.thermal.gpu_celsius = 40 + index;
  gpu.pcie_errors.replays = 7;
  gpu.recovery_action = "none";
  return gpu;
}

Report machine_of(std::vector<Gpu> gpus) {
  Report report;
  report.command = "doctor";
  Machine& machine = report.machine;
  machine.source = "live";
  machine.gpus = std::move(gpus);
  machine.nvidia.module_loaded = true;
  machine.nvidia.module_version = "580.95.05";
  machine.nvidia.nvml_outcome = "completed";
  machine.nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 0, "NVML_SUCCESS"};
  machine.nvidia.nvml_device_count = static_cast<int>(machine.gpus.size());
  for (const Gpu& gpu : machine.gpus) {
    PciDevice& device = machine.pci.emplace_back();
    device.address = *gpu.pci;
    device.vendor_id = 0x10de;
    device.is_gpu = true;
    device.driver = "nvidia";
  }
  machine.system.unix_seconds = kBoot + 1000;
  machine.system.uptime_seconds = 1000;
  machine.kernel_log.readable = true;
  return report;
}
Report concluded(Report report) {
  report.findings = diagnose(report.machine, {});
  conclude(report, {});
  return report;
}
Report both() { return machine_of({gpu_at(0, kFirst, "GPU-a"), gpu_at(1, kSecond, "GPU-b")}); }
Report only_second() { return machine_of({gpu_at(0, kSecond, "GPU-b")}); }

// NVML has lost the first one; the bus has not.
Report without_first() {
  Report report = both();
  Gpu& gpu = report.machine.gpus[0];
  gpu = {};
  gpu.vendor = Vendor::nvidia, gpu.pci = kFirst, gpu.driver = "nvidia";
  gpu.name = "GH100 [H100 SXM5 80GB]";  // of pci.ids
  gpu.errors = {{"nvmlDeviceGetHandleByIndex_v2(0)", 15, "NVML_ERROR_GPU_IS_LOST"}};
  return report;
}

Report with_xid(Report report, int code, double seconds) {
  const std::string line = "NVRM: Xid (PCI:0000:17:00): " + std::to_string(code) + ", pid=1";
  report.machine.kernel_log.lines.push_back({line, seconds, 0});
  report.machine.kernel_log.xids.push_back(
      {code, PciAddress{0, 0x17, 0, 0}, line, seconds, "kernel log", 0});
  return report;
}
Report with_line(Report report, std::string text, double seconds) {
  report.machine.kernel_log.lines.push_back({std::move(text), seconds, 0});
  return report;
}

void sample(Observed& seen, const Report& report, double now) {
  seen.asked_at = now - 0.1;
  note_sample(seen, concluded(report), now);
}

Moment at(double now) {
  return {now,
          {.unix_seconds = kBoot + 1000 + static_cast<std::int64_t>(now),
           .valid_seconds = 90'000,
           .machine_id = {},
           .boot_id = {},
           .driver_version = "580.95.05"}};
}

// The value of the only sample that has this name and all of these labels; "" for none, "?" for
// several.
std::string value(const std::string& page, std::string_view name,
                  std::vector<std::string_view> labels = {}) {
  std::string found;
  for (const auto line : lines(page)) {
    const auto end = line.find_first_of("{ ");
    if (line.substr(0, end) != name) continue;
    if (!std::ranges::all_of(labels, [&](auto label) { return contains(line, label); })) continue;
    if (!found.empty()) return "?";
    found = line.substr(line.rfind(' ') + 1);
  }
  return found;
}
std::string of(const Observed& seen, double now, std::string_view name,
               std::vector<std::string_view> labels = {}) {
  return value(page(seen, at(now)), name, std::move(labels));
}

constexpr std::string_view kA = "uuid=\"GPU-a\"", kB = "uuid=\"GPU-b\"";

TEST(ExporterPage, SaysNothingGoodBeforeTheFirstSample) {
  Observed seen;
  seen.started_at = 10, seen.asked_at = 10;
  EXPECT_EQ(of(seen, 11, "gpuready_gpus"), "");
  EXPECT_EQ(of(seen, 11, "gpuready_driver_unanswered_seconds"), "0");
  EXPECT_FALSE(readiness(seen, 11, 5).ready);
  EXPECT_EQ(of(seen, 14, "gpuready_driver_unanswered_seconds"), "4");
}

TEST(ExporterPage, AMachineWhoseDriverIsNotLoadedIsNotFine) {
  Report report = both();
  report.machine.nvidia = {};
  for (auto& device : report.machine.pci) device.driver.reset();
  Observed seen;
  sample(seen, report, 1);
  EXPECT_EQ(of(seen, 1, "gpuready_driver_loaded", {"driver=\"nvidia\""}), "0");
  EXPECT_EQ(of(seen, 1, "gpuready_gpus_usable"), "0");
  EXPECT_EQ(of(seen, 1, "gpuready_exit_code"), "1");
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_status", {kA, "status=\"not_ready\""}), "1");
}

TEST(ExporterPage, AGpuThatIsLostStaysWithItsNumberAndAge) {
  Observed seen;
  sample(seen, both(), 100);
  sample(seen, only_second(), 160);
  EXPECT_EQ(of(seen, 162, "gpuready_gpus"), "1");
  EXPECT_EQ(of(seen, 162, "gpuready_gpu_present", {kA, "gpu=\"0\""}), "0");
  EXPECT_EQ(of(seen, 162, "gpuready_gpu_present", {kB, "gpu=\"1\""}), "1");
  EXPECT_EQ(of(seen, 162, "gpuready_gpu_answer_age_seconds", {kA}), "62");
  EXPECT_EQ(of(seen, 162, "gpuready_gpu_status", {kA}), "1");
  EXPECT_EQ(of(seen, 162, "gpuready_gpu_status", {kA, "status=\"lost\""}), "1");
  EXPECT_EQ(of(seen, 162, "gpuready_gpu_ready", {kA}), "0");
  // Its counters stay, its sensors do not: an old temperature looks like a new one.
  EXPECT_EQ(of(seen, 162, "gpuready_gpu_pcie_errors_total", {kA, "kind=\"replays\""}), "7");
  EXPECT_EQ(of(seen, 162, "gpuready_gpu_temperature_celsius", {kA}), "");
  EXPECT_EQ(of(seen, 162, "gpuready_gpu_temperature_celsius", {kB, "gpu=\"1\""}), "40");
  // One in another slot does not take its number.
  sample(seen, machine_of({gpu_at(0, {0, 0x10, 0, 0}, "GPU-c"), gpu_at(1, kSecond, "GPU-b")}), 165);
  EXPECT_EQ(of(seen, 165, "gpuready_gpu_present", {"GPU-c", "gpu=\"2\""}), "1");
  EXPECT_EQ(of(seen, 165, "gpuready_gpu_present", {kA, "gpu=\"0\""}), "0");
  // It comes back as itself, or another takes its place.
  sample(seen, both(), 170);
  EXPECT_EQ(of(seen, 170, "gpuready_gpu_present", {kA, "gpu=\"0\""}), "1");
  sample(seen, only_second(), 180);
  sample(seen, machine_of({gpu_at(0, kFirst, "GPU-new"), gpu_at(1, kSecond, "GPU-b")}), 190);
  EXPECT_EQ(of(seen, 190, "gpuready_gpu_present", {kA}), "");
  EXPECT_EQ(of(seen, 190, "gpuready_gpu_present", {"GPU-new", "gpu=\"0\""}), "1");
}

TEST(ExporterPage, AGpuThatTheDriverHasLostKeepsItsNames) {
  Observed seen;
  sample(seen, both(), 100);
  const Report lost = with_xid(without_first(), 79, 500);
  sample(seen, lost, 130);
  EXPECT_EQ(of(seen, 130, "gpuready_gpu_present", {kA, "NVIDIA H100"}), "1");
  EXPECT_EQ(of(seen, 130, "gpuready_gpu_status", {kA, "status=\"not_ready\""}), "1");
  EXPECT_EQ(of(seen, 130, "gpuready_gpu_answer_age_seconds", {kA}), "30");
  EXPECT_EQ(of(seen, 130, "gpuready_gpu_answer_age_seconds", {kB}), "0");
  EXPECT_EQ(of(seen, 130, "gpuready_gpu_temperature_celsius", {kA}), "");
  EXPECT_EQ(of(seen, 130, "gpuready_gpu_pcie_errors_total", {kA}), "7");
  EXPECT_EQ(of(seen, 130, "gpuready_gpu_last_xid", {kA}), "79");
  EXPECT_EQ(of(seen, 130, "gpuready_driver_unanswered_seconds"), "0");
}

TEST(ExporterPage, ASleepingGpuIsNotLost) {
  Observed seen;
  sample(seen, both(), 100);
  Report asleep = both();
  Gpu& gpu = asleep.machine.gpus[0];
  gpu = {};
  gpu.vendor = Vendor::nvidia, gpu.pci = kFirst, gpu.suspended = true;
  sample(seen, asleep, 130);
  EXPECT_EQ(of(seen, 130, "gpuready_gpu_status", {kA, "status=\"suspended\""}), "1");
  EXPECT_EQ(of(seen, 130, "gpuready_gpu_answer_age_seconds", {kA}), "0");
  EXPECT_EQ(of(seen, 130, "gpuready_gpu_temperature_celsius", {kA}), "");
}

TEST(ExporterPage, LostGpusAreBounded) {
  Observed seen;
  for (int i = 0; i < 300; ++i)
    sample(seen,
           machine_of({gpu_at(
               0, {0, static_cast<std::uint8_t>(i % 256), 0, static_cast<std::uint8_t>(i / 256)},
               "GPU-" + std::to_string(i))}),
           i);
  EXPECT_EQ(seen.gpus.size(), 65u);
}

TEST(ExporterPage, ADriverThatHangsIsSilentFromItsLastAnswerOn) {
  Observed seen;
  sample(seen, both(), 100);
  EXPECT_EQ(of(seen, 104, "gpuready_driver_unanswered_seconds"), "0");
  seen.asked_at = 105;  // the answer does not come
  EXPECT_EQ(of(seen, 107.9, "gpuready_driver_unanswered_seconds"), "0");
  EXPECT_EQ(of(seen, 108.5, "gpuready_driver_unanswered_seconds"), "8.5");
  EXPECT_FALSE(readiness(seen, 108.5, 5).ready);
  Report hung = both();
  hung.machine.nvidia.nvml_outcome = "hung";
  hung.machine.nvidia.nvml_stopped_in = "nvmlInit_v2()";
  for (Gpu& gpu : hung.machine.gpus) {  // what the bus still shows
    Gpu bare;
    bare.index = gpu.index, bare.vendor = gpu.vendor, bare.pci = gpu.pci;
    gpu = bare;
  }
  note_sample(seen, concluded(hung), 150);
  const std::string text = page(seen, at(160));
  EXPECT_EQ(value(text, "gpuready_driver_unanswered_seconds"), "60");
  EXPECT_EQ(value(text, "gpuready_exporter_samples_total", {"unanswered"}), "1");
  EXPECT_EQ(value(text, "gpuready_gpu_status", {kA, "status=\"unknown\""}), "1");
  EXPECT_EQ(value(text, "gpuready_gpu_temperature_celsius", {kA}), "");
  EXPECT_EQ(value(text, "gpuready_gpu_pcie_errors_total", {kA}), "7");
  EXPECT_EQ(value(text, "gpuready_gpu_answer_age_seconds", {kB}), "60");
  EXPECT_EQ(value(text, "gpuready_gpus_usable"), "0");
  EXPECT_EQ(value(text, "gpuready_exit_code"), "4");
  EXPECT_EQ(value(text, "gpuready_finding", {"id=\"driver-hung\"", kA}), "1");
  EXPECT_TRUE(contains(readiness(seen, 160, 5).line, "NVML does not answer in nvmlInit_v2()"));
  sample(seen, both(), 200);
  EXPECT_EQ(of(seen, 201, "gpuready_driver_unanswered_seconds"), "0");
  EXPECT_TRUE(readiness(seen, 201, 5).ready);
  note_failure(seen, "no memory", 205);
  EXPECT_EQ(of(seen, 206, "gpuready_driver_unanswered_seconds"), "6");
}

TEST(ExporterPage, ASlowDriverIsWaitedFor) {
  Observed seen;
  seen.asked_at = 0.0;
  note_sample(seen, concluded(both()), 8);  // every GPU started
  seen.asked_at = 10;
  EXPECT_EQ(of(seen, 25, "gpuready_driver_unanswered_seconds"), "0");
  EXPECT_EQ(of(seen, 27, "gpuready_driver_unanswered_seconds"), "19");
}

TEST(ExporterPage, AnXidCountsOnceAndIsCleared) {
  const Report sick = with_xid(both(), 48, 500);
  Observed seen;
  sample(seen, both(), 1);
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_last_xid", {kA}), "0");
  sample(seen, sick, 2);
  sample(seen, sick, 3);
  EXPECT_EQ(of(seen, 3, "gpuready_gpu_xids_total", {kA, "xid=\"48\""}), "1");
  EXPECT_EQ(of(seen, 3, "gpuready_gpu_last_xid", {kA}), "48");
  EXPECT_EQ(of(seen, 3, "gpuready_gpu_last_xid", {kB}), "0");
  sample(seen, with_xid(sick, 48, 600), 4);
  EXPECT_EQ(of(seen, 4, "gpuready_gpu_xids_total", {kA, "xid=\"48\""}), "2");
  // The log forgets it, the GPU does not.
  sample(seen, both(), 5);
  EXPECT_EQ(of(seen, 5, "gpuready_gpu_last_xid", {kA}), "48");
  EXPECT_EQ(of(seen, 5, "gpuready_gpu_xids_total", {kA, "xid=\"48\""}), "2");
  // The driver was loaded again.
  const std::string load = "nvidia-nvlink: Nvlink Core is being initialized, major device number 1";
  sample(seen, with_line(both(), load, 700), 6);
  EXPECT_EQ(of(seen, 6, "gpuready_gpu_last_xid", {kA}), "0");
  EXPECT_EQ(of(seen, 6, "gpuready_gpu_xids_total", {kA, "xid=\"48\""}), "2");
}

TEST(ExporterPage, TheXidThatNamesTheRemedyDoesNotHideTheCause) {
  const Report sick = with_xid(with_xid(without_first(), 79, 500), 154, 501);
  Observed seen;
  sample(seen, both(), 1);
  sample(seen, sick, 2);
  EXPECT_EQ(of(seen, 2, "gpuready_gpu_last_xid", {kA}), "79");
  EXPECT_EQ(of(seen, 2, "gpuready_gpu_xids_total", {kA, "xid=\"154\""}), "1");
}

KeptResult kept(Standing standing, std::int64_t seconds, PciAddress pci, std::string uuid) {
  KeptResult result;
  result.subject = "GPU 0";
  result.uuid = std::move(uuid), result.pci = pci;
  result.standing = standing;
  result.tested_unix_seconds = kBoot + seconds;
  result.driver_version = "580.95.05";
  result.action = Action::reset_gpu;
  result.obligations = {{.kind = ObligationKind::integrity,
                         .status = ObligationStatus::broken,
                         .duty = {},
                         .reason = {},
                         .figure = {}}};
  return result;
}

TEST(ExporterPage, ATestThatPassesLaterClearsAnXid) {
  for (const auto& [tested, expected] : {std::pair{499, "48"}, {501, "0"}}) {
    Observed seen;
    seen.kept.results = {kept(Standing::good, tested, kFirst, "GPU-a")};
    sample(seen, with_xid(both(), 48, 500), 1);
    EXPECT_EQ(of(seen, 1, "gpuready_gpu_last_xid", {kA}), expected) << tested;
  }
}

TEST(ExporterPage, AnUnreadableLogIsNotALogWithoutXids) {
  Report report = both();
  report.machine.kernel_log.readable = false;
  Observed seen;
  sample(seen, report, 1);
  EXPECT_EQ(of(seen, 1, "gpuready_kernel_log_readable"), "0");
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_last_xid"), "");
}

TEST(ExporterPage, OnlyATestMakesAGpuReady) {
  Observed seen;
  sample(seen, both(), 1);
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_ready", {kA}), "0");
  seen.kept.results = {kept(Standing::good, 900, kFirst, "GPU-a"),
                       kept(Standing::bad, 900, kSecond, "GPU-b")};
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_ready", {kA}), "1");
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_ready", {kB}), "0");
  EXPECT_EQ(of(seen, 1, "gpuready_kept_result", {kB, "standing=\"bad\""}), "1");
  EXPECT_EQ(of(seen, 1, "gpuready_kept_result_timestamp_seconds", {kB}),
            std::to_string(kBoot + 900));
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_action", {kB, "source=\"test\"", "reset_gpu"}), "1");
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_action", {kB, "source=\"diagnosis\"", "\"none\""}), "1");
  EXPECT_EQ(
      of(seen, 1, "gpuready_gpu_obligation", {kB, "obligation=\"integrity\"", "status=\"broken\""}),
      "1");
  EXPECT_EQ(of(seen, 90'000, "gpuready_gpu_ready", {kA}), "0") << "it has expired";
  // A good result of yesterday is worth nothing while the diagnosis finds an error.
  Report sick = both();
  sick.machine.gpus[0].remapping.failed = true;
  sample(seen, sick, 2);
  EXPECT_EQ(of(seen, 2, "gpuready_gpu_ready", {kA}), "0");
}

TEST(ExporterPage, AGpuOfAnEarlierTestIsLostAfterARestart) {
  Observed seen;
  seen.kept.results = {kept(Standing::absent, 900, kFirst, "GPU-a")};
  sample(seen, only_second(), 1);
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_present", {kA}), "0");
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_status", {kA, "status=\"lost\""}), "1");
  EXPECT_EQ(of(seen, 1, "gpuready_gpu_ready", {kA}), "0");
}

TEST(ExporterPage, EscapesWhatADriverSays) {
  Report report = both();
  report.machine.gpus[0].name = "a\"b\\c\nd";
  Observed seen;
  sample(seen, report, 1);
  EXPECT_TRUE(contains(page(seen, at(1)), "name=\"a\\\"b\\\\c d\",pci=\"0000:17:00.0\""));
}

TEST(ExporterPage, HasTheNamesOfDcgmOnRequest) {
  Observed seen;
  sample(seen, with_xid(both(), 48, 500), 1);
  EXPECT_FALSE(contains(page(seen, at(1)), "DCGM_"));
  const std::string text = page(seen, at(1), {.dcgm_names = true});
  const std::string_view first = "pci_bus_id=\"00000000:17:00.0\"";
  EXPECT_EQ(value(text, "DCGM_FI_DEV_GPU_TEMP", {first, "UUID=\"GPU-a\""}), "40");
  EXPECT_EQ(value(text, "DCGM_FI_DEV_XID_ERRORS", {first}), "48");
  EXPECT_EQ(value(text, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", {first}), "7");
}

TEST(ExporterPage, SpeaksOpenMetrics) {
  Observed seen;
  sample(seen, both(), 1);
  const std::string text =
      page(seen, at(1), {.format = MetricsFormat::openmetrics, .dcgm_names = true});
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
  EXPECT_TRUE(contains(text, "# TYPE gpuready_exporter_samples counter\n"));
  EXPECT_TRUE(contains(text, "\ngpuready_exporter_samples_total{result=\"answered\"} 1\n"));
  EXPECT_TRUE(contains(text, "# TYPE DCGM_FI_DEV_PCIE_REPLAY_COUNTER unknown\n"));
}

TEST(ExporterListens, OnlyWhereItIsTold) {
  const auto port = [](std::string_view text) {
    const auto address = parse_listen_address(text);
    return address ? address->host + "|" + std::to_string(address->port) + "|" + address->unix_path
                   : "";
  };
  EXPECT_EQ(port("127.0.0.1:9836"), "127.0.0.1|9836|");
  EXPECT_EQ(port("[::1]:0"), "::1|0|");
  EXPECT_EQ(port("unix:/run/a b"), "|0|/run/a b");
  for (const char* bad : {"", "9836", ":9836", "localhost:9836", "127.0.0.1:", "127.0.0.1:65536",
                          "::1:9836", "unix:run", "127.0.0.1:1x"})
    EXPECT_EQ(port(bad), "") << bad;
  EXPECT_EQ(port("unix:/" + std::string(107, 'a')), "") << "longer than the kernel takes";
}

TEST(ExporterAnswers, EachPathHasItsStatusTypeAndText) {
  const Readiness ready{.ready = true, .line = "all is well"};
  const Readiness not_ready{.ready = false, .line = "no sample yet"};
  const std::string plain = "text/plain; charset=utf-8";
  const struct {
    const char *path, *accept;
    const Readiness& ready;
    int status;
    std::string type, body;
  } rows[] = {
      {"/metrics", "", not_ready, 200, "text/plain; version=0.0.4; charset=utf-8", "page 0"},
      {"/metrics", "application/openmetrics-text", ready, 200,
       "application/openmetrics-text; version=1.0.0; charset=utf-8", "page 1"},
      {"/healthz", "", not_ready, 200, plain, "the exporter answers\n"},
      {"/readyz", "", ready, 200, plain, "all is well\n"},
      {"/readyz", "", not_ready, 503, plain, "no sample yet\n"},
      {"/", "", not_ready, 200, plain,
       "gpuready exporter: no sample yet\n\n/metrics\n/readyz\n/healthz\n"},
      {"/metrics/", "", ready, 404, plain, "not found: /metrics has the metrics\n"},
      {"", "", ready, 404, plain, "not found: /metrics has the metrics\n"},
  };
  int rendered = 0;
  const auto metrics = [&](MetricsFormat format) {
    ++rendered;
    return format == MetricsFormat::openmetrics ? "page 1" : "page 0";
  };
  for (const auto& row : rows) {
    const auto answered = answer(row.path, row.accept, row.ready, metrics);
    EXPECT_EQ(answered.status, row.status) << row.path;
    EXPECT_EQ(answered.type, row.type) << row.path;
    EXPECT_EQ(answered.body, row.body) << row.path;
  }
  EXPECT_EQ(rendered, 2);  // only where it is asked for
}

TEST(ExporterSample, TheChildReadsWhatItsParentOrdered) {
  using Args = std::vector<std::string>;
  EXPECT_EQ(sample_args({}), Args{});
  EXPECT_EQ(sample_args({.replay = "a.json"}), Args{"replay=a.json"});
  EXPECT_EQ(sample_args({.timeout_s = 2}), Args{"timeout=2"});
  EXPECT_EQ(sample_args({.replay = "a b.json", .timeout_s = 2.5}),
            (Args{"replay=a b.json", "timeout=2.5"}));
  const Args args = {"timeout=2.5", "other=1", "replay=timeout=9"};
  const auto order = sample_order(args);
  EXPECT_EQ(order.replay, "timeout=9");
  EXPECT_EQ(order.timeout_s, 2.5);
  const auto nothing = sample_order({});
  EXPECT_EQ(nothing.replay, std::nullopt);
  EXPECT_EQ(nothing.timeout_s, std::nullopt);
}

// A file that a driver may yet answer hangs; one that is missing is known to be missing.
TEST(ExporterSample, OnlyFilesThatADriverDidNotAnswerAreUnseen) {
  Recording read;
  read.files["/proc/a"] = "content";
  read.files["/proc/b"] = RecordedFailure{ErrorKind::hung, "no answer: it waits in f", 0};
  read.files["/proc/c"] = RecordedFailure{ErrorKind::timed_out, "no answer within 2 s", 0};
  read.files["/proc/d"] = RecordedFailure{ErrorKind::not_found, "missing", 0};
  Machine machine;
  note_silent_files(read, machine);
  ASSERT_EQ(machine.unseen.size(), 2u);
  EXPECT_EQ(machine.unseen[0].what, "/proc/b");
  EXPECT_EQ(machine.unseen[0].why, "no answer: it waits in f");
  EXPECT_EQ(machine.unseen[1].what, "/proc/c");
}

// RFC 9110, 12.5.1.
TEST(Exporter, GivesTheFormThatIsAskedFor) {
  for (const char* accept :
       {"application/openmetrics-text", "Application/OpenMetrics-Text; version=1.0.0",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
        "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/"
        "*;q=0.1"})
    EXPECT_TRUE(wants_openmetrics(accept)) << accept;
  for (const char* accept :
       {"", "*/*", "text/plain", "application/openmetrics-text;q=0",
        "application/openmetrics-text; version=2.0.0", "application/openmetrics-text;version=0.0.1",
        "text/plain;q=0.9, application/openmetrics-text;version=1.0.0;q=0.1", ";", ",,;=;"})
    EXPECT_FALSE(wants_openmetrics(accept)) << accept;
}

}  // namespace
}  // namespace gpuready::exporter
