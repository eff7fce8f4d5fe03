#include "samples.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "doctor/diagnose.h"
#include "report/conclude.h"

namespace gpuready::samples {
namespace {

Gpu h200(int index, int numa_node, std::uint8_t bus) {
  Gpu gpu;
  gpu.index = index;
  gpu.vendor = Vendor::nvidia;
  gpu.pci = PciAddress{0, bus, 0, 0};
  gpu.name = "NVIDIA H200";
  gpu.name_source = "nvml";
  gpu.uuid = fmt::format("GPU-7f3c1e20-0000-4b7a-9d11-0000000000{:02x}", index);
  gpu.nvml_index = gpu.minor_number = gpu.cuda_ordinal = index;
  gpu.compute_capability = "9.0";
  gpu.architecture = "Hopper";
  gpu.multiprocessors = 132;
  gpu.memory = {.total_bytes = 150'754'820'096,
                .free_bytes = 150'109'749'248,
                .used_bytes = 0,
                .reserved_bytes = 645'070'848,
                .bar1_total_bytes = 256 * GiB,
                .bus_width_bits = 6144};
  gpu.clocks = {.sm_mhz = 345, .memory_mhz = 3201, .max_sm_mhz = 1980, .max_memory_mhz = 3201};
  gpu.power = {.draw_mw = 76'540u + 100u * static_cast<unsigned>(index),
               .limit_mw = 700'000,
               .default_limit_mw = 700'000,
               .max_limit_mw = 700'000};
  gpu.thermal = {.gpu_celsius = 27 + index,
                 .memory_celsius = 34 + index,
                 .slowdown_celsius = 90,
                 .shutdown_celsius = 95};
  gpu.utilization_percent = 0;
  gpu.ecc.enabled_now = gpu.ecc.enabled_pending = true;
  gpu.ecc.since_boot = {.corrected = 0, .uncorrected = 0};
  gpu.ecc.lifetime = {.corrected = 2, .uncorrected = 0};
  gpu.link_now = {.generation = 5, .width = 16};
  gpu.link_max = {.generation = 5, .width = 16};
  gpu.pcie_errors.replays = 0;
  gpu.persistence = true;
  gpu.mig_enabled = gpu.mig_pending = false;
  gpu.compute_mode = "default";
  gpu.clock_event_reasons = 1;
  gpu.fabric.state = "completed";
  for (int link = 0; link < 18; ++link) {
    NvLink nvlink;
    nvlink.link = link;
    nvlink.up = true;
    nvlink.version = 4;
    nvlink.remote_kind = "switch";
    gpu.nvlinks.push_back(nvlink);
  }
  gpu.numa_node = numa_node;
  gpu.cpu_affinity = numa_node == 0 ? "0-47,96-143" : "48-95,144-191";
  gpu.driver = "nvidia";
  gpu.sources = {"pci", "procfs", "nvml", "cuda"};
  return gpu;
}

Verdict memory_verdict(const Gpu& gpu) {
  Verdict verdict;
  verdict.test = "memory";
  verdict.subject = fmt::format("GPU {}", gpu.index);
  verdict.uuid = gpu.uuid;
  verdict.pci_address = gpu.pci->text();
  verdict.executor = "cuda";
  verdict.status = VerdictStatus::passed;
  verdict.reason = "Every word held its own address and then the complement of it.";
  verdict.coverage = Coverage{.tested_bytes = 149'600'000'000,
                              .free_bytes = 150'109'749'248,
                              .total_bytes = 150'109'749'248,
                              .reserved_bytes = 645'070'848};
  const std::string source = "90% of the copy rate measured in the same run";
  verdict.metrics = {{"write_address_rate", 4.28e12, "B/s", 3.879e12, source},
                     {"verify_address_rate", 4.22e12, "B/s", 3.879e12, source},
                     {"write_complement_rate", 4.29e12, "B/s", 3.879e12, source},
                     {"verify_complement_rate", 4.25e12, "B/s", 3.879e12, source},
                     {"copy_rate_driver", 4.31e12, "B/s", {}, {}},
                     {"copy_rate_kernel", 4.19e12, "B/s", {}, {}},
                     {"copy_rate", 4.31e12, "B/s", {}, {}},
                     {"coverage", 0.9966, "1", 0.995, "the memory test's own rule"}};
  verdict.duration_ms = 812.5;
  return verdict;
}

Machine host() {
  Machine machine;
  machine.source = "live";
  machine.full = true;
  machine.system.host_name = "node-17";
  machine.system.kernel_release = "6.8.0-60-generic";
  machine.system.architecture = "x86_64";
  machine.system.os_name = "Ubuntu 24.04.2 LTS";
  machine.system.cpu_model = "Intel(R) Xeon(R) Platinum 8568Y+";
  machine.system.cpu_count = 192;
  machine.system.memory_total_bytes = 2048 * GiB;
  machine.system.memory_available_bytes = 1987 * GiB;
  machine.system.numa_cpus = {{0, "0-47,96-143"}, {1, "48-95,144-191"}};
  machine.system.iommu_active = true;
  machine.system.unix_seconds = 1'772'366'400;
  machine.container.runtime = "docker";
  machine.container.cgroup_version = "2";
  machine.container.memory_limit_bytes = 1024 * GiB;
  machine.container.cpu_limit = 96;
  machine.visibility.nvidia_visible_devices = "all";
  machine.kernel_log.readable = false;
  machine.kernel_log.error = "Operation not permitted";
  machine.unseen = {{"kernel log", "Operation not permitted"}};
  return machine;
}

void add_nvidia(Machine& machine) {
  NvidiaDriver& nvidia = machine.nvidia;
  nvidia.module_loaded = nvidia.uvm_loaded = true;
  nvidia.module_version = nvidia.driver_version = "580.159.04";
  nvidia.module_flavour = "open";
  nvidia.cuda_version = "13.0";
  nvidia.nvml_start = ApiStatus{"nvmlInit_v2()", 0, ""};
  nvidia.cuda_start = ApiStatus{"cuInit(0)", 0, ""};
  nvidia.nvml_outcome = nvidia.cuda_outcome = "completed";
  nvidia.fabric_manager = "running";
  nvidia.libraries = {{"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                       "/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04", "580.159.04"}};
  machine.toolkits = {{"cuda", "12.8", "/usr/local/cuda-12.8", true, "580.95.05"}};
  machine.nodes = {{"/dev/nvidia0", true, {}, 0666, 0, 0, 195, 0, {}, true, {}, {}},
                   {"/dev/nvidia-uvm", true, {}, 0666, 0, 0, 510, 0, {}, true, {}, {}}};
}

void add_gpus(Machine& machine, int count) {
  for (int i = 0; i < count; ++i) {
    machine.gpus.push_back(h200(i, i * 2 / count, static_cast<std::uint8_t>(0x17 + 0x11 * i)));
    PciDevice device;
    device.address = *machine.gpus.back().pci;
    device.vendor_id = 0x10de;
    device.device_id = 0x2335;
    device.class_code = 0x030200;
    device.driver = "nvidia";
    device.is_gpu = true;
    device.host_bridge = fmt::format("pci0000:{:02x}", 0x15 + 0x11 * i);
    machine.pci.push_back(device);
  }
  for (int a = 0; a < count; ++a)
    for (int b = a + 1; b < count; ++b)
      machine.paths.push_back({a, b, PathKind::nvswitch, 18, "ok"});
}

Report start(std::string command) {
  Report report;
  report.command = std::move(command);
  report.tool_version = "0.1.0";
  report.created_utc = "2026-03-01T12:00:00Z";
  report.machine = host();
  report.duration_ms = 2140.7;
  return report;
}

Finding remap_finding() {
  Finding finding;
  finding.id = "row-remap-pending";
  finding.severity = Severity::error;
  finding.title = "GPU 3 waits for a reset to replace a bad row of its memory";
  finding.explanation =
      "The driver has found a row with an uncorrectable error and will use a spare one only after "
      "the GPU was reset. Until then results that touch it cannot be trusted.";
  finding.gpus = {3};
  finding.evidence = {
      {"nvmlDeviceGetRemappedRows(3)", "corrected 0, uncorrected 1, pending 1, failed 0"},
      {"kernel log",
       "NVRM: Xid (PCI:0000:4a:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: "
       "New row marked for remapping, reset gpu to activate."}};
  finding.cure = "Stop what runs on the GPU and reset it.";
  finding.action = Action::reset_gpu;
  finding.command = "nvidia-smi --gpu-reset -i 0000:4a:00.0";
  Finding inner;
  inner.id = "xid-94";
  inner.severity = Severity::error;
  inner.title = "Xid 94: contained uncorrectable ECC error";
  inner.gpus = {3};
  inner.evidence = {{"kernel log", "NVRM: Xid (PCI:0000:4a:00): 94"}};
  finding.explains = {inner};
  return finding;
}

Finding link_finding() {
  Finding finding;
  finding.id = "pcie-link-narrow";
  finding.severity = Severity::warning;
  finding.title = "The PCIe link of GPU 5 runs at x8 of x16";
  finding.explanation = "Copies from and to the host take twice as long as they could.";
  finding.gpus = {5};
  finding.evidence = {{"/sys/bus/pci/devices/0000:6c:00.0/current_link_width", "8"}};
  finding.cure = "Reseat the card or its riser; then look at the BIOS's bifurcation setting.";
  finding.action = Action::replace;
  return finding;
}

}  // namespace

Report empty() { return {}; }

Report healthy() {
  Report report = start("check");
  add_nvidia(report.machine);
  add_gpus(report.machine, 2);
  report.findings.emplace();
  report.verdicts.emplace();
  for (const Gpu& gpu : report.machine.gpus) report.verdicts->push_back(memory_verdict(gpu));
  report.conclusion = "2 of 2 GPUs are ready for work.";
  return report;
}

Report eight() {
  Report report = start("check");
  add_nvidia(report.machine);
  add_gpus(report.machine, 8);
  report.machine.gpus[3].remapping = {.corrected = 0,
                                      .uncorrected = 1,
                                      .pending = true,
                                      .failed = false,
                                      .banks_max = {},
                                      .banks_high = {},
                                      .banks_partial = {},
                                      .banks_low = {},
                                      .banks_none = {}};
  report.machine.gpus[5].link_now.width = 8;
  report.findings = {remap_finding(), link_finding()};
  report.verdicts.emplace();
  for (const Gpu& gpu : report.machine.gpus) report.verdicts->push_back(memory_verdict(gpu));
  Verdict& failed = (*report.verdicts)[3];
  failed.status = VerdictStatus::failed;
  failed.reason = "9 words did not read back as they were written.";
  failed.bad_words_total = 9;
  for (std::uint64_t i = 0; i < 6; ++i)
    failed.bad_words.push_back({0x1'2000'0040 + i * 4096, 0x0123'4567'89ab'cdef,
                                0x0123'4567'89ab'cdef ^ (1ull << (7 + i)), "complement"});
  Verdict& slow = (*report.verdicts)[6];
  slow.status = VerdictStatus::failed;
  slow.reason = "Reading reached 61% of the copy rate; 90% is the least.";
  slow.metrics[3].value = 2.63e12;
  Verdict& hung = (*report.verdicts)[7];
  hung.status = VerdictStatus::timed_out;
  hung.reason = "No answer within 30 s; the test was stopped in cuMemAlloc_v2.";
  hung.coverage.reset();
  hung.metrics.clear();
  report.exit = Exit::unhealthy;
  report.conclusion = "5 of 8 GPUs are ready for work: GPU 3 failed the memory test.";
  return report;
}

Report no_gpu() {
  Report report = start("check");
  report.machine.system.hypervisor = "firecracker";
  report.machine.system.cpu_count = 2;
  report.machine.system.memory_total_bytes = 16 * GiB;
  VulkanDevice llvmpipe;
  llvmpipe.name = "llvmpipe (LLVM 15.0.6, 256 bits)";
  llvmpipe.type = "cpu";
  llvmpipe.driver_name = "llvmpipe";
  report.machine.vulkan.outcome = "completed";
  report.machine.vulkan.devices = {llvmpipe};
  report.findings.emplace();
  Verdict verdict;
  verdict.test = "memory";
  verdict.subject = "the host";
  verdict.executor = "cpu";
  verdict.status = VerdictStatus::passed;
  verdict.reason = "Every word held its own address and then the complement of it.";
  verdict.coverage = Coverage{256 * MiB, 9 * GiB, 16 * GiB, {}};
  verdict.metrics = {{"copy_rate", 18.2e9, "B/s", {}, {}},
                     {"write_address_rate", 17.9e9, "B/s", {}, {}},
                     {"verify_address_rate", 16.1e9, "B/s", {}, {}}};
  verdict.duration_ms = 131;
  report.verdicts = {verdict};
  report.conclusion = "No GPU here; the host was tested instead and passed.";
  return report;
}

Report desktop() {
  Report report = start("check");
  report.machine = {};
  report.machine.source = "live";
  report.machine.system.chassis_type = 3;
  PciDevice device;
  device.address = PciAddress{0, 1, 0, 0};
  device.vendor_id = 0x10de;
  device.device_id = 0x1b80;
  device.class_code = 0x030000;
  device.driver = "nouveau";
  device.display_connected = device.is_gpu = true;
  Gpu gpu;
  gpu.vendor = Vendor::nvidia;
  gpu.pci = device.address;
  gpu.name = "NVIDIA GeForce GTX 1080";
  gpu.driver = device.driver;
  report.machine.pci = {device};
  report.machine.gpus = {gpu};
  report.findings = diagnose(report.machine);
  report.verdicts.emplace();
  conclude(report, {});
  return report;
}

Report faked() {
  Report report = start("check");
  report.machine.fakes = {"cuda"};
  Gpu gpu;
  gpu.vendor = Vendor::nvidia;
  gpu.name = "Faked CUDA GPU";
  gpu.name_source = "fake";
  gpu.faked = true;
  report.machine.gpus = {gpu};
  report.findings.emplace();
  Verdict verdict;
  verdict.test = "memory";
  verdict.subject = "GPU 0";
  verdict.status = VerdictStatus::not_tested;
  verdict.reason = "A faked GPU cannot execute.";
  report.verdicts = {verdict};
  report.exit = Exit::unknown;
  report.conclusion = "Faked GPUs: nothing can be proven on them.";
  return report;
}

Report detect() {
  Report report = eight();
  report.command = "detect";
  report.findings.reset();
  report.verdicts.reset();
  report.machine.paths[3].kind = PathKind::system;
  report.machine.paths[4].kind = PathKind::same_switch;
  report.conclusion = "8 GPUs found.";
  report.exit = Exit::ok;
  return report;
}

Report hostile() {
  Report report = eight();
  for (Gpu& gpu : report.machine.gpus) {
    gpu.name = gpu.uuid.emplace(kHostile);
    gpu.compute_mode = gpu.fabric.state = gpu.cpu_affinity = kHostile;
  }
  Machine& machine = report.machine;
  machine.system.host_name = machine.system.kernel_release = kHostile;
  machine.system.cpu_model = machine.container.runtime = kHostile;
  machine.visibility.cuda_visible_devices = kHostile;
  machine.nvidia.module_version = machine.nvidia.cuda_version = kHostile;
  machine.unseen = {{kHostile, kHostile}};
  machine.pci[0].host_bridge = kHostile;
  machine.gpus[0].numa_node.reset();
  VulkanDevice device;
  device.name = kHostile;
  device.type = "cpu";
  machine.vulkan.devices = {device};
  for (Finding& finding : *report.findings) {
    finding.id = finding.title = finding.explanation = kHostile;
    finding.cure = finding.command = kHostile;
    finding.evidence = {{kHostile, kHostile + "\n```\n" + kHostile}};
    for (Finding& inner : finding.explains) inner.title = kHostile;
  }
  for (Verdict& verdict : *report.verdicts) {
    verdict.reason = kHostile;
    for (BadWord& word : verdict.bad_words) word.phase = kHostile;
    for (Metric& metric : verdict.metrics) metric.threshold_source = kHostile;
  }
  (*report.verdicts)[0].test = (*report.verdicts)[0].subject = kHostile;
  (*report.verdicts)[1].metrics.push_back({kHostile, 3, kHostile, 4.0, kHostile});
  Verdict& fitness = report.verdicts->emplace_back();
  fitness.test = fitness.reason = kHostile;
  fitness.executor = "host";
  fitness.status = VerdictStatus::failed;
  Verdict& wrong = report.verdicts->emplace_back();
  wrong.test = wrong.subject = wrong.reason = wrong.executor = kHostile;
  wrong.injected_fault = kHostile;
  wrong.started_ms = 10;
  wrong.duration_ms = 90;
  wrong.pci_address = machine.gpus[1].pci->text();
  wrong.status = VerdictStatus::failed;
  wrong.mismatches = {{kHostile, 3u, 4, 5, 6}};
  wrong.digests = {{kHostile, 7}};
  report.samples.emplace();
  report.samples->absent = {kHostile};
  for (const std::string& name : {kHostile, "power" + std::string(), "clock_event_" + kHostile}) {
    SampleSeries& series = report.samples->series.emplace_back();
    series.gpu = 1;
    series.name = name;
    series.unit = kHostile;
    series.taken = 2;
    series.max = series.mean = series.last = 1;
    series.t_ms = {0, 100};
    series.value = {0, 1};
  }
  report.samples->sampled_xids = {{1, 50, 94}};
  report.notes = {kHostile};
  report.conclusion = report.tool_version = report.created_utc = kHostile;
  return report;
}

std::vector<std::pair<std::string, Report>> all() {
  std::vector<std::pair<std::string, Report>> out{
      {"empty", empty()},     {"healthy", healthy()},   {"eight", eight()},
      {"no_gpu", no_gpu()},   {"faked", faked()},       {"detect", detect()},
      {"hostile", hostile()}, {"filled", filled()},     {"one_gpu", one_gpu()},
      {"full", full()},       {"injected", injected()}, {"desktop", desktop()}};
  Report doctor = healthy();
  doctor.command = "doctor";
  doctor.verdicts.reset();
  out.emplace_back("doctor", std::move(doctor));
  Report bare = empty();
  bare.command = "detect";
  out.emplace_back("empty_detect", std::move(bare));
  return out;
}

// What the other tests lean on.
TEST(Samples, TheEightHoldAFailureASlowOneAndAHungOne) {
  const Report report = eight();
  ASSERT_EQ(report.machine.gpus.size(), 8u);
  EXPECT_EQ((*report.verdicts)[3].status, VerdictStatus::failed);
  EXPECT_EQ((*report.verdicts)[7].status, VerdictStatus::timed_out);
}

}  // namespace gpuready::samples
