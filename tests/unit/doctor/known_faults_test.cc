// Faults that were published with versions: the file, its ranges, and for which machines they are
// reported. What each machine must match was written down from the sources.
#include "doctor/known_faults.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "machines.h"
#include "unit/value/describe.h"
#include "value/names.h"

namespace gpuready::test {
namespace {

TEST(KnownFaults, ARangeHasItsBoundsAndNothingBeyond) {
  struct Case {
    std::string_view version, ranges;
    bool in;
  };
  constexpr Case kCases[] = {
      {"570.133.20", "570.133.20", true},
      {"570.133.07", "570.133.20", false},
      {"570.133.20", "570.133", true},
      {"570.86.15", "570..570.158.01", true},
      {"570.158.01", "570..570.158.01", true},
      {"570.158.02", "570..570.158.01", false},
      {"569.99", "570..570.158.01", false},
      {"535.216.01", "535..<535.216.03", true},
      {"535.216.03", "535..<535.216.03", false},
      {"535.43.02", "535..<535.216.03", true},
      {"6.14.11-300.fc42.x86_64", "6.15..", false},
      {"6.15.0-1-amd64", "6.15..", true},
      {"6.15-rc1", "6.15..", true},
      {"7.0.0-14-generic", "6.15..", true},
      {"6.8.0-37-generic", "6.8.0-38..6.8.0-41", false},
      {"6.8.0-38-generic", "6.8.0-38..6.8.0-41", true},
      {"6.8.0-41-lowlatency", "6.8.0-38..6.8.0-41", true},
      {"6.8.0-44-generic", "6.8.0-38..6.8.0-41", false},
      {"6.1.119", "6.1.76..6.1 6.6.15..6.6", true},
      {"6.2.1", "6.1.76..6.1 6.6.15..6.6", false},
      {"6.6.14", "6.1.76..6.1 6.6.15..6.6", false},
      {"6.0.17", "..<6.0.18", true},
      {"6.1.0-40-amd64", "6.1..<6.1.4", false},  // builds of distributions: no patch level
      {"6.1.0-40-amd64", "5.18..<6.0.18", false},
      {"6.1.0-40-amd64", "..<6.19.10", true},
      {"6.1.0-40-amd64", "6.1", true},
      {"6.1.0-18-amd64", "6.1.0-18..6.1.0-99", true},
      {"6.1.0-17-amd64", "6.1.0-18..6.1.0-99", false},
      {"6.1.80", "6.1.0-18..6.1.0-99", false},
      {"5.15.0-122-generic", "5.15.0..5.15.5", false},
      {"5.15.3", "5.15.0..5.15.5", true},
      {"5.14.0-570.12.1.el9_6.x86_64", "5.14.2..", false},
      {"5.14.0-570.12.1.el9_6.x86_64", "5.14..", true},
      {"", "..<6.0.18", false},
      {"unknown", "6", false},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(is_in(c.version, c.ranges), c.in) << c.version << " in " << c.ranges;
  for (const auto text : {"..", "6.15..6.14", "x", "6.x..", "..<", "-"})
    EXPECT_FALSE(are_ranges(text)) << text;
}

TEST(KnownFaults, AWrongFileIsRefusedWithItsRow) {
  const auto error_of = [](const std::string& row) {
    const auto faults = parse_known_faults(R"({"symptoms": {}, "faults": [)" + row + "]}");
    if (!faults) return faults.error().message;
    const auto versions = check_versions(faults->front());
    return versions ? std::string("accepted") : versions.error().message;
  };
  const std::string rest =
      R"("text": "t", "symptoms": "xid-79", "sureness": "reported", "source": "s"})";
  EXPECT_EQ(error_of(R"({"id": "a", "vendor": "amd", "kernels": "6.1", )" + rest), "accepted");
  EXPECT_EQ(error_of(R"({"id": "a", "vendor": "amd", )" + rest), "a: it names no version");
  EXPECT_EQ(error_of(R"({"id": "a", "vendor": "arm", "kernels": "6.1", )" + rest),
            "a: unknown vendor or sureness");
  EXPECT_EQ(error_of(R"({"id": "a", "vendor": "amd", "kernels": "6.2..6.1", )" + rest),
            "a: `6.2..6.1` is not a range");
  EXPECT_EQ(error_of(R"({"id": "a", "vendor": "amd", "kernels": "6.1"})"),
            "a: symptoms is missing");
}

TEST(KnownFaults, EveryRowHasASourceAndSymptomsThatExist) {
  const auto faults = known_faults();
  EXPECT_GE(faults.size(), 60u);
  std::set<std::string> known{"xid-*"}, told;
  for (auto& id : finding_ids()) known.insert(id);
  for (const auto& fault : faults) {
    EXPECT_TRUE(told.insert(fault.id).second) << "twice: " << fault.id;
    EXPECT_TRUE(check_versions(fault)) << fault.id;
    EXPECT_TRUE(fault.source.starts_with("https://") || contains(fault.source, "hangelog"))
        << fault.id;
    EXPECT_EQ(fault.fixed.empty() && fault.sureness == Sureness::fixed_only, false) << fault.id;
    for (const auto id : split(fault.symptoms, " "))
      EXPECT_TRUE(known.contains(std::string(id)) || id.starts_with("xid-"))
          << fault.id << ": " << id;
    EXPECT_TRUE(fault.text.starts_with("to ") || fault.text.starts_with("not to ")) << fault.id;
  }
}

struct Named {
  std::string_view vendor, gpu, chip, driver, flavour, kernel, rocm;
  Ids rows;
};

Machine machine_with(const Named& named) {
  auto machine = healthy();
  auto& gpu = machine.gpus.front();
  gpu.vendor = gpuready::named<Vendor>(named.vendor).value();
  gpu.name = named.gpu;
  if (named.chip.starts_with("gfx")) gpu.gfx_target = named.chip;
  machine.pci.front().name = std::string(named.chip);
  machine.system.kernel_release = named.kernel;
  machine.nvidia = {};
  if (!named.driver.empty()) machine.nvidia.module_version = std::string(named.driver);
  if (!named.flavour.empty()) machine.nvidia.module_flavour = std::string(named.flavour);
  if (!named.rocm.empty()) machine.amd.rocm_version = std::string(named.rocm);
  return machine;
}

// Whatever the symptoms are: all rows whose versions and GPUs are the machine's.
TEST(KnownFaults, FitTheMachinesThatTheirSourcesDescribe) {
  const Named kMachines[] = {
      {"nvidia",
       "NVIDIA B200",
       "GB100",
       "570.133.20",
       "open",
       "6.6.0",
       "",
       {"nvidia-66-days", "nvidia-uvm-register-null", "nvidia-mig-mixed"}},
      {"nvidia",
       "NVIDIA B200",
       "GB100",
       "580.95.05",
       "open",
       "6.8.0-60-generic",
       "",
       {"nvidia-uvm-register-null"}},
      {"nvidia",
       "NVIDIA RTX 2000 Ada Generation Laptop GPU",
       "AD107GLM",
       "610.43.03",
       "open",
       "7.1.3-200.fc44.x86_64",
       "",
       {"nvidia-610-power-reading", "nvidia-build-7.0"}},
      {"nvidia",
       "NVIDIA GH200 144G HBM3e",
       "GH100",
       "565.57.01",
       "open",
       "6.11.0-1002-nvidia-64k",
       "",
       {"nvidia-gh200-nvl2"}},
      {"nvidia",
       "NVIDIA GeForce RTX 4060",
       "AD107",
       "595.58.03",
       "open",
       "6.17.7",
       "",
       {"nvidia-595-booter", "nvidia-uvm-hmm-exit", "nvidia-difr-resume"}},
      {"nvidia",
       "NVIDIA A10G",
       "GA102GL [A10G]",
       "535.161.08",
       "open",
       "5.10.0",
       "",
       {"nvidia-a10-gsp"}},
      {"nvidia", "NVIDIA A10G", "GA102GL [A10G]", "535.161.08", "proprietary", "5.10.0", "", {}},
      {"nvidia",
       "NVIDIA A100-SXM4-80GB",
       "GA100",
       "535.54.03",
       "proprietary",
       "5.15.0-91-generic",
       "",
       {"nvidia-535-suspend", "nvidia-and-64", "nvidia-memory-full-panic"}},
      {"nvidia",
       "Tesla T4",
       "TU104GL [Tesla T4]",
       "550.163.01",
       "proprietary",
       "6.15.4-1-arch",
       "",
       {"nvidia-build-6.15"}},
      {"nvidia",
       "NVIDIA GeForce GTX 1080",
       "GP104",
       "470.57.02",
       "proprietary",
       "5.17.1",
       "",
       {"nvidia-470-spinlock", "nvidia-470-xids-race", "nvidia-build-5.17", "nvidia-build-5.14"}},
      {"nvidia",
       "NVIDIA H100 80GB HBM3",
       "GH100",
       "580.95.05",
       "open",
       "6.1.0-40-amd64",
       "",
       {"nvidia-uvm-register-null"}},
      {"amd",
       "AMD Instinct MI300X",
       "gfx942",
       "",
       "",
       "5.15.0-122-generic",
       "6.2.1",
       {"amd-mi300x-recovery"}},
      {"amd", "AMD Instinct MI300X", "gfx942", "", "", "5.15.0-122-generic", "6.2.2", {}},
      {"amd",
       "Radeon 8060S",
       "gfx1151",
       "",
       "",
       "6.14.0-24-generic",
       "6.4.1",
       {"amd-strix-halo-6.14", "amd-vgpr-count", "amd-dkms-6.14"}},
      {"amd",
       "Radeon RX 7900 XTX",
       "gfx1100",
       "",
       "",
       "6.11.0-8-generic",
       "6.2.2",
       {"amd-dkms-6.11"}},
      {"intel",
       "Arc A770",
       "DG2 [Arc A770]",
       "",
       "",
       "6.8.0-40-generic",
       "",
       {"intel-dg2-fence-ubuntu"}},
      {"intel", "Arc A770", "DG2 [Arc A770]", "", "", "6.6.30-1-lts", "", {"intel-dg2-fence"}},
      {"intel", "Arc A770", "DG2 [Arc A770]", "", "", "6.6.33", "", {}},
      {"intel", "UHD Graphics 770", "AlderLake-S GT1", "", "", "6.1.3", "", {"intel-evict-lock"}},
      {"intel",
       "Arc B580",
       "Battlemage G21 [Arc B580]",
       "",
       "",
       "6.11.4",
       "",
       {"intel-early-battlemage"}},
      {"intel", "Arc B580", "Battlemage G21 [Arc B580]", "", "", "6.14.2", "", {}},
  };
  for (const auto& named : kMachines) {
    const auto machine = machine_with(named);
    Ids rows;
    for (const auto& fault : known_faults())
      if (!concerned(machine, fault).empty()) rows.push_back(fault.id);
    EXPECT_EQ(rows, named.rows) << named.gpu << ", " << named.driver << ", " << named.kernel;
  }
}

std::vector<Finding> known_of(const Machine& machine) {
  std::vector<Finding> known;
  for (auto& finding : diagnose(machine))
    if (finding.id == "known-fault") known.push_back(std::move(finding));
  return known;
}

TEST(KnownFaults, AreToldBesideASymptomOfTheirGpuOnly) {
  auto machine = healthy(2);
  machine.gpus[0].name = "NVIDIA GeForce RTX 4060";
  machine.nvidia.module_version = machine.nvidia.driver_version = "595.58.03";
  for (auto& gpu : machine.gpus) gpu.architecture = gpu.index == 0 ? "Ada Lovelace" : "Hopper";
  EXPECT_TRUE(known_of(machine).empty());
  auto other = machine;
  drop_from_nvml(other, 1);
  log(other, "NVRM: GPU 0000:11:00.0: RmInitAdapter failed! (0x62:0x40:2168)");
  EXPECT_TRUE(known_of(other).empty());
  drop_from_nvml(machine, 0);
  auto third = machine;
  log(third, "NVRM: GPU 0000:10:00.0: RmInitAdapter failed! (0x62:0x1f:2168)");
  EXPECT_TRUE(known_of(third).empty());  // another code
  log(machine, "NVRM: GPU 0000:10:00.0: RmInitAdapter failed! (0x62:0x40:2168)");
  const auto known = known_of(machine);
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].severity, Severity::info);
  EXPECT_EQ(known[0].action, Action::none);
  EXPECT_EQ(known[0].gpus, std::vector<int>{0});
  EXPECT_TRUE(known[0].title.starts_with("Driver 595.58.03 is known to fail"));
  EXPECT_TRUE(contains(known[0].explanation, "bazzite/issues/4494"));
}

TEST(KnownFaults, ASevereOneIsToldOfAMachineThatWorks) {
  auto machine = healthy();
  machine.gpus[0].name = "NVIDIA B200";
  machine.nvidia.module_version = machine.nvidia.driver_version = "570.133.20";
  const auto findings = diagnose(machine);
  ASSERT_EQ(known_of(machine).size(), 1u);
  for (const auto& finding : findings) EXPECT_NE(finding.severity, Severity::error);
  EXPECT_EQ(known_of(machine)[0].title,
            "Driver 570.133.20 is known to hang in every call after about 66 days of uptime");
  machine.nvidia.module_flavour = "proprietary";
  EXPECT_TRUE(known_of(machine).empty());
}

TEST(KnownFaults, OfManyThatFitTheFirstOfEachSymptomIsTold) {
  auto machine = healthy();
  machine.system.kernel_release = "6.16.3";
  machine.nvidia.module_loaded = false;
  machine.nvidia.module_version.reset();
  machine.nvidia.driver_version.reset();
  for (auto& library : machine.nvidia.libraries) library.version = "470.57.02";
  machine.pci.front().driver.reset();
  fail_nvml(machine, 9, "NVML_ERROR_DRIVER_NOT_LOADED");
  const auto known = known_of(machine);
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].title,
            "Driver 470.57.02 with Linux 6.16.3 is known not to build unless patched");
  EXPECT_EQ(known[0].cure, "Fixed in driver 570.153.02. Install that, or a newer one.");
}

