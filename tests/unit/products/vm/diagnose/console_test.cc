// Every log under tests/consoles, against the answer that expected.json wants.
#include "vm/diagnose/console.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "vm/diagnose/bar_lines.h"
#include "vm/diagnose/console_causes.h"
#include "vm/diagnose/console_lines.h"

namespace gpuready::vm {
namespace {

namespace fs = std::filesystem;
const fs::path kConsoles = std::string(GPUREADY_SOURCE_DIR) + "/tests/consoles";

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string ids(const Finding& finding) {
  std::vector<std::string> inner;
  for (const auto& folded : finding.explains) inner.push_back(folded.id);
  return inner.empty() ? finding.id : finding.id + " > " + join(inner, ", ");
}

// In the form of expected.json.
Json answer(const ConsoleReport& report) {
  Json json = {{"kind", name_of(report.kind)}, {"state", name_of(report.state)}};
  json["findings"] = Json::array();
  for (const auto& finding : report.findings) json["findings"].push_back(ids(finding));
  if (report.failed_step) {
    const auto& step = *report.failed_step;
    json["failed_step"] = step.kind + (step.subject.empty() ? "" : " " + step.subject);
  }
  if (report.driver_version) json["driver_version"] = *report.driver_version;
  return json;
}

TEST(VmConsole, EveryLogGetsItsAnswer) {
  const auto expected = Json::parse(content(kConsoles / "expected.json"));
  std::set<std::string> seen;
  for (const auto& [name, wanted] : expected.items()) {
    const auto file = kConsoles / (name + ".log");
    ASSERT_TRUE(fs::exists(file)) << name;
    const auto report = read_console(content(file));
    EXPECT_EQ(answer(report), wanted) << name;
    for (const auto& finding : report.findings) {
      EXPECT_FALSE(finding.evidence.empty()) << name << ": " << finding.id;
      seen.insert(finding.id);
    }
  }
  for (const auto& entry : fs::directory_iterator(kConsoles))
    EXPECT_TRUE(entry.path().extension() != ".log" ||
                expected.contains(entry.path().stem().string()))
        << entry.path();
  EXPECT_GE(expected.size(), 30u);
}

// The parts between the stars follow each other in the line.
TEST(VmConsole, PartsOfAPatternAreInTheLineInTheirOrder) {
  for (const auto& [line, pattern] :
       std::vector<std::pair<const char*, const char*>>{{"abc", "b"},
                                                        {"ab", "a*b"},
                                                        {"xa1by", "a*b"},
                                                        {"abab", "ab*ab"},
                                                        {"a", "a*"},
                                                        {"a", "*a"},
                                                        {"abc", "a*b*c"}})
    EXPECT_TRUE(fits(line, pattern)) << pattern << " in " << line;
  for (const auto& [line, pattern] :
       std::vector<std::pair<const char*, const char*>>{{"abc", "x"},
                                                        {"ba", "a*b"},
                                                        {"a", "a*a"},
                                                        {"aba", "ab*ba"},
                                                        {"acb", "a*b*c"},
                                                        {"", "a"}})
    EXPECT_FALSE(fits(line, pattern)) << pattern << " in " << line;
}

TEST(VmConsole, EveryLineOfTheTableIsItsOwnCauses) {
  for (const auto& cause : console_causes())
    for (const auto pattern : cause.patterns) {
      std::string line(pattern);
      for (auto star = line.find('*'); star != line.npos; star = line.find('*'))
        line.replace(star, 1, " x ");
      const auto first = std::ranges::find_if(console_causes(), [&](const ConsoleCause& other) {
        return std::ranges::any_of(other.patterns,
                                   [&](std::string_view each) { return fits(line, each); });
      });
      EXPECT_EQ(first->id, cause.id) << pattern;
    }
}

TEST(VmConsole, IdsAreUniqueAndHaveCures) {
  std::set<std::string_view> ids;
  for (const auto& cause : console_causes()) {
    EXPECT_TRUE(ids.insert(cause.id).second) << cause.id;
    EXPECT_TRUE(cause.id == "xid" || !cause.cure.empty()) << cause.id;
  }
}

// A cause that the doctor has, too, is cured by what a guest is given, not by what the doctor says
// of the machine that it looks at.
TEST(VmConsole, ACauseOfTheDoctorHasTheCureOfAGuest) {
  const struct {
    const char *id, *cure, *command;
    Action action;
  } rows[] = {
      {"nouveau-bound", "Keep nouveau from loading, rebuild the initramfs, and reboot.", "",
       Action::configure},
      {"off-the-bus",
       "Restart the host with its power off for a moment; look at power, seating and temperature "
       "when it happens again.",
       "", Action::power_cycle},
      {"driver-library-mismatch",
       "Use an image without driver libraries, or inject with --replace; `vm compat --rootfs` "
       "finds them.",
       "", Action::configure},
      {"stub-library", "Take the stubs folder out of LD_LIBRARY_PATH.", "", Action::configure},
      {"fabric-not-ready",
       "Start nvidia-fabricmanager of the driver's version where the switches are.",
       "systemctl status nvidia-fabricmanager", Action::configure},
  };
  for (const auto& row : rows) {
    const auto& cause = console_cause(row.id);
    EXPECT_EQ(cause.cure, row.cure) << row.id;
    EXPECT_EQ(cause.command, row.command) << row.id;
    EXPECT_EQ(cause.action, row.action) << row.id;
    EXPECT_EQ(cause.terms.has_value(), row.action == Action::configure) << row.id;
    EXPECT_EQ(cause.title, doctor::find_cause(row.id).title) << row.id;
    EXPECT_NE(cause.command, doctor::find_cause(row.id).command) << row.id;
  }
}

// docs/xids.md
TEST(VmConsole, AnXidIsToldByItsCode) {
  const auto report = read_console("NVRM: Xid (PCI:0000:01:00): 48, pid=1, name=x\n");
  ASSERT_EQ(report.findings.size(), 1u);
  const auto& found = report.findings.front();
  EXPECT_EQ(found.id, "xid-48");
  EXPECT_EQ(found.title, "Xid 48: Double-bit ECC error");
  EXPECT_TRUE(contains(found.explanation, "an error that ECC cannot correct")) << found.explanation;
  EXPECT_TRUE(found.cure && contains(*found.cure, "eset")) << found.cure.value_or("");
  EXPECT_EQ(found.action, Action::reset_gpu);
}

TEST(VmConsole, WindowsAreReadInBothWordings) {
  const auto old =
      parse_bar_line("pci 0000:01:00.0: BAR 1: no space for [mem size 0x2000000000 64bit pref]");
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->assigned);
  EXPECT_EQ(old->bytes, 0x2000000000u);
  const auto now = parse_bar_line(
      "pci 0000:01:00.0: BAR 1 [mem 0x380000000000-0x381fffffffff 64bit pref]: assigned");
  ASSERT_TRUE(now);
  EXPECT_TRUE(now->assigned);
  EXPECT_EQ(now->bytes, 0x2000000000u);
  EXPECT_FALSE(parse_bar_line("pci 0000:00:02.0: BAR 13: no space for [io  size 0x1000]"));
  EXPECT_FALSE(parse_bar_line("pci 0000:00:02.0: BAR 14: no space for [mem size 0x100000]"));
  EXPECT_FALSE(parse_bar_line("pci 0000:01:00.0: BAR 1 [mem 0xc0000000-0xc0ffffff]: releasing"));
  const auto kept =
      parse_bar_line("pci 0000:01:00.0: BAR 1 [mem 0xc0000000-0xc0ffffff]: old value restored");
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->assigned);
}

