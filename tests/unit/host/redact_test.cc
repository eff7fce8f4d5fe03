#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "base/text.h"
#include "host/pci_serial.h"
#include "host/pseudonyms.h"
#include "host/recording.h"

namespace gpuready {
namespace {

constexpr std::string_view kUuid = "8932f937-d72c-4106-c12f-20bd9faed9f6";
const std::string kGpu = "GPU-" + std::string(kUuid);

std::string file_of(const Recording& recording, const std::string& path) {
  const auto found = recording.files.find(path);
  if (found == recording.files.end()) return "(no such file)";
  const auto* text = std::get_if<std::string>(&found->second);
  return text == nullptr ? "(failure)" : *text;
}

// Everything that a recording says, as one text.
std::string everything(const Recording& recording) {
  std::string all;
  for (const auto& [path, content] : recording.files) {
    all += path + "=";
    if (const auto* text = std::get_if<std::string>(&content)) all += *text;
  }
  for (const auto& [path, content] : recording.links)
    all += path + "=" + std::get<std::string>(content);
  for (const auto& [name, value] : recording.environment) all += name + "=" + value.value_or("");
  for (const auto& [key, document] : recording.probes) all += key + dump(to_json(document));
  for (const auto& [key, result] : recording.tools)
    all += key + std::get<JobOutcome>(result).out + std::get<JobOutcome>(result).err;
  if (recording.kernel_log) all += std::get<std::string>(*recording.kernel_log);
  if (recording.identity) all += std::get<SystemIdentity>(*recording.identity).host_name;
  return all + recording.description;
}

TEST(Redact, OneUuidInEveryFormBecomesOneOther) {
  Recording recording;
  recording.files["/proc/driver/nvidia/gpus/0000:17:00.0/information"] = "GPU UUID: " + kGpu + "\n";
  recording.environment["CUDA_VISIBLE_DEVICES"] = "GPU-8932f9," + kGpu;
  ProbeDocument cuda;
  cuda.probe = "cuda";
  cuda.calls["cuDeviceGetUuid_v2(0)"].value =
      Json::array({0x89, 0x32, 0xf9, 0x37, 0xd7, 0x2c, 0x41, 0x06, 0xc1, 0x2f, 0x20, 0xbd, 0x9f,
                   0xae, 0xd9, 0xf6});
  cuda.calls["deviceUUID(0)"].value = "8932F937D72C4106C12F20BD9FAED9F6";
  cuda.calls["nvmlDeviceGetHandleByUUID(" + kGpu + ")"].code = 0;
  recording.probes["cuda"] = cuda;
  const auto out = redact(recording, {});

  const std::string want = "10000000-0000-0000-0000-000000000000";
  EXPECT_EQ(file_of(out, "/proc/driver/nvidia/gpus/0000:17:00.0/information"),
            "GPU UUID: GPU-" + want + "\n");
  EXPECT_EQ(out.environment.at("CUDA_VISIBLE_DEVICES"), "GPU-100000,GPU-" + want);
  const auto& document = out.probes.at("cuda");
  EXPECT_EQ(document.value("cuDeviceGetUuid_v2(0)")[0], 0x10);
  EXPECT_EQ(document.value("cuDeviceGetUuid_v2(0)")[15], 0);
  EXPECT_EQ(document.text("deviceUUID(0)"), "10000000000000000000000000000000");
  EXPECT_NE(document.find("nvmlDeviceGetHandleByUUID(GPU-" + want + ")"), nullptr);
  EXPECT_TRUE(out.redacted);
}

TEST(Redact, DifferentSecretsStayDifferent) {
  Pseudonyms names;
  std::set<std::string> seen;
  for (int i = 0; i < 500; ++i) {
    char uuid[64];
    std::snprintf(uuid, sizeof uuid, "GPU-%08x-d72c-4106-c12f-20bd9faed9f6", i + 77);
    EXPECT_TRUE(seen.insert(names.apply(uuid)).second);
    names.add_serial("16509230" + std::to_string(10000 + i));
    EXPECT_TRUE(seen.insert(names.apply("16509230" + std::to_string(10000 + i))).second);
  }
}

TEST(Redact, SubstitutesThatAreSecretsTooDoNotMeet) {
  Pseudonyms names;
  const auto first = names.apply(kUuid);
  EXPECT_NE(names.apply(first), first);  // an original that looks like the first substitute
}

TEST(Redact, SerialsAreReplacedWhereverTheyStand) {
  Recording recording;
  ProbeDocument nvml;
  nvml.probe = "nvml";
  nvml.calls["nvmlDeviceGetSerial(0)"].value = "1650923012345";
  nvml.calls["nvmlDeviceGetCount_v2()"].value = 8;
  recording.probes["nvml"] = nvml;
  recording.kernel_log = "1.0 NVRM: GPU Board Serial Number: 1650923012345\n2.0 x1650923012345y\n";
  JobOutcome tool;
  tool.out = "<serial>1324223001122</serial>\n    Serial Number : N/A\n GPU 0: 1650923012345\n";
  recording.tools["nvidia-smi -q -x"] = tool;
  recording.files["/sys/class/dmi/id/product_serial"] = "J3X7KQ2\n";
  recording.description = "box J3X7KQ2";
  const auto out = redact(recording, {});
  const auto all = everything(out);
  EXPECT_FALSE(contains(all, "1324223001122")) << all;
  EXPECT_FALSE(contains(all, "J3X7KQ2")) << all;
  const auto serial = out.probes.at("nvml").text("nvmlDeviceGetSerial(0)");
  ASSERT_TRUE(serial);
  EXPECT_EQ(serial->size(), 13u);
  EXPECT_NE(*serial, "1650923012345");
  EXPECT_TRUE(contains(std::get<std::string>(*out.kernel_log), "Serial Number: " + *serial + "\n"));
  EXPECT_TRUE(contains(std::get<JobOutcome>(out.tools.at("nvidia-smi -q -x")).out, *serial));
  EXPECT_TRUE(contains(all, "Serial Number : N/A"));
  EXPECT_EQ(out.probes.at("nvml").integer("nvmlDeviceGetCount_v2()"), 8);
}

TEST(Redact, AmdUniqueIdJoinsHexAndDecimal) {
  Recording recording;
  recording.files["/sys/class/drm/card0/device/unique_id"] = "a1b2c3d4e5f60718\n";
  recording.files["/sys/class/kfd/kfd/topology/nodes/1/properties"] =
      "simd_count 304\nunique_id 11651590505119483672\n";
  const auto out = redact(recording, {});
  const std::string hex(trim(file_of(out, "/sys/class/drm/card0/device/unique_id")));
  const auto properties = file_of(out, "/sys/class/kfd/kfd/topology/nodes/1/properties");
  ASSERT_EQ(parse_hex("a1b2c3d4e5f60718"), 11651590505119483672u);
  EXPECT_EQ(hex.size(), 16u);
  EXPECT_NE(hex, "a1b2c3d4e5f60718");
  EXPECT_EQ(properties, "simd_count 304\nunique_id " + std::to_string(*parse_hex(hex)) + "\n");
}

TEST(Redact, HostAndUserNames) {
  Recording recording;
  recording.identity = SystemIdentity{"Linux", "6.1", "x86_64", "rack7-h200", 0, {0}, 0};
  recording.environment["HOME"] = "/home/alice";
  recording.environment["USER"] = "alice";
  recording.kernel_log = "1.0 rack7-h200 kernel: up\n2.0 rack7-h2001 is another\n";
  recording.links["/home/alice/lib/libcuda.so"] = "/home/alice/real.so";
  const auto out = redact(recording, {});
  const auto all = everything(out);
  EXPECT_FALSE(contains(all, "alice")) << all;
  EXPECT_TRUE(contains(all, "rack7-h2001 is another"));
  const auto host = std::get<SystemIdentity>(*out.identity).host_name;
  EXPECT_EQ(host.size(), std::string("rack7-h200").size());
  EXPECT_TRUE(std::get<std::string>(*out.kernel_log).starts_with("1.0 " + host + " kernel"));
  EXPECT_EQ(out.environment.at("HOME"), "/home/" + *out.environment.at("USER"));
}

TEST(Redact, OrdinaryHostNamesDoNotTearFactsApart) {
  Recording recording;
  recording.identity = SystemIdentity{"Linux", "6.1", "x86_64", "nvidia", 0, {0}, 0};
  recording.files["/proc/driver/nvidia/version"] = "NVRM version: nvidia 580.1";
  EXPECT_EQ(file_of(redact(recording, {}), "/proc/driver/nvidia/version"),
            "NVRM version: nvidia 580.1");
}

TEST(Redact, CredentialsAreDropped) {
  Recording recording;
  for (const char* name : {"HF_TOKEN", "AWS_SECRET_ACCESS", "api_key", "DB_PASSWORD"})
    recording.environment[name] = "hunter2";
  recording.environment["PATH"] = "/bin";
  const auto out = redact(recording, {});
  EXPECT_EQ(out.environment.size(), 1u);
  EXPECT_EQ(out.environment.at("PATH"), "/bin");
}

struct Case {
  const char* text;
  bool kept;
};
TEST(Redact, AddressesAreFoundAndVersionsAreNot) {
  for (const auto& [text, kept] :
       std::initializer_list<Case>{{"addr 10.20.3.4 up", false},
                                   {"at 192.168.101.200.", false},
                                   {"mac 3c:ec:ef:12:34:56", false},
                                   {"guid 0011:2233:4455:6677", false},
                                   {"ip fe80::3eec:efff:fe12:3456 dev", false},
                                   {"listen 127.0.0.1 and ::1 and 0.0.0.0", true},
                                   {"ff:ff:ff:ff:ff:ff 00:00:00:00:00:00", true},
                                   {"pci 0000:17:00.0: [10de:2335] type 00", true},
                                   {"NVRM: GPU at PCI:00000000:17:00.0", true},
                                   {"VBIOS 96.00.89.00.01", true},
                                   {"version 12.4.1.2", true},
                                   {"libcudart.so.12.4.1.2", true},
                                   {"time 12:34:56", true},
                                   {"std::vector", true},
                                   {"sha 0123456789abcdef", true},
                                   {"580.159.04", true}}) {
    Pseudonyms names;
    const auto out = names.apply(text);
    EXPECT_EQ(out == text, kept) << text << " -> " << out;
    EXPECT_EQ(out.size(), std::string_view(text).size()) << text << " -> " << out;
    EXPECT_EQ(names.apply(text), out);
  }
}

TEST(Redact, BinarySerialsInConfigurationSpace) {
  std::string config(4096, '\0');
  config[0x100] = 0x03;  // Device Serial Number, version 1, last in the list
  config[0x102] = 0x01;
  for (std::size_t i = 0; i < 8; ++i) config[0x104 + i] = static_cast<char>(0xA0 + i);
  Recording recording;
  const std::string path = "/sys/bus/pci/devices/0000:17:00.0/config";
  recording.files[path] = config;
  recording.files["/sys/bus/pci/devices/0000:17:00.0/vpd"] = "SN1234567";
  const auto out = redact(recording, {});
  const auto after = file_of(out, path);
  ASSERT_EQ(after.size(), config.size());
  EXPECT_NE(pci_serial(after), pci_serial(config));
  EXPECT_EQ(after.substr(0, 0x104), config.substr(0, 0x104));
  EXPECT_EQ(file_of(out, "/sys/bus/pci/devices/0000:17:00.0/vpd"), "(failure)");
}

TEST(Redact, ConfigurationSpaceThatRunsInACircleEnds) {
  std::string config(0x200, '\0');
  config[0x100] = 0x01;
  config[0x103] = 0x10;  // next: 0x100
  EXPECT_EQ(pci_serial(config), std::nullopt);
  EXPECT_EQ(pci_serial(""), std::nullopt);
  EXPECT_EQ(pci_serial(std::string(0x104, '\3')), std::nullopt);
}

TEST(Redact, RepeatsItself) {
  Recording recording;
  recording.kernel_log = "1.0 " + kGpu + " 10.1.2.3\n";
  recording.identity = SystemIdentity{"Linux", "6.1", "x86_64", "rack7", 0, {0}, 0};
  EXPECT_EQ(everything(redact(recording, {})), everything(redact(recording, {})));
  EXPECT_FALSE(contains(everything(redact(recording, {})), kUuid));
}

TEST(Redact, WhatNoRuleReadsIsLeftOut) {
  Recording recording;
  recording.files["/proc/cmdline"] = "private\n";
  recording.directories["/opt"] = std::vector<std::string>{"private", "rocm"};
  recording.kernel_log = "0.1 private\n0.1 NVRM: of that record\n0.2 NVRM: kept\n";
  RedactionRules rules;
  rules.file = [](const std::string&, const std::string&) { return std::string("kept\n"); };
  rules.listed = [](std::string_view, std::string_view name) { return name == "rocm"; };
  rules.kernel_log_line = [](std::string_view line) {
    return line.starts_with("NVRM") ? std::optional(std::string(line)) : std::nullopt;
  };
  rules.begins_record = [](std::string_view line) { return line.starts_with("NVRM"); };
  const auto out = redact(recording, rules);
  EXPECT_EQ(file_of(out, "/proc/cmdline"), "kept\n");
  EXPECT_EQ(std::get<std::vector<std::string>>(out.directories.at("/opt")),
            std::vector<std::string>{"rocm"});
  EXPECT_EQ(std::get<std::string>(*out.kernel_log), "0.2 NVRM: kept\n");
}

TEST(Redact, OneNameIsOneSubstituteInPathsAndTexts) {
  Recording recording;
  recording.environment["LD_LIBRARY_PATH"] = "/data/acme/lib:/usr/lib:/home/alice/acme/lib";
  recording.real_paths["/data/acme/lib/libcuda.so.1"] = "/data/acme/lib/libcuda.so.580.1";
  recording.description = "of alice";
  const auto out = redact(recording, {});
  const auto folders = *out.environment.at("LD_LIBRARY_PATH");
  const auto first = folders.substr(0, folders.find(':'));
  EXPECT_EQ(first.size(), std::string("/data/acme/lib").size());
  EXPECT_TRUE(out.real_paths.contains(first + "/libcuda.so.1")) << first;
  EXPECT_TRUE(contains(folders, ":/usr/lib:/home/")) << folders;
  EXPECT_FALSE(contains(folders, "acme") || contains(folders, "alice")) << folders;
  EXPECT_FALSE(contains(out.description, "alice"));
}

// What stands in drivers' messages and tools' output, and names nobody.
TEST(Redact, OrdinaryTextStays) {
  for (const char* text :
       {"NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62:0x40:2416)",
        "NVRM: visit http://www.nvidia.com/object/unix.html for more",
        "nvidia/580.95.05/gsp_ga10x.bin", "/usr/local/cuda-12.4/targets/x86_64-linux/lib",
        "/opt/rocm-6.2.0/lib/librocblas.so.4", "/usr/lib/wsl/lib:/usr/local/cuda/bin:/usr/bin",
        "/sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0",
        "signature and/or required key missing", "Key was rejected by service", "N/A",
        "0.5 GB/s /s", "NVIDIA H100 80GB HBM3", "Cuda compilation tools, release 12.4, V12.4.131",
        "INFO: task nvidia-smi:5121 blocked", "amdgpu: ring gfx_0.0.0 timeout", "version 10.2.3.4",
        "00000000000000000000000000000000", "ffffffffffffffffffffffffffffffffffffffff"})
    EXPECT_EQ(Pseudonyms().apply(text), text);
}

TEST(Redact, CgroupsAreNamedOtherwiseAndStillLeadToTheirFiles) {
  Recording recording;
  recording.files["/proc/self/cgroup"] = "0::/system.slice/payroll/job-4711abc\n";
  recording.files["/sys/fs/cgroup/system.slice/payroll/job-4711abc/memory.max"] = "1024\n";
  const auto out = redact(recording, {});
  const auto group = file_of(out, "/proc/self/cgroup");
  EXPECT_TRUE(contains(group, "/system.slice/"));
  EXPECT_FALSE(contains(everything(out), "payroll") || contains(everything(out), "4711abc"));
  EXPECT_TRUE(group.starts_with("0::/"));  // no IPv6 address
  const auto path = std::string(trim(group)).substr(3);
  EXPECT_EQ(file_of(out, "/sys/fs/cgroup" + path + "/memory.max"), "1024\n");
}

TEST(Redact, TheGuidOfEfiVariablesIsNoSecret) {
  Recording recording;
  const std::string path =
      "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
  recording.files[path] = "x";
  EXPECT_EQ(file_of(redact(recording, {}), path), "x");
}

}  // namespace
}  // namespace gpuready