// NVIDIA's module that is there was built; it says nothing of AMD's.
TEST(KnownFaults, ADriverThatIsThereWasBuilt) {
  const auto told = [](bool loaded, std::optional<bool> installed) {
    auto machine = healthy(2);
    machine.system.kernel_release = "6.18.1";
    machine.gpus[0].vendor = Vendor::amd;
    machine.gpus[0].driver = machine.pci[0].driver = "amdgpu";
    machine.gpus[0].gfx_target = "gfx90a";
    machine.pci[0].vendor_id = 0x1002;
    machine.nvidia.module_loaded = loaded;
    machine.nvidia.module_installed = installed;
    machine.amd.rocm_version = "7.2.0";
    machine.amd.module_version = "6.3.6";
    machine.amd.start = ApiStatus{"hsa_init()", 4104, "HSA_STATUS_ERROR_OUT_OF_RESOURCES"};
    return known_of(machine);
  };
  for (const auto& [loaded, installed] :
       std::initializer_list<std::pair<bool, std::optional<bool>>>{
           {false, {}}, {false, true}, {true, {}}}) {
    const auto known = told(loaded, installed);
    ASSERT_EQ(known.size(), 1u);
    EXPECT_EQ(known[0].gpus, std::vector<int>{0});
    EXPECT_TRUE(known[0].title.ends_with("is known not to build its kernel driver"))
        << known[0].title;
  }
}