TEST(VmConsole, AWindowWithoutARangeHasAnUnknownSize) {
  const auto bytes = [](const std::string& range) {
    const auto line = parse_bar_line("pci 0000:01:00.0: BAR 1 [mem " + range + "]: assigned");
    EXPECT_TRUE(line) << range;
    return line ? line->bytes : 1;
  };
  EXPECT_EQ(bytes("0x1000-0x1fff 64bit"), 0x1000u);
  EXPECT_EQ(bytes("0x1000-0x1000"), 1u);
  for (const char* range : {"0x1001-0x1000", "0x1000", "0x1000-", "-0x1000", "0x1000-end",
                            "start-0x1000", "0x0-0xffffffffffffffff", "size"})
    EXPECT_EQ(bytes(range), 0u) << range;
}

// A device that is asleep and stays so is a fault; one that is awake and stays so is none.
TEST(VmConsole, OnlyADeviceThatDoesNotWakeIsStuck) {
  const auto found = [](const char* line) { return !read_console(line).findings.empty(); };
  for (const char* line :
       {"x 0000:01:00.0: Unable to change power state from D3hot to D0, device inaccessible",
        "x 0000:01:00.0: Unable to change power state from unknown to D0, device inaccessible",
        "x 0000:01:00.0: can't change power state from D3cold to D0 (config space inaccessible)",
        "x 0000:01:00.0: Refused to change power state from D3hot to D0",
        "x 0000:01:00.0: Refused to change power state, currently in D3"})
    EXPECT_TRUE(found(line)) << line;
  for (const char* line : {"x 0000:01:00.0: Refused to change power state from D0 to D3hot",
                           "x 0000:01:00.0: Refused to change power state from D0 to D3cold",
                           "x 0000:01:00.0: Refused to change power state, currently in D0"})
    EXPECT_FALSE(found(line)) << line;
  for (const char* reset : {"FLR", "AF_FLR", "bus reset", "PM D3hot->D0", "resume", "DPC"}) {
    const auto line =
        std::string("vfio-pci 0000:17:00.0: not ready 65535ms after ") + reset + "; giving up";
    const auto report = read_console(line);
    ASSERT_EQ(report.findings.size(), 1u) << line;
    EXPECT_EQ(report.findings.front().id, "reset-failed");
  }
}

