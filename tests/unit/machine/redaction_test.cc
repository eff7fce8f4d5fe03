// Nothing that identifies a machine, its users or its place outlives `record --redact`: the secrets
// of planted_secrets.json stand in every place that a recording has, and in none of its bytes
// after. Texts of digits do not stand among the arguments of calls, which are numbers.
#include "machine/redaction.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/json.h"
#include "base/text.h"
#include "host/recording/recording_archive.h"
#include "host/redaction/redactor.h"
#include "machine/inspect.h"
#include "machine/pci/pci_ids.h"
#include "machine/system/loader_cache.h"

namespace gpuready {
namespace {

Json planted() {
  std::ifstream file(std::string(GPUREADY_SOURCE_DIR) + "/tests/unit/machine/planted_secrets.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return parse_json(text, "planted_secrets.json").value();
}

// What `record` writes of a machine under tests/machines.
Recording recorded_machine(const std::string& name) {
  const std::string path =
      std::string(GPUREADY_SOURCE_DIR) + "/tests/machines/" + name + "/machine.json";
  auto script = load_recording(path);
  EXPECT_TRUE(script) << script.error().message;
  if (!script) return {};
  const auto machine = make_recorded_host(std::move(*script));
  Recording recording;
  const auto host = make_recording_host(*machine, recording);
  inspect(*host, {.full = true, .kernel_log = true});
  return recording;
}

// Every byte of the archive, unpacked.
std::string bytes_of(const Recording& recording) {
  const auto packed = recording_to_archive(recording);
  EXPECT_TRUE(packed) << packed.error().message;
  archive* reader = archive_read_new();
  archive_read_support_filter_zstd(reader);
  archive_read_support_format_tar(reader);
  std::string all;
  if (archive_read_open_memory(reader, packed->data(), packed->size()) == ARCHIVE_OK)
    for (archive_entry* entry = nullptr; archive_read_next_header(reader, &entry) == ARCHIVE_OK;) {
      all += std::string(archive_entry_pathname(entry)) + "\n";
      char buffer[16 << 10];
      for (la_ssize_t size = 0; (size = archive_read_data(reader, buffer, sizeof buffer)) > 0;)
        all.append(buffer, static_cast<std::size_t>(size));
    }
  archive_read_free(reader);
  return all;
}

void plant_in_failures(auto& section, const std::string& text) {
  for (auto& [path, content] : section)
    if (auto* failure = std::get_if<RecordedFailure>(&content)) failure->message += "\n" + text;
}

// Lines that rules read, with the text where a process, a file or a device is named; and lines that
// no rule reads.
constexpr std::pair<std::string_view, std::string_view> kAround[] = {
    {"", ""},
    {"NVRM: ", ""},
    {"amdgpu 0000:03:00.0: amdgpu: ", ""},
    {"audit: nvidia ", ""},
    {"pcieport 0000:00:01.0: AER: ", " received: 0000:17:00.0"},
    {"NVRM: Xid (PCI:0000:17:00): 79, pid=1, name=", ", GPU has fallen off the bus."},
    {"NVRM: Xid (", "): 79, GPU has fallen off the bus."},
    {"INFO: task ", ":5121 blocked for more than 120 seconds."},
    {"i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:85dffffb, in ", " [77]"},
    {"NVRM: API mismatch: the client '", "' (pid 7)"},
    {"tmpfs: Unknown parameter '", "' NVRM"},
    {"usb 1-1: Product: ", ""},
    {"amdgpu 0000:03:00.0: Direct firmware load for amdgpu/", ".bin failed with error -2"},
    {"Modules linked in: nvidia(", ")"},
};

void plant(const Json& secrets, Recording& recording) {
  std::string all;
  for (const auto& kind : secrets["kinds"]) all += kind["text"].get<std::string>() + "\n";
  const std::string process = secrets["process"], library = secrets["library"];

  for (const auto& [path, content] : secrets["files"].items())
    recording.files[path] = content.get<std::string>();
  recording.files["/proc/self/cgroup"] =
      "0::" + secrets["cgroup"].get<std::string>() + "\n1:cpu:/docker\n";
  recording.files["/proc/4711/comm"] = process + "\n";
  recording.files["/etc/os-release"] = "NAME=\"Debian\"\n";
  recording.files["/proc/cmdline"] = "iommu=pt quiet\n";
  for (auto& [path, content] : recording.files)
    if (auto* text = std::get_if<std::string>(&content)) *text += "\n" + all;
  recording.files["/etc/ld.so.cache"] =
      make_loader_cache({{"libcuda.so.1", "/home/aliceq/lib/libcuda.so.1", 0x0303},
                         {library, "/usr/lib/x.so", 0x0303}});
  recording.directories["/opt"] = std::vector<std::string>{};
  recording.directories["/dev"] = std::vector<std::string>{};
  recording.directories["/home/aliceq/lib"] = std::vector<std::string>{};
  for (auto& [path, content] : recording.directories)
    if (auto* names = std::get_if<std::vector<std::string>>(&content))
      if (!path.starts_with("/sys/") && !path.starts_with("/proc/"))
        for (const auto& name : secrets["listed"]) names->push_back(name);
  recording.statuses["/home/aliceq/merger-falcon/lib/libcuda.so.1"] = FileStatus{};
  recording.real_paths["/usr/lib/libcuda.so.1"] = "/data/users/carolz/libcuda.so.580.1";
  recording.links["/mnt/falconfs/models/link"] = "/zephyrapp/bin/start";
  plant_in_failures(recording.files, all);
  plant_in_failures(recording.real_paths, all);
  plant_in_failures(recording.directories, all);
  plant_in_failures(recording.statuses, all);
  for (auto& [path, failure] : recording.opens)
    if (failure) failure->message += all;

  recording.environment["LD_LIBRARY_PATH"] = "/data/users/carolz/lib:/usr/lib";
  for (auto& [name, value] : recording.environment) value = value.value_or("") + "\n" + all;
  recording.environment["HF_TOKEN"] = "hunter99";
  SystemIdentity identity;
  identity.host_name = secrets["host_name"];
  recording.identity = identity;

  std::string log = "0.0 Linux version 6.1 (frankb@buildq9) (gcc 12)\n";
  for (const auto line : lines(all))
    for (const auto& [before, after] : kAround)
      log += "1.5 " + std::string(before) + std::string(line) + std::string(after) + "\n";
  recording.kernel_log = log;
  JobOutcome tool;
  tool.out = tool.err = all;
  recording.tools["/home/aliceq/bin/nvcc --version"] = tool;
  recording.probes["planted"].probe = "planted";
  for (auto& [key, document] : recording.probes) {
    document.library_error = all;
    document.library_path = "/home/aliceq/lib/libcuda.so.1";
    int number = 0;
    for (const auto& kind : secrets["kinds"]) {
      document.calls["planted(" + std::to_string(number++) + ")"].value = kind["text"];
      if (!kind.contains("digits"))
        document.calls["planted(" + kind["text"].get<std::string>() + ")"].value = {
            {"inner", {kind["text"]}}};
    }
    document.calls["nvmlSystemGetProcessName(4711)"].value = process;
    document.calls["login()"].value = {{"password", "hunter98"}};
  }
  recording.description += all;
}

std::string around(const std::string& text, std::size_t at) {
  return printable(text.substr(at > 80 ? at - 80 : 0, 200));
}

class Redaction : public ::testing::TestWithParam<const char*> {};

TEST_P(Redaction, LeavesNoneOfThePlantedSecrets) {
  const Json secrets = planted();
  ASSERT_GE(secrets["kinds"].size(), 150u);
  Recording recording = recorded_machine(GetParam());
  plant(secrets, recording);
  const std::string before = bytes_of(recording);
  const auto redacted = redact(recording, redaction_rules());
  const std::string after = bytes_of(redacted),
                    twice = bytes_of(redact(redacted, redaction_rules()));
  const auto differs =
      static_cast<std::size_t>(std::ranges::mismatch(after, twice).in1 - after.begin());
  EXPECT_TRUE(after == twice) << around(after, differs) << "\nbecame\n" << around(twice, differs);
  const auto expect_gone = [&](const std::string& kind, const std::string& secret) {
    EXPECT_TRUE(contains(before, secret)) << kind << ": " << secret << " was never there";
    const auto at = after.find(secret);
    const auto escaped = Json(secret).dump(-1, ' ', true);
    EXPECT_FALSE(contains(after, std::string_view(escaped).substr(1, escaped.size() - 2))) << kind;
    EXPECT_EQ(at, after.npos) << kind << ": " << secret << " in: " << around(after, at);
  };
  for (const auto& kind : secrets["kinds"])
    for (const auto& secret : kind["secrets"]) expect_gone(kind["kind"], secret);
  for (const auto& secret : secrets["only_there"]) expect_gone("by its place", secret);
  for (const char* secret : {"hunter98", "hunter99"}) expect_gone("credential", secret);
}

INSTANTIATE_TEST_SUITE_P(Of, Redaction,
                         ::testing::Values("base-hgx-h100x8", "base-mi300x2", "healthy-jetson",
                                           "healthy-intel-arc", "healthy-wsl2",
                                           "healthy-container-2-of-8", "fabric-not-ready"),
                         [](const auto& machine) {
                           std::string name = machine.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A node that the rules list, by a name that they do not show, has only its substitute then.
TEST(RedactedTwice, IsAsRedactedOnce) {
  auto recording = recorded_machine("healthy-jetson");
  recording.directories["/dev"] = std::vector<std::string>{"nvhost-somebodys", "nvmap", "ttyACM0"};
  const auto once = redact(recording, redaction_rules());
  EXPECT_EQ(std::get<std::vector<std::string>>(once.directories.at("/dev")).size(), 2u);
  EXPECT_EQ(bytes_of(redact(once, redaction_rules())), bytes_of(once));
}

std::string kept(const std::string& path, const std::string& content) {
  Redactor redactor(redaction_rules());
  return redaction_rules().file(path, content, redactor).value_or("(removed)");
}

// A file for each rule; "@" stands for a name that a user chose.
constexpr std::string_view kSettings[] = {
    "/proc/cmdline",
    "/proc/cpuinfo",
    "/proc/devices",
    "/proc/swaps",
    "/proc/meminfo",
    "/proc/uptime",
    "/proc/7/comm",
    "/proc/7/status",
    "/proc/self/mountinfo",
    "/proc/self/uid_map",
    "/proc/self/cgroup",
    "/proc/xen/capabilities",
    "/proc/driver/nvidia/params",
    "/proc/driver/nvidia/version",
    "/proc/driver/nvidia/gpus/0000:17:00.0/information",
    "/proc/device-tree/model",
    "/etc/os-release",
    "/etc/nv_tegra_release",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d/x.conf",
    "/etc/ld.so.cache",
    "/lib/modules/6.8.0/modules.alias",
    "/etc/modprobe.d/x.conf",
    "/lib/modules/6.8.0/modules.builtin",
    "/run/nvidia-persistenced/x.pid",
    "/run/systemd/container",
    "/opt/cuda/version.json",
    "/opt/cuda/version.txt",
    "/opt/rocm/.info/version",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/module/nvidia/version",
    "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm",
    "/sys/fs/cgroup/a/memory.stat",
    "/sys/fs/cgroup/a/memory.max",
    "/sys/fs/cgroup/a/cpu.max",
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
    "/sys/class/block/dm-0/dm/name",
    "/sys/class/block/loop0/loop/backing_file",
    "/sys/class/kfd/kfd/topology/nodes/1/properties",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/hypervisor/type"};
constexpr std::string_view kAttributes[] = {"resource",
                                            "modalias",
                                            "current_link_speed",
                                            "local_cpulist",
                                            "vendor",
                                            "numa_node",
                                            "driver_override",
                                            "config",
                                            "reset_method",
                                            "power/control",
                                            "serial_number",
                                            "product_name",
                                            "product_number",
                                            "vbios_version",
                                            "gpu_metrics",
                                            "pp_dpm_sclk",
                                            "ras/umc_err_count",
                                            "aer_dev_correctable",
                                            "aer_dev_nonfatal",
                                            "aer_dev_fatal",
                                            "hwmon/hwmon1/temp1_label",
                                            "mdev_supported_types/nvidia-1/name",
                                            "nvidia/creatable_vgpu_types"};
// What stands before a value that a rule reads.
constexpr std::string_view kBeforeValues[] = {"",
                                              "iommu=",
                                              "hugepages=",
                                              "nvidia.NVreg_X=",
                                              "pci=realloc,",
                                              "model name\t: Intel(R) Xeon(R) ",
                                              "model name\t: AMD EPYC 9654 ",
                                              "195 ",
                                              "195 nvidia",
                                              "/dev/",
                                              "/dev/sda ",
                                              "MemTotal: ",
                                              "MemTotal: 65714188 ",
                                              "86400.00 ",
                                              "22 1 259:2 / / ",
                                              "22 1 ",
                                              "0::/",
                                              "1:cpu:/",
                                              "1:cpu,",
                                              "7",
                                              "ExcludedGpus: ",
                                              "NVRM version: NVIDIA UNIX Kernel Module  ",
                                              "NVRM version: NVIDIA UNIX Kernel Module  580.95.05 ",
                                              "Model: NVIDIA ",
                                              "Model: H100 ",
                                              "GPU UUID: ",
                                              "Video BIOS: ",
                                              "Device Minor: ",
                                              "NAME=\"",
                                              "PRETTY_NAME=\"Ubuntu 24.04 ",
                                              "ID=",
                                              "# R36 (release), REVISION: ",
                                              "# R",
                                              "/usr/",
                                              "alias vfio_pci:",
                                              "alias vfio_pci:v000010DEd* ",
                                              "kernel/drivers/vfio/",
                                              "CUDA Version ",
                                              "12.4 ",
                                              "{\"cuda\": {\"version\": \"",
                                              "NVIDIA ",
                                              "PowerEdge R760xa ",
                                              "max ",
                                              "100000 ",
                                              "inactive_file ",
                                              "0x0000000000000000 ",
                                              "pci:v",
                                              "32.0 ",
                                              "32.0 GT/s ",
                                              "0-31,",
                                              "flr ",
                                              "0: 500Mhz ",
                                              "0: ",
                                              "ue: ",
                                              "ce: 0 ",
                                              "TOTAL_ERR_COR 12 ",
                                              "unique_id ",
                                              "size_in_bytes ",
                                              "1048 : NVIDIA ",
                                              "NVRM: Xid (PCI:0000:17:00): "};

TEST(RedactionRules, LeaveNoneOfThePlantedSecretsInAnySetting) {
  const Json secrets = planted();
  std::vector<std::string> files(std::begin(kSettings), std::end(kSettings));
  for (const auto name : kAttributes)
    files.push_back("/sys/bus/pci/devices/0000:17:00.0/" + std::string(name));
  for (const auto& file : files)
    for (const auto before : kBeforeValues)
      for (const auto& kind : secrets["kinds"]) {
        const auto text = std::string(before) + kind["text"].get<std::string>();
        const auto left = kept(file, text + "\n");
        for (const std::string secret : kind["secrets"])
          EXPECT_FALSE(contains(left, secret)) << file << ": " << text << "\nbecame\n" << left;
      }
}

TEST(RedactionRules, KeepOfFilesWhatIsRead) {
  EXPECT_EQ(kept("/proc/cmdline",
                 "root=UUID=1 iommu=pt nvidia.NVreg_X=1 rd.luks.key=/k rd.iscsi.password=x ip=1 "
                 "rd.driver.blacklist=nouveau module_blacklist=nouveau modprobe.blacklist=nouveau "
                 "nvidia-drm.modeset=1 console=ttyS0 systemd.unit=x quiet\n"),
            "iommu=pt nvidia.*=* rd.driver.blacklist=nouveau module_blacklist=nouveau "
            "modprobe.blacklist=nouveau nvidia-drm.modeset=1 ...\n");
  EXPECT_EQ(kept("/etc/os-release",
                 "NAME=\"Debian GNU/Linux\"\nIMAGE_ID=secret\nVERSION_ID=\"12\"\n"
                 "PRETTY_NAME=\"Acme Linux 12\"\n"),
            "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"* Linux 12\"\n");
  EXPECT_EQ(kept("/proc/cpuinfo",
                 "processor\t: 0\nmodel name\t: AMD EPYC 9654 96-Core Processor\nSerial\t: "
                 "100000001234\n"),
            "model name\t: AMD EPYC 9654 96-Core Processor\n");
  EXPECT_EQ(kept("/proc/7/comm", "trainer\n"), "other\n");
  EXPECT_EQ(kept("/proc/7/comm", "nv-trainer\n"), "other\n");
  EXPECT_EQ(kept("/proc/7/comm", "nv-fabricmanage\n"), "nv-fabricmanage\n");
  EXPECT_EQ(kept("/etc/ld.so.conf.d/acme.conf", "# of acme\n/opt/acme/lib # x\ninclude /etc/a\n"),
            "/opt/redacted-1/lib\n");
  EXPECT_EQ(kept("/etc/acme.conf", "x"), "(removed)");
  const std::string config = "/sys/bus/pci/devices/0000:17:00.0/config";
  for (const char type : {'\0', '\xff'})
    EXPECT_EQ(kept(config, std::string(64, type) + std::string(192, 's')), std::string(64, type));
  EXPECT_EQ(kept(config, std::string(64, 's')), "");
  EXPECT_EQ(kept(config, "of acme"), "");
  EXPECT_EQ(kept("/proc/cpuinfo", "flags\t\t: fpu hypervisor acme\nflags\t\t: fpu hypervisor\n"),
            "flags : hypervisor\n");
  EXPECT_EQ(kept("/proc/xen/capabilities", "control_d\n"), "control_d\n");
  for (const char* flag : {"Y\n", "N\n"})
    EXPECT_EQ(kept("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", flag), flag);
  EXPECT_EQ(kept("/proc/self/uid_map", "0 1007712 65536\n"), "0 1 65536\n");
  EXPECT_EQ(kept("/proc/self/uid_map", "0 1007 1\n1 7712 65536\n"), "0 1 1\n");
  EXPECT_EQ(kept("/proc/self/mountinfo",
                 "22 1 0:31 / / rw - overlay overlay rw,upperdir=/acme/containerd/7/fs\n"),
            "0 0 0:31 / / * - overlay overlay upperdir=/containerd/\n");
  EXPECT_EQ(
      kept("/proc/self/mountinfo",
           "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/mapper/acme-root rw\n"
           "23 1 0:5 / /dev rw,nosuid - devtmpfs udev rw\n24 1 0:6 / /devX rw - tmpfs acme rw\n"
           "25 1 0:7 / /data/acme rw - nfs filer:/x rw\n"),
      "0 0 259:2 / / *,*\n0 0 0:0 / /dev *,*\n");
  EXPECT_EQ(kept("/proc/swaps",
                 "Filename Type Size Used Priority\n/dev/dm-1 partition 8 0 -2\n"
                 "/srv/acme/swapfile file 8 0 -3\n"),
            "Filename\n/dev/dm-1 partition\n");
  EXPECT_EQ(kept("/lib/modules/6.8.0/modules.alias",
                 "# of acme\nalias vfio_pci:v000010DEd* nvgrace_gpu_vfio_pci\n"
                 "alias vfio_pci:v00001AF4d* acme_driver\nalias vfio_pci:v0000ACMEd* x\nalias "
                 "pci:v000010DEd* nvidia\n"
                 "alias vfio_pci:v0 a b\nalias vfio_pci:v0\n"),
            "alias vfio_pci:v000010DEd* nvgrace_gpu_vfio_pci\nalias vfio_pci:v00001AF4d* *\n");
  EXPECT_EQ(kept("/etc/modprobe.d/acme.conf", "# acme\noptions acme key=1\nblacklist nvidia\n"),
            "blacklist nvidia\n");
  EXPECT_EQ(kept("/etc/modprobe.d/acme.conf", "blacklist acme\nblacklist amdgpu\nblacklist xe\n"),
            "blacklist amdgpu\nblacklist xe\n");
  EXPECT_EQ(kept("/lib/modprobe.d/acme.conf", "install nvidia /opt/acme/false\n"),
            "install nvidia /bin/false\n");
  EXPECT_EQ(kept("/lib/modules/6.8.0/modules.builtin",
                 "kernel/drivers/vfio/vfio.ko\nkernel/acme/acme.ko\nkernel/acme/vfio.ko\n"
                 "kernel/drivers/vfio/vfio\n"),
            "kernel/drivers/vfio/vfio.ko\n");
  EXPECT_EQ(kept("/lib/modules/6.8.0/modules.builtin",
                 "kernel/drivers/pci/vfio.ko\nkernel/drivers/vfio/pci/vfio-pci.ko\n"),
            "kernel/drivers/vfio/pci/vfio-pci.ko\n");
  const std::string cpus = "/sys/devices/system/node/node0/cpulist";
  for (const char* list : {"0\n", "0-31,64-95\n"}) EXPECT_EQ(kept(cpus, list), list);
  EXPECT_EQ(kept(cpus, "0-31,0x1f\n"), "*,*\n");
  EXPECT_EQ(kept(cpus, "0-31,1234567890123\n"), "*,*\n");
  EXPECT_EQ(kept("/proc/devices", "Character devices:\n195 nvidia\n226 drm\n234 kfd\n240 acme\n"),
            "Character devices:\n195 nvidia\n226 drm\n234 kfd\n");
  EXPECT_EQ(kept("/etc/ld.so.cache", "damaged"), "");
  const auto cache = kept("/etc/ld.so.cache",
                          make_loader_cache({{"libsecret.so.1", "/usr/lib/libsecret.so.1", 0x0303},
                                             {"libcuda.so.1", "/usr/lib/libcuda.so.1", 0x0303}}));
  const auto entries = parse_loader_cache(cache);
  ASSERT_TRUE(entries && entries->size() == 1u);
  EXPECT_EQ((*entries)[0].name, "libcuda.so.1");
  EXPECT_EQ((*entries)[0].path, "/usr/lib/libcuda.so.1");
  EXPECT_EQ((*entries)[0].flags, 0x0303u);
}

// Lines of six fields are as redaction leaves them. A line of five lacks its options, and is
// removed whatever it is about.
TEST(RedactionRules, KeepOfMountsWhatTheyKeptBefore) {
  const std::string path = "/proc/self/mountinfo";
  const auto once = kept(path,
                         "22 1 259:2 / / rw shared:1 - ext4 /dev/sda rw\n"
                         "23 22 0:5 / /dev rw - devtmpfs udev rw\n");
  EXPECT_EQ(once, "0 0 259:2 / / *\n0 0 0:0 / /dev *\n");
  EXPECT_EQ(kept(path, once), once);
  EXPECT_EQ(kept(path, "22 1 259:2 / /\n23 22 0:5 / /dev rw\n"), "0 0 0:0 / /dev *\n");
}

// A number that is too long for a version may be another thing's.
TEST(RedactionRules, KeepVersionsOfTheirForm) {
  struct Row {
    const char *path, *before, *after, *kept_before;
  };
  const Row kRows[] = {
      {"/opt/cuda/version.json", R"({"cuda": {"version": ")", "\"}}\n",
       R"({"cuda": {"version": ")"},
      {"/opt/cuda/version.txt", "CUDA Version ", "\n", "CUDA Version "},
      {"/opt/rocm/.info/version", "", "\n", ""},
      {"/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  ", "\n",
       "NVRM version: NVIDIA UNIX Kernel Module  "}};
  for (const auto& [path, before, after, kept_before] : kRows) {
    for (const std::string version : {"12.4", "580.159.04"})
      EXPECT_EQ(kept(path, before + version + after), kept_before + version + after) << path;
    for (const std::string other : {"12.4071234", "1.2.3.4", "acme", ""})
      EXPECT_EQ(kept(path, before + other + after), "") << path << " " << other;
  }
}

// The names of model_names.txt, and those of pci.ids behind their vendors'.
std::vector<std::string> model_names() {
  std::ifstream file(std::string(GPUREADY_SOURCE_DIR) + "/tests/unit/machine/model_names.txt");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#')) names.push_back(line);
  return names;
}

TEST(RedactionRules, KeepTheNamesOfGpuModelsWhole) {
  const auto names = model_names();
  ASSERT_GE(names.size(), 200u);
  for (const auto& name : names) {
    EXPECT_EQ(Redactor(redaction_rules()).answer(name, Redactor::Kind::model), name);
    EXPECT_EQ(kept("/sys/bus/pci/devices/0000:17:00.0/product_name", name + "\n"), name + "\n");
    EXPECT_EQ(
        kept("/proc/driver/nvidia/gpus/0000:17:00.0/information", "Model: \t\t " + name + "\n"),
        "Model: " + name + "\n");
  }
  // With a marketing name in brackets: GPUs, as all others are chipsets and their functions.
  for (const auto line : lines(pci_ids_text())) {
    const auto vendor = parse_uint(line.substr(0, 4), 16).value_or(0);
    if ((vendor != 0x10de && vendor != 0x1002) || !line.ends_with(']')) continue;
    const auto name =
        display_name(static_cast<std::uint16_t>(vendor), 0, std::string(line.substr(9)));
    EXPECT_EQ(Redactor(redaction_rules()).answer(name, Redactor::Kind::model), name);
  }
}

TEST(RedactionRules, KeepOfTheLogWhatIsRead) {
  EXPECT_TRUE(redaction_rules().kernel_log_line(
      "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus."));
  EXPECT_FALSE(redaction_rules().kernel_log_line("usb 1-2: SerialNumber: 1"));
  for (const char* text :
       {"NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:17:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU",
        "nvidia 0000:b3:00.0: probe with driver nvidia failed with error -1",
        "xe 0000:03:00.0: [drm] device wedged, needs recovery",
        "{1}[Hardware Error]: nvidia 0000:17:00.0: PCIe Bus Error: severity=Corrected"})
    EXPECT_EQ(Redactor(redaction_rules()).text(text, Redactor::Kind::log), text);
}

// The records of a log keep what says who wrote them.
TEST(RedactionRules, KeepTheDeviceThatWroteARecord) {
  for (const char* text : {"SUBSYSTEM=pci", "DEVICE=+pci:0000:17:00.0"})
    EXPECT_EQ(Redactor(redaction_rules()).text(text), text);
  EXPECT_EQ(Redactor(redaction_rules()).text("DEVICE=+usb:acme-dongle"), "DEVICE=+*");
}

TEST(RedactionRules, KeepOfATableAsManyBytesAsItSays) {
  const std::string path = "/sys/class/drm/card0/device/gpu_metrics";
  for (const std::size_t size : {std::size_t{4}, std::size_t{300}, std::size_t{4096}}) {
    std::string table(size, '\0');
    table[0] = static_cast<char>(size & 0xff);
    table[1] = static_cast<char>(size >> 8);
    EXPECT_EQ(kept(path, table + "more"), table) << size;
  }
  EXPECT_EQ(kept(path, std::string("\1\x10\0\0", 4) + std::string(4096, '\0')), "") << "too long";
}

}  // namespace
}  // namespace gpuready