std::string cell(std::string_view name, std::string_view value) {
  return value.empty() ? "" : fmt::format("{} `{}`", name, value);
}

// The page that lists them is made here and must be current.
TEST(KnownFaults, TheDocsAreCurrent) {
  std::string page =
      "# Known faults\n\n"
      "Faults of drivers, kernels and toolkits that were published with versions. `gpuready "
      "doctor` reports one as the info\n[`known-fault`](findings.md#known-fault) if this machine "
      "has these versions and such a GPU, and shows a finding that it\nwould fit; the severe ones "
      "also without. Versions: `570..570.158.01` includes both, `535..<535.216.03` excludes the "
      "last,\n`6.15..` is open above, and `6.8` means every version that begins with it.\n\n"
      "The source names these versions; where only the version that fixes it (`fixed_only`: from "
      "the branch's first version on,\nas assumed), or users name them (`reported`), the last "
      "column "
      "says so. This page is generated from\n`src/doctor/known_faults.json`, which was written in "
      "November 2026.\n\n"
      "| id | GPUs | versions | known | fixed in | source |\n|---|---|---|---|---|---|\n";
  for (const auto& fault : known_faults()) {
    const auto driver = fault.flavour.empty() ? "driver" : fault.flavour + " driver";
    std::string versions;
    for (const auto& part : {cell(driver, fault.drivers), cell("Linux", fault.kernels),
                             cell(fault.vendor == Vendor::amd ? "ROCm" : "CUDA", fault.toolkits)})
      if (!part.empty()) versions += (versions.empty() ? "" : ", ") + part;
    page += fmt::format(
        "| `{}`{} | {} | {} | {} | {} | {}{} |\n", fault.id, fault.severe ? ", severe" : "",
        fault.gpus.empty() ? "any of " + std::string(to_string(fault.vendor)) : fault.gpus,
        versions, fault.text, fault.fixed.empty() ? "-" : fault.fixed,
        fault.source.starts_with("http") ? "<" + fault.source + ">" : fault.source,
        fault.sureness == Sureness::published ? ""
                                              : fmt::format(" (`{}`)", name_of(fault.sureness)));
  }
  value::expect_current("docs/known-faults.md", page);
}