// Of a long log the end is read, and lines keep their numbers.
TEST(VmConsole, LinesOfALongLogKeepTheirNumbers) {
  std::string text;
  std::size_t lines = 0;
  while (text.size() < (17u << 20)) {
    text += "a line of a program that is long enough to be quick about it " +
            std::string(900, '.') + '\n';
    ++lines;
  }
  const auto report = read_console(text + "NVRM: The GPU has fallen off the bus\n");
  EXPECT_GE(report.unread_bytes, 1u << 20);
  EXPECT_EQ(text[report.unread_bytes - 1], '\n');
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings.front().evidence.front().source, fmt::format("line {}", lines + 1));
  EXPECT_EQ(read_console("x\n").unread_bytes, 0u);
  EXPECT_EQ(read_console(std::string(17u << 20, 'x')).findings.size(), 0u);
}

// Lines are found by four bytes of each pattern: whatever stands before, behind or within.
TEST(VmConsole, EveryPatternIsFoundInItsLine) {
  for (const auto& row : console_causes())
    for (const auto pattern : row.patterns) {
      std::string line;
      for (const char c : std::string(pattern) + "x")
        line += c == '*' ? "\x1b[1m any \x1b[0m" : std::string(1, c);
      const std::string cut = line.substr(0, 3) + "\x1b[m" + line.substr(3);  // within a word
      for (const auto& text :
           {line, "[    1.5] x: " + line + " y", "\x1b[31m" + line + "\r", cut}) {
        const std::string console = "a\n" + text;
        const auto lines = lines_of_console(console, 0);
        const bool found = std::ranges::any_of(
            lines.lines, [](const ConsoleLine& each) { return each.cause != nullptr; });
        EXPECT_TRUE(found) << pattern << " in " << text;
      }
    }
}

