#include "machine/system/kernel_log.h"

#include <algorithm>

#include "base/text.h"
#include "host/kernel_log.h"
#include "machine/sources.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

TEST(Xid, EveryFormOfThePlace) {
  const PciAddress address{0, 0x17, 0, 0};
  for (const char* place : {"PCI:0000:17:00", "PCI:0000:17:00.0", "0000:17:00", "0000:17:00.0",
                            "PCI:0000:17:00 GPU-I:01", "PCI:0000:17:00 GPU-I:01 GPU-CI:00"}) {
    const auto xid =
        parse_xid("NVRM: Xid (" + std::string(place) +
                  "): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
    ASSERT_TRUE(xid) << place;
    EXPECT_EQ(xid->code, 79);
    EXPECT_EQ(xid->pci, address) << place;
  }
}

TEST(Xid, AnSwitchsEventIsNone) {
  EXPECT_FALSE(parse_xid("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44"));
}

TEST(Xid, BrokenLinesAreNone) {
  for (const char* line :
       {"NVRM: Xid (", "NVRM: Xid (PCI:0000:17:00)", "NVRM: Xid (): x",
        "NVRM: Xid (PCI:0000:17:00): ", "NVRM: Xid (PCI:0000:17:00): 999999999", "Xid",
        "NVRM: Xid (PCI:0000:17:00): 100001, x", "NVRM: Xid (PCI:0000:17:00): , x",
        "NVRM: Xid (PCI:0000:17:00): 18446744073709551617, x", "NVRM: Xid (garbage): 13, x",
        "NVRM: Xid (PCI:[4242]: segfault at 0 ip 0", "a NVRM: Xid (PCI:0000:17:00): 79, x",
        "NVRM: Xid (PCI:0000:17:00 x): 79, y", "NVRM: Xid (PCI:0000:17:00): 79x, y"})
    EXPECT_FALSE(parse_xid(line)) << line;
  EXPECT_EQ(parse_xid("NVRM: Xid (PCI:0000:17:00): 100000, x").value_or(XidEvent{}).code, 100'000);
}

TEST(LogMessage, TheWriterAndTheTextOfEachForm) {
  struct Form {
    const char *line, *writer, *text;
  };
  for (const auto& [line, writer, text] : {
           Form{"NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62)", "NVRM",
                "RmInitAdapter failed! (0x62)"},
           Form{"NVRM: GPU0 _kgspBootGspRm: x", "NVRM", "_kgspBootGspRm: x"},
           Form{"NVRM kgspInitRm_IMPL: missing", "NVRM", "kgspInitRm_IMPL: missing"},
           Form{"nvidia 0000:17:00.0: probe with driver nvidia failed", "nvidia",
                "probe with driver nvidia failed"},
           Form{"nvidia: probe of 0000:17:00.0 failed", "nvidia", "probe of 0000:17:00.0 failed"},
           Form{"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 1", "nvidia-nvswitch3",
                "SXid (PCI:0000:c1:00.0): 1"},
           Form{"amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", "amdgpu", "GPU reset begin!"},
           Form{"amdgpu 0000:03:00.0: amdgpu: {1}[Hardware Error]: socket: 0", "amdgpu",
                "socket: 0"},
           Form{"amdgpu 0000:26:00.0: {1}uncorrectable", "amdgpu", "uncorrectable"},
           Form{"amdgpu 0000:03:00.0: [drm:f [amdgpu]] *ERROR* IB test", "amdgpu", "IB test"},
           Form{"[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring", "amdgpu", "ring"},
           Form{"[drm:psp_sw_init] *ERROR* Failed", "drm", "Failed"},
           Form{"[drm] Initialized xe 1.1.0 for 0000:03:00.0", "drm",
                "Initialized xe 1.1.0 for 0000:03:00.0"},
           Form{"kfd kfd: amdgpu: skipped device", "amdgpu", "skipped device"},
           Form{"xe 0000:03:00.0: [drm] *ERROR* Tile0: GT0: reset failed (-5)", "xe",
                "reset failed (-5)"},
           Form{"pcieport 0000:de:01.0: pciehp: Slot(7): Link Down", "pcieport",
                "pciehp: Slot(7): Link Down"},
           Form{"pciehp 0000:de:01.0:pcie004: Slot(7): Link Down", "pciehp", "Slot(7): Link Down"},
           Form{"{3}[Hardware Error]: event severity: fatal", "[Hardware Error]",
                " event severity: fatal"},
           Form{"gim warning:(function:12) text", "gim", "function:12) text"},
           Form{"gim error libgv: [0:a8:0:0][function:12] text", "gim",
                "[0:a8:0:0][function:12] text"},
           Form{"ACPI: PM: Waking up", "ACPI", "PM: Waking up"},
           Form{"INFO: task a:1 blocked", "kernel", "INFO: task a:1 blocked"},
       }) {
    const auto message = parse_message(line);
    ASSERT_TRUE(message) << line;
    EXPECT_EQ(message->writer, writer) << line;
    EXPECT_EQ(message->text, text) << line;
  }
}

TEST(LogMessage, WhatAUserBeginsIsNone) {
  for (const char* line :
       {"tmpfs: Unknown parameter 'NVRM: x'", "NVRM: Xid (PCI:[4242]",
        "xe 0000:03:00.0[1]: segfault", "a NVRM: x", " NVRM: x", "[drm:x",
        "usb 1-1: Product: NVRM: x", "", ":", "NVRM Xid[1]: x", "systemd[1]: NVRM: x"})
    EXPECT_FALSE(parse_message(line) && parse_xid(line)) << line;
  EXPECT_FALSE(parse_message("tmpfs: Unknown parameter 'NVRM: x'"));
  EXPECT_FALSE(parse_message("xe 0000:03:00.0[1]: segfault at 0"));
  for (const char* line : {"gim :(function:12) text", "gim  libgv: text", "gim error text",
                           "gim error (function:12) text", "gimp error:(f:1) text"}) {
    const auto message = parse_message(line);
    EXPECT_FALSE(message && message->writer == "gim") << line;
  }
  EXPECT_TRUE(
      parse_kernel_log("1.5 NVRM: Xid (PCI:0000:17:00): 79, IN=lo OUT= MAC= SRC=::1 DST=::1\n")
          .xids.empty());
  // A process's name is too short to be the rest of a packet.
  EXPECT_EQ(parse_kernel_log("1.5 NVRM: Xid (PCI:0000:17:00): 62, pid=7, name=IN= OUT= SRC=, a\n")
                .xids.size(),
            1u);
}

TEST(LogMessage, PatternsBeginWhereTheMessageDoes) {
  EXPECT_TRUE(says("amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1",
                   "amdgpu: ring * timeout, signaled seq="));
  EXPECT_TRUE(says("[drm] GPU HANG: ecode 9:0", "i915: GPU HANG: ecode "));
  EXPECT_FALSE(says("[drm] GPU HANG: ecode[12] context reset", "i915: GPU HANG: ecode "));
  EXPECT_FALSE(says("nouveau 0000:03:00.0: GPU reset begin!", "amdgpu: GPU reset begin"));
  EXPECT_FALSE(says("amdgpu 0000:03:00.0: x GPU reset begin!", "amdgpu: GPU reset begin"));
  EXPECT_FALSE(says("amdgpu 0000:03:00.0: ring a b timeout, signaled seq=",
                    "amdgpu: ring * timeout, signaled seq="));
  EXPECT_TRUE(says("NVRM: nvCheckFailedNoLog: x [NV_ERR_RESET_REQUIRED] y",
                   "NVRM: ...[NV_ERR_RESET_REQUIRED]"));
}

TEST(KernelLog, FurtherLinesAreBelievedWithTheirRecord) {
  const auto log = parse_kernel_log(
      "1.5 tmpfs: Unknown parameter 'x\n"
      "1.5 NVRM: Xid (PCI:0000:17:00): 95, pid=1'\n"
      "1.500001 NVRM: Xid (PCI:0000:17:00): 62, pid=1\n"
      "2.5 NVRM: The NVIDIA GPU 0000:17:00.0 (PCI ID: 10de:1db5)\n"
      "2.5                NVRM: installed in this system is not supported by open\n"
      "3.5 xe 0000:03:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as "
      "wedged.\n"
      "3.5                IOCTLs and executions are blocked.\n");
  ASSERT_EQ(log.xids.size(), 1u);
  EXPECT_EQ(log.xids[0].code, 62);
  ASSERT_EQ(log.lines.size(), 4u);
  EXPECT_EQ(log.lines[2].text, "NVRM: installed in this system is not supported by open");
}

// A driver's message of several lines names its writer in each.
TEST(KernelLog, AFurtherLineIsItsWritersOwn) {
  const auto log = parse_kernel_log(
      "1.5 xe 0000:03:00.0: [drm] Timedout job: seqno=4294967169, in x\n"
      "1.5 xe: reset done [77]\n"
      "2.5 NVRM: API mismatch: the client 'a\n"
      "2.5 amdgpu: b' (pid 5121)\n"
      "3.5 Loading of module with unavailable key is rejected\n"
      "3.5 NVRM: Xid (PCI:0000:17:00): 62, pid=1\n");
  EXPECT_EQ(log.lines.size(), 3u);
  EXPECT_TRUE(log.xids.empty());
}

// A name of 15 characters.
TEST(Xid, ALineBreakInAProcesssNameCutsNothing) {
  for (const std::string name : {"a\\x0ab", "\\x0a", "\\x0aNVRM: Xid (PCI", "NVRM\\x0aNVRM: Xid",
                                 "a\\x0aNVRM:", "\\x0a\\x0a\\x0aNVRM: \\x0a", "\\x0aNVRM: a, b, c,",
                                 "\\x0axe: reset done"}) {
    for (const char* text : {"2027(21a8)",
                             "GPU recovery action changed from 0x0 (None) to 0x1 (GPU "
                             "Reset Required)"}) {
      std::string record =
          "3,7,2000000,-;NVRM: Xid (PCI:0000:17:00): 154, pid=7, name=" + name + ", " + text + "\n";
      std::string log = "1.0 NVRM: loading\n";
      append_kmsg_record(record, log);
      append_kmsg_record("3,8,2000000,-;NVRM: GPU 0000:17:00.0: x\n", log);
      for (const auto& parsed :
           {parse_kernel_log(log), parse_kernel_log(log + "9.5 usb 1-1: x\n")}) {
        ASSERT_EQ(parsed.xids.size(), 1u) << name;
        EXPECT_EQ(parsed.xids[0].code, 154);
        EXPECT_EQ(parsed.xids[0].pci, (PciAddress{0, 0x17, 0, 0}));
        EXPECT_TRUE(parsed.xids[0].line.ends_with(text)) << parsed.xids[0].line;
        EXPECT_EQ(parsed.lines.size(), 3u) << name;
        EXPECT_EQ(parsed.lines[1].text, parsed.xids[0].line);
      }
    }
  }
  // A text log, whose times are coarse: each is an event of its own.
  EXPECT_EQ(parse_kernel_log("2.5 NVRM: Xid (PCI:0000:17:00): 62, pid=7, name=a, b\n"
                             "2.5 NVRM: Xid (PCI:0000:18:00): 79, pid=7, name=a, b\n"
                             "2.5 NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.\n")
                .lines.size(),
            3u);
}

TEST(KernelLog, KeepsWhatIsAboutGpus) {
  const auto log = parse_kernel_log(
      "1.500000 usb 1-1: new device\n"
      "2.250000 NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62:0xffff:2477)\n"
      "3.000000 pcieport 0000:16:01.0: AER: Corrected error received\n"
      "4.000000 amdgpu 0000:03:00.0: kfd: skipped device, PCI rejects atomics\n"
      "5.000000 EXT4-fs mounted\n"
      "6.000000 NVRM: Xid (PCI:0000:17:00): 48, DBE\n");
  EXPECT_TRUE(log.readable);
  ASSERT_EQ(log.lines.size(), 4u);
  EXPECT_EQ(log.lines[0].seconds, 2.25);
  EXPECT_EQ(log.lines[0].text, "NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62:0xffff:2477)");
  ASSERT_EQ(log.xids.size(), 1u);
  EXPECT_EQ(log.xids[0].seconds, 6.0);
}

TEST(KernelLog, ALineIsAboutGpusByItsTopicAndItsWriter) {
  for (const auto& [line, about] :
       {std::pair("NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62:0xffff:2477)", true),
        {"amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", true},
        {"systemd[1]: Started nvidia-persistenced", false},
        {"usb 1-1: Product: NVRM: Xid", false},
        {"PM: resume devices took 0.512 seconds", false},
        {"EXT4-fs mounted", false}})
    EXPECT_EQ(is_about_gpus(line), about) << line;
}

std::string xid_line(int seconds, int code, const std::string& text) {
  return std::to_string(seconds) + ".0 NVRM: Xid (PCI:0000:17:00): " + std::to_string(code) + ", " +
         text + "\n";
}

bool holds(const KernelLog& log, std::string_view text) {
  return std::any_of(log.lines.begin(), log.lines.end(),
                     [&](const LogLine& line) { return contains(line.text, text); });
}

template <class Items>
std::size_t counted(const Items& items) {
  std::size_t count = 0;
  for (const auto& item : items) count += 1 + item.left_out;
  return count;
}

TEST(KernelLog, AFloodKeepsItsBeginningAndItsEndAndIsCounted) {
  std::string text;
  for (int i = 0; i < 60'000; ++i)
    text += xid_line(i, 31, "pid=" + std::to_string(i) + ", number " + std::to_string(i));
  const auto log = parse_kernel_log(text);
  EXPECT_LE(log.lines.size(), 16u);
  EXPECT_EQ(counted(log.lines), 60'000u);
  EXPECT_EQ(counted(log.xids), 60'000u);
  EXPECT_EQ(log.lines.front().seconds, 0.0);
  EXPECT_EQ(log.xids.front().seconds, 0.0);
  EXPECT_EQ(log.lines.back().seconds, 59'999.0);
  EXPECT_EQ(log.xids.back().seconds, 59'999.0);
}

TEST(KernelLog, AFloodCostsNoLineOfAnotherKind) {
  std::string text = "1.0 NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62:0xffff:2477)\n";
  const auto storm = [&](int from) {
    for (int i = from; i < from + 3700; ++i) {
      const auto time = std::to_string(i);
      text += time + ".0 pcieport 0000:16:01.0: AER: Corrected error received: 0000:17:00.0\n";
      text += time +
              ".1 nvidia 0000:17:00.0: PCIe Bus Error: severity=Corrected, type=Physical "
              "Layer, (Receiver ID)\n";
    }
  };
  storm(10);
  text += xid_line(4000, 79, "GPU has fallen off the bus.");
  text += "4001.0 amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -110\n";
  storm(5000);
  const auto log = parse_kernel_log(text);
  EXPECT_LT(log.lines.size(), 50u);
  EXPECT_EQ(counted(log.lines), 4u * 3700u + 3u);
  EXPECT_TRUE(holds(log, "RmInitAdapter failed"));
  EXPECT_TRUE(holds(log, "fallen off the bus"));
  EXPECT_TRUE(holds(log, "ret = -110"));
  EXPECT_TRUE(std::is_sorted(log.lines.begin(), log.lines.end(),
                             [](const auto& a, const auto& b) { return a.seconds < b.seconds; }));
}

TEST(KernelLog, AnotherXidGpuOrGravityIsAnotherKind) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += xid_line(i, 31, "pid=7, name=python3");
  text += xid_line(3000, 79, "pid=7, name=python3");
  text += "3001.0 NVRM: Xid (PCI:0000:18:00): 31, pid=7, name=python3\n";
  text += xid_line(3002, 149, "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000)");
  for (int i = 3003; i < 6000; ++i)
    text += xid_line(i, 149, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001)");
  for (int i = 6000; i < 9000; ++i) text += xid_line(i, 31, "pid=7, name=python3");
  const auto log = parse_kernel_log(text);
  const auto has = [&](int code, int bus, std::string_view word) {
    return std::any_of(log.xids.begin(), log.xids.end(), [&](const XidEvent& event) {
      return event.code == code && event.pci->bus == bus && contains(event.line, word);
    });
  };
  EXPECT_TRUE(has(79, 0x17, "python3"));
  EXPECT_TRUE(has(31, 0x18, "python3"));
  EXPECT_TRUE(has(149, 0x17, " Fatal"));
  EXPECT_EQ(counted(log.xids), 9000u);
}

TEST(KernelLog, WhatIsAlikeButForNumbersIsOneKind) {
  const auto same = [](const char* a, const char* b) { return kind_of_line(a) == kind_of_line(b); };
  EXPECT_TRUE(same("amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=12",
                   "amdgpu 0000:03:00.0: amdgpu: ring gfx_1.2.0 timeout, signaled seq=9"));
  EXPECT_TRUE(
      same("x error status/mask=00000040/0000a000", "x error status/mask=0000beef/00001000"));
  EXPECT_FALSE(
      same("amdgpu 0000:03:00.0: GPU reset begin!", "amdgpu 0000:26:00.0: GPU reset begin!"));
  EXPECT_FALSE(same("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44",
                    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 11012, Fatal, Link 44"));
  EXPECT_FALSE(same("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44",
                    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Non-fatal, Link 44"));
}

// A kind is kept for each: it may not be as long as a line.
TEST(KernelLog, AKindEndsLongBeforeTheLineDoes) {
  for (const std::string& word :
       {std::string("no "), std::string("7 "), std::string("0000:17:00.0 ")}) {
    std::string line = "NVRM: ";
    while (line.size() < 1500) line += word;
    EXPECT_LE(kind_of_line(line).size(), 220u) << word;
    EXPECT_EQ(kind_of_line(line), kind_of_line(line + "more")) << word;
  }
}

// As a machine that logged for weeks gives it: neither memory nor the result grows with the log.
TEST(KernelLog, MillionsOfLinesOfManyKindsStayBounded) {
  KernelLogReader reader;
  for (int i = 0; i < 1'000'000; ++i) {
    std::string name = "nvidia: ";
    for (int n = i % 50'000, letter = 0; letter < 4; ++letter, n /= 16)
      name += static_cast<char>('g' + n % 16);
    reader.line("1.0 " + name + " said something");
  }
  const auto log = reader.take();
  EXPECT_LE(log.lines.size(), kKernelLogMostLines);
  EXPECT_EQ(counted(log.lines), 1'000'000u);
}

TEST(KernelLog, ControlCharactersDoNotPass) {
  const auto log = parse_kernel_log("1.0 NVRM: \x1b[31m\n");
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(log.lines[0].text.find('\x1b'), std::string::npos);
}

TEST(KernelLog, OneThatMayNotBeReadIsTold) {
  Machine machine;
  read_kernel_log(*scripted(R"("kernel_log":{"error":"EPERM"})"), machine);
  EXPECT_FALSE(machine.kernel_log.readable);
  EXPECT_TRUE(machine.kernel_log.error);
  ASSERT_EQ(machine.unseen.size(), 1u);
  EXPECT_EQ(machine.unseen[0].what, "kernel log");
}

}  // namespace
}  // namespace gpuready