TEST(KnownFaults, ADriversVersionIsThatOfWhatRunsElseOfWhatIsInstalled) {
  Machine machine;
  EXPECT_EQ(known_driver(machine, Vendor::nvidia), "");
  // "1" is what some libraries are named by: no version of a driver.
  machine.nvidia.libraries = {{"libnvidia-ml.so.1", "/a", "/a", "999.99"},
                              {"libcuda.so.1", "/b", "/b", "1"},
                              {"libnvidia-ptxjitcompiler.so.1", "/c", "/c", "535.216.01"},
                              {"libnvoptix.so.1", "/d", "/d", "550.54.14"}};
  machine.nvidia.libraries[0].version.reset();
  EXPECT_EQ(known_driver(machine, Vendor::nvidia), "535.216.01");
  machine.nvidia.driver_version = "570.133.20";
  EXPECT_EQ(known_driver(machine, Vendor::nvidia), "570.133.20");
  machine.nvidia.module_version = "580.95.05";
  EXPECT_EQ(known_driver(machine, Vendor::nvidia), "580.95.05");
  EXPECT_EQ(known_driver(machine, Vendor::amd), "");
  machine.amd.module_version = "6.12.12";
  EXPECT_EQ(known_driver(machine, Vendor::amd), "6.12.12");
  EXPECT_EQ(known_driver(machine, Vendor::intel), "");
}

}  // namespace
}  // namespace gpuready::test