// What a hostile guest writes costs neither memory nor time, and what is true is found behind it.
TEST(VmConsole, FloodsHideNothing) {
  const auto repeated = [](std::string_view text, std::size_t bytes) {
    std::string out;
    while (out.size() < bytes) out += text;
    return out;
  };
  const std::string last = "\nNVRM: The GPU has fallen off the bus\n";
  for (const std::string_view flood :
       {std::string_view("\n"), std::string_view("\0", 1), std::string_view("\x1b["),
        std::string_view("\x1b[31m\n"), std::string_view("a\n"), std::string_view("\r\n"),
        std::string_view("systemd[1]: \n"), std::string_view("\xff\xfe\n")}) {
    const auto report = read_console(repeated(flood, 3u << 20) + last);
    ASSERT_EQ(report.findings.size(), 1u) << flood.substr(0, 8);
    EXPECT_EQ(report.findings.front().id, "off-the-bus");
  }
  // Each line an event of its own kind.
  std::string events;
  for (int code = 1; code < 50'000; ++code)
    events += fmt::format("NVRM: Xid (PCI:0000:01:00): {}, x\n", code);
  EXPECT_LT(read_console(events + last).findings.size(), 100u);
  EXPECT_LE(
      read_console(repeated("gpuready-guest: 1.0 ok module nvidia: x\n", 3u << 20)).steps.size(),
      10'000u);
}

// Bytes that are changed, cut out and doubled: every log is read to something whole.
TEST(VmConsole, DamagedLogsAreRead) {
  std::uint32_t state = 1;
  const auto next = [&](std::size_t below) {
    state = state * 1664525u + 1013904223u;
    return below == 0 ? 0 : (state >> 8) % below;
  };
  for (const auto& entry : fs::directory_iterator(kConsoles)) {
    if (entry.path().extension() != ".log") continue;
    const auto whole = content(entry.path());
    for (int round = 0; round < 20; ++round) {
      std::string text = whole;
      for (int change = 0; change < 8 && !text.empty(); ++change) {
        const auto at = next(text.size());
        switch (next(3)) {
          case 0:
            text[at] = static_cast<char>(next(256));
            break;
          case 1:
            text.erase(at, next(40));
            break;
          default:
            text.insert(next(text.size()), text.substr(at, next(80)));
        }
      }
      const auto report = read_console(text);
      EXPECT_TRUE(report.state != ConsoleState::failed || !report.findings.empty());
      for (const auto& finding : report.findings) EXPECT_FALSE(finding.evidence.empty());
    }
  }
}

// What troubleshooting pages list, each in the words of the programs that say it, alone in a log.
TEST(VmConsole, EverySymptomOfTheTroubleshootingPagesHasAFindingWithACure) {
  const std::pair<const char*, const char*> symptoms[] = {
      {"| NVIDIA-SMI 535.104.05    Driver Version: 570.86.16    CUDA Version: 12.8 |",
       "driver-library-mismatch"},
      {"Failed to initialize NVML: Driver/library version mismatch", "driver-library-mismatch"},
      {"nvmlInit failed: NVML_ERROR_LIB_RM_VERSION_MISMATCH", "driver-library-mismatch"},
      {"CUDA initialization failed", "gpu-not-seen"},
      {"RuntimeError: CUDA error: initialization error", "gpu-not-seen"},
      {"cuInit(0) failed: 3", "gpu-not-seen"},
      {"RuntimeError: No CUDA GPUs are available", "gpu-not-seen"},
      {"RuntimeError: no CUDA-capable device is detected", "gpu-not-seen"},
      {"modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.12.8",
       "module-missing"},
      {"ls: cannot access '/dev/nvidia*': No such file or directory", "nodes-missing"},
      {"libcuda.so.1: cannot open shared object file: No such file or directory",
       "library-missing"},
      {"CUDA driver version is insufficient for CUDA runtime version", "driver-too-old-for-cuda"},
      {"/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by ./gpu_test)",
       "program-too-new"},
      {"./gpu_test: symbol lookup error: ./gpu_test: undefined symbol: cuGetProcAddress_v2",
       "driver-function-missing"},
      {"Error relocating ./gpu_test: __memcpy_chk: symbol not found", "image-is-musl"},
      {"bash: ./gpu_test: cannot execute binary file: Exec format error", "program-other-machine"},
      {"bash: line 1: nvcc: command not found", "compiler-missing"},
      {"bash: nvidia-smi: command not found", "nvidia-smi-missing"},
      {"docker: permission denied while trying to connect to the Docker daemon socket",
       "docker-forbidden"},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "gpu-memory-full"},
      {"CUDA error: the launch timed out and was terminated", "kernel-timed-out"},
      {"device kernel execution timed out", "kernel-timed-out"},
  };
  for (const auto& [line, id] : symptoms) {
    const auto report = read_console(std::string(line) + "\n");
    ASSERT_EQ(report.findings.size(), 1u) << line;
    EXPECT_EQ(report.findings.front().id, id) << line;
    EXPECT_TRUE(report.findings.front().cure) << line;
    // What an image lacks keeps no GPU from being ready.
    const bool wrong = report.findings.front().severity == Severity::error;
    EXPECT_EQ(report.state, wrong ? ConsoleState::failed : ConsoleState::unknown) << line;
  }
  const auto whole = read_console("| NVIDIA-SMI 570.86.16    Driver Version: 570.86.16 |\n");
  EXPECT_TRUE(whole.findings.empty());
}

}  // namespace
}  // namespace gpuready::vm
