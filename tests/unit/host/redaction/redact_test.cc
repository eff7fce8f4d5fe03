#include <gtest/gtest.h>

#include "base/text.h"
#include "host/recording/recording.h"
#include "host/redaction/redactor.h"
#include "host/redaction/token_forms.h"

namespace gpuready {
namespace {

constexpr std::string_view kUuid = "8932f937-d72c-4106-c12f-20bd9faed9f6";
const std::string kGpu = "GPU-" + std::string(kUuid);

RedactionRules rules_of(std::string_view words) {
  RedactionRules rules;
  rules.is_fixed_word = [words](std::string_view word) {
    for (const auto known : split(words, " "))
      if (known == word) return true;
    return false;
  };
  rules.file = [](const std::string&, const std::string& content, Redactor& redactor) {
    return std::optional(redactor.text(content));
  };
  rules.reads_number = [](std::string_view line, std::size_t at) {
    return line.substr(0, at).ends_with("): ");
  };
  rules.group_markers = {"slurm", "kubepods", "/docker", "docker-", "/lxc"};
  return rules;
}
const RedactionRules& rules() {
  static const auto known = rules_of(
      "NVRM Xid GPU has fallen off the bus nvidia amdgpu ring timeout in usr lib cuda home "
      "libcuda.so.1 "
      "system.slice modules memory.max memory UUID error reset failed task blocked pid name");
  return known;
}

std::string kept(std::string_view text, Redactor::Kind kind = Redactor::Kind::log) {
  Redactor redactor(rules());
  auto out = redactor.text(text, kind);
  EXPECT_EQ(redactor.text(out, kind), out) << "not the same when redacted again: " << text;
  EXPECT_EQ(Redactor(rules()).text(out, kind), out) << text;
  return out;
}

std::string file_of(const Recording& recording, const std::string& path) {
  const auto found = recording.files.find(path);
  if (found == recording.files.end()) return "(no such file)";
  const auto* text = std::get_if<std::string>(&found->second);
  return text == nullptr ? "(failure)" : *text;
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
  const auto out = redact(recording, rules());

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

TEST(Redact, AmdUniqueIdJoinsHexAndDecimal) {
  Redactor redactor(rules());
  EXPECT_EQ(redactor.id(11651590505119483672u), 1u);
  EXPECT_EQ(redactor.id(7), 7u);  // an index
  EXPECT_EQ(redactor.id(12651590505119483672u), 2u);
  EXPECT_EQ(redactor.id(11651590505119483672u), 1u);
  Recording recording;
  recording.files["/sys/class/drm/card0/device/unique_id"] = "a1b2c3d4e5f60718\n";
  EXPECT_EQ(file_of(redact(recording, rules()), "/sys/class/drm/card0/device/unique_id"),
            "0000000000000001\n");
}

struct Case {
  const char *text, *want;
};
TEST(Redact, OfALineOnlyFixedWordsReadNumbersAndAddressesStay) {
  for (const auto& [text, want] : std::initializer_list<Case>{
           {"NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.",
            "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus."},
           {"NVRM: Xid (PCI:0000:17:00): 31, pid=7194, name=trainer, x",
            "NVRM: Xid (PCI:0000:17:00): 31, pid=*, name=*, x"},
           {"task trainer:5121 blocked", "task * blocked"},
           {"in trainer [7194] reset", "in * [*] reset"},
           {"trainer[7194]: error 5", "*[*]: error *"},
           {"nvidia 0000:b3:00.0: error -110", "nvidia 0000:b3:00.0: error -*"},
           {"reset of qrack7-h200 failed", "reset * * failed"},
           {"nvidia-acme reset", "nvidia-* reset"},
           {"gpu-10-77-3-5 node-203.0.113.55", "* *"},
           {"10.77.1.5 2001:db8:77:1::42 fe80::1%eth0", "* * *"},
           {"3c:ec:ef:77:34:56 3c-ec-ef-77-34-57 0c42:a103:0077:1234 3cec.ef77.3456", "* * * *"},
           {"0x0002c9030077abcd 0x3cecef773456, 0x62 0x2000000000", "* *, * *"},
           {"1650923077345 771234, 77123", "* *, *"},
           {"580.159.04 12.4 V12.4.131 96.00.A5.00.01 6.3.0-39", "* * * * *"},
           {"https://a:pw@host/x?token=X a@b ~carol ..\\share", "*?*=X * * ..*"},
           {"/home/carol/lib carol/job ../carol", "/home/redacted-1/lib * *"},
           {"ring 0000:17:1f.7 0001:17:00.0 17:00.0 dead:be:ef.7 fe80:00:1a 0000:17",
            "ring 0000:17:1f.7 * * * * *"},
           {"task 4111 1111 1 1111 192.168.77/24 12.03.1984 12/03/1984 555-0134 x16 GPU7",
            "task * * * * * * * * * *"},
           {"\xc3\xa9ric \x01\x02", "* *"},
           {"", ""},
           {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
            "GPU-10000000-0000-0000-0000-000000000000"}})
    EXPECT_EQ(kept(text), want) << text;
}

// "00e0": bus, device and function.
TEST(Redact, OfHexadecimalWordsOnlyARequestersStays) {
  EXPECT_EQ(kept("Xid (PCI:0000:17:00): 0ae0"), "Xid (PCI:0000:17:00): 0ae0");
  EXPECT_EQ(kept("Xid (PCI:0000:17:00): 0ae0b"), "Xid (PCI:0000:17:00): *");
  EXPECT_EQ(kept("Xid (PCI:0000:17:00): aeg0"), "Xid (PCI:0000:17:00): *");
  EXPECT_EQ(kept("Xid 0ae0"), "Xid *") << "no rule reads it";
  EXPECT_EQ(kept("nvidia(0ae0)", Redactor::Kind::call), "nvidia(*)");
}

// A substitute has its count in the first eight digits, and zeros behind them.
TEST(Redact, AUuidOfZerosBehindItsEighthDigitIsASubstitute) {
  EXPECT_EQ(kept("GPU-12345678-0000-0000-0000-000000000000"),
            "GPU-12345678-0000-0000-0000-000000000000");
  EXPECT_EQ(kept("GPU-12345678-1000-0000-0000-000000000000"),
            "GPU-10000000-0000-0000-0000-000000000000");
  EXPECT_EQ(kept("GPU-12345678-0000-0000-0000-000000000001"),
            "GPU-10000000-0000-0000-0000-000000000000");
}

TEST(Redact, ACallsSymbolStaysWhereItLooksLikeOne) {
  const auto key_of = [](const std::string& call) {
    Recording recording;
    recording.probes["cuda"].calls[call].code = 0;
    return redact(recording, rules()).probes.at("cuda").calls.begin()->first;
  };
  const std::string longest(64, 'x');
  EXPECT_EQ(key_of("cuInit-v2_3(0)"), "cuInit-v2_3(0)");
  EXPECT_EQ(key_of(longest + "(0)"), longest + "(0)");
  EXPECT_EQ(key_of(longest + "x(0)"), "*(0)");
  EXPECT_EQ(key_of("carol@home(0)"), "*(0)");
  EXPECT_EQ(key_of("carol"), "*") << "without arguments it is a text";
}

TEST(Redact, AProcessesNameGoesUnlessItIsTheDriversOwn) {
  const auto value_of = [](const char* call, const char* value) {
    Recording recording;
    recording.probes["cuda"].calls[call].value = value;
    return redact(recording, rules()).probes.at("cuda").calls.begin()->second.value;
  };
  EXPECT_EQ(value_of("nvmlSystemGetProcessName(7)", "reset"), "redacted-1");
  EXPECT_EQ(value_of("nvmlSystemGetProcessName(7)", "nvidia-cuda-mps-server"),
            "nvidia-cuda-mps-server");
  EXPECT_EQ(value_of("nvmlSystemGetProcessName(7)", "/usr/lib/carol"), "/usr/lib/redacted-1");
  EXPECT_EQ(value_of("nvmlSystemGetNVMLVersion()", "reset"), "reset") << "names no process";
}

TEST(Redact, AddressesOfTheMachinesOwnDomainsStay) {
  Recording recording;
  recording.directories["/sys/bus/pci/devices"] = std::vector<std::string>{"0001:17:00.0"};
  recording.files["/proc/x"] = "ring 0001:18:00.0 0002:17:00.0\n";
  EXPECT_EQ(file_of(redact(recording, rules()), "/proc/x"), "ring 0001:18:00.0 *\n");
}

TEST(Redact, OutsideOfTheLogNoNumberStays) {
  EXPECT_EQ(kept("NVRM: Xid (PCI:0000:17:00): 79, 206141652992 12 0x62", Redactor::Kind::words),
            "NVRM: Xid (PCI:0000:17:00): *, * * *");
}

TEST(Redact, AProductsNameHasOneShortNumberBehindAWord) {
  for (const auto& [text, want] :
       std::initializer_list<Case>{{"NVRM 9654 96-GPU", "NVRM 9654 96-GPU"},
                                   {"NVRM 24.04.3 lib", "NVRM 24.04.3 lib"},
                                   {"NVRM GPU/NVRM 12 (name)", "NVRM GPU/NVRM 12 (name)"},
                                   {"NVRM 4111 1111 1111 1111", "NVRM * * * *"},
                                   {"NVRM 030 90167-7743", "NVRM * *"},
                                   {"NVRM 10117", "NVRM *"},
                                   {"bus 1984", "bus *"},
                                   {"Acme 1984", "* *"},
                                   {"NVRM 12.03.1984", "NVRM *"},
                                   {"NVRM -12 10.77.1.5", "NVRM -* *"},
                                   {"NVRM H200 SXM5 80GB 7743EUR GPU77", "NVRM H200 * 80GB * *"}})
    EXPECT_EQ(kept(text, Redactor::Kind::model), want) << text;
}

TEST(Redact, PathsShowWhatTheKernelAndTheProgramName) {
  Redactor redactor(rules());
  for (const auto& [path, want] : std::initializer_list<Case>{
           {"/sys/bus/pci/devices/0000:17:00.0/driver", "/sys/bus/pci/devices/0000:17:00.0/driver"},
           {"/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.1"},
           {"/usr/lib/libcuda.so.580.95.05", "/usr/lib/libcuda.so.580.95.05"},
           {"/usr/cuda-12.4/lib", "/usr/cuda-12.4/lib"},
           {"/usr/cuda-12-acme/lib", "/usr/redacted-1/lib"},
           {"/home/ab/lib", "/home/redacted-2/lib"},
           {"/home/ab/lib/cuda", "/home/redacted-2/lib/cuda"},
           {"/devX/nvidia0", "/redacted-3/redacted-4"},
           {"/dev/nvidia0", "/dev/nvidia0"},
           {"/dev/sda1", "/dev/sda1"},
           {"/dev/mapper/rhel_qrack7--h200-swap", "/dev/redacted-5/redacted-6"},
           {"/sys/class/net/tenant7/address", "/sys/class/net/redacted-7/address"},
           {"/var/lib/jenkins/workspace/JOB", "/redacted-8/lib/redacted-9/redacted-10/redacted-11"},
           {"/lib/modules/6.8.0-45-acme/modules.alias", "/lib/modules/6.8.0-45-x/redacted-12"},
           {"relative/ab", "redacted-13/redacted-2"},
           {"/", "/"}})
    EXPECT_EQ(redactor.path(path), want) << path;
}

TEST(Redact, CgroupsShowTheRuntimeAndStillLeadToTheirFiles) {
  Redactor redactor(rules());
  EXPECT_EQ(redactor.group("/system.slice/payroll.service"), "/system.slice/redacted-1.service");
  EXPECT_EQ(redactor.path("/sys/fs/cgroup/system.slice/payroll.service/memory.max"),
            "/sys/fs/cgroup/system.slice/redacted-1.service/memory.max");
  EXPECT_EQ(redactor.group("/docker/77aa5f"), "/docker-redacted-2/redacted-3");
  EXPECT_EQ(redactor.group("/docker-77aa.scope"), "/docker-redacted-4.scope");
  EXPECT_EQ(redactor.group("/docker-redacted-4.scope"), "/docker-redacted-4.scope");
  EXPECT_EQ(redactor.group("/slurm/uid_10077/job_119"), "/slurm-redacted-5/redacted-6/redacted-7");
  EXPECT_EQ(redactor.group("/lxc/119"), "/lxc-redacted-8/redacted-9");
}

// No name is ever looked for elsewhere: what a host or a session is called changes no other text.
TEST(Redact, NamesChangeNoOtherText) {
  Recording recording;
  recording.identity = SystemIdentity{"Linux", "6.1-79", "x86_64", "Xid", 0, {0}, 0};
  recording.files["/proc/self/cgroup"] = "0::/user.slice/session-79.scope\n";
  recording.environment["HOME"] = "/home/reset";
  recording.kernel_log = "1.5 NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus\n";
  const auto out = redact(recording, rules());
  EXPECT_EQ(std::get<std::string>(*out.kernel_log), std::get<std::string>(*recording.kernel_log));
  EXPECT_EQ(std::get<SystemIdentity>(*out.identity).host_name, "redacted-1");
}

TEST(Redact, ARecordThatBeginsOtherwiseIsLeftOutWhole) {
  Recording recording;
  recording.kernel_log = "0.1 private\n0.1 NVRM: reset\n0.2 NVRM: failed\n0.2 bus\n0.3 GPU lost\n";
  auto known = rules();
  known.begins_record = [](std::string_view line) { return line.starts_with("NVRM"); };
  EXPECT_EQ(std::get<std::string>(*redact(recording, known).kernel_log),
            "0.2 NVRM: failed\n0.2 bus\n");
  // What follows says who wrote it as little where the first line goes for another reason.
  recording.kernel_log = "0.1 NVRM: dull\n0.1 bus\n0.2 NVRM: failed\n";
  known.kernel_log_line = [](std::string_view line) { return !contains(line, "dull"); };
  EXPECT_EQ(std::get<std::string>(*redact(recording, known).kernel_log), "0.2 NVRM: failed\n");
}

TEST(Redact, CredentialsDescriptionsAndUnknownFilesAreDropped) {
  Recording recording;
  for (const char* name : {"HF_TOKEN", "AWS_SECRET_ACCESS", "api_key", "DB_PASSWORD"})
    recording.environment[name] = "hunter2";
  recording.description = "the box of alice";
  recording.files["/etc/acme.conf"] = "x";
  RedactionRules none;
  const auto out = redact(recording, none);
  EXPECT_TRUE(out.environment.empty());
  EXPECT_EQ(out.description, "");
  ASSERT_EQ(out.files.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<RecordedFailure>(out.files.begin()->second));
}

// A disk's name is the kernel's: two to four letters and a number.
TEST(Redact, OnlyTheKernelsNamesOfDisksStay) {
  Redactor redactor(rules());
  for (const char* path :
       {"/dev/sda", "/dev/sdab12", "/dev/vdb", "/dev/nvme0n1p2", "/dev/dm-12345"})
    EXPECT_EQ(redactor.path(path), path);
  for (const char* path : {"/dev/sdacme", "/dev/sdAB", "/dev/vdtenant1", "/dev/nvmeacme",
                           "/dev/dm-acme", "/dev/dm-123456"})
    EXPECT_TRUE(redactor.path(path).starts_with("/dev/redacted-")) << path;
}

TEST(Redact, ListsOfFoldersKeepTheirEmptyParts) {
  Redactor redactor(rules());
  EXPECT_EQ(redactor.value("/usr/lib::/home/ab:lib"), "/usr/lib::/home/redacted-1:*");
}

// Fewer than four digits are no beginning of a UUID.
TEST(Redact, TheBeginningOfAUuidHasFourDigits) {
  EXPECT_EQ(Redactor(rules()).text("GPU-ab1"), "GPU-*");
}

TEST(Redact, TheGuidOfEfiVariablesIsNoSecret) {
  Redactor redactor(rules());
  const std::string path =
      "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
  EXPECT_EQ(redactor.path(path), path);
}

TEST(TokenForms, SixDigitsMayBeASerialNumber) {
  for (const char* word : {"12345", "12345MB", "0-12345"})
    EXPECT_TRUE(is_number_form(word)) << word;
  for (const char* word : {"123456", "123456MB", "0-123456", "0x123456789abc"})
    EXPECT_FALSE(is_number_form(word)) << word;
}

TEST(TokenForms, NumbersOfDevicesAndOfFailures) {
  for (const char* word : {"10de:2330", "ABCD:ef01", "0x62", "0x62:0x40", "0x62:0x40:2416",
                           "0xab:1234", "0x12345678901", "x16", "x4", "120ms", "80GB"})
    EXPECT_TRUE(is_number_form(word)) << word;
  for (const char* word :
       {"10de.2330", "10dea2330", "10deb:230", "10de:233g", "g0de:2330", "10de:23301", "10de:233",
        "0xacme1", "0x62:acme", "x160", "x", "xa", "120msec1", "120acme", ""})
    EXPECT_FALSE(is_number_form(word)) << word;
}

TEST(TokenForms, PartsOfProductsNamesHaveOneShortNumber) {
  for (const char* word : {"H100", "SX5", "80GB", "9654", "A2", "MI300X", "RX7900XT", "h100", "1"})
    EXPECT_TRUE(is_model_form(word)) << word;
  for (const char* word :
       {"", "GB", "12345", "H12345", "SXM5", "Hx100", "hx100", "80GiB", "H100A1", "H100-", "-1"})
    EXPECT_FALSE(is_model_form(word)) << word;
}

TEST(TokenForms, PciAddresses) {
  for (const char* word : {"0000:17:00.0", "00000000:17:00.0", "0000:17:00", "PCI:0000:17:00",
                           "17:00.0", "+pci:0000:17:00.0", "pci0000:16", "8a3f:00:1f.7"})
    EXPECT_TRUE(is_pci_form(word)) << word;
  for (const char* word :
       {"17:00", "3c:ec:ef:77:34:56", "0000:17", "fe80:17:00.00", "dead:beef", "a:b:c.d", "",
        "dead:be:ef.7", "0000:17:20.0", "0000:17:00.8", "17:00.0:", "pci", "pci:", "0000:17:"})
    EXPECT_FALSE(is_pci_form(word)) << word;
}

}  // namespace
}  // namespace gpuready
