#include "machine/kernel_log.h"

#include "machine/sources.h"
#include "scripted.h"

namespace gpuready {
namespace {

TEST(Xid, EveryFormOfThePlace) {
  const PciAddress address{0, 0x17, 0, 0};
  for (const char* place : {"PCI:0000:17:00", "PCI:0000:17:00.0", "0000:17:00", "0000:17:00.0"}) {
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
        "NVRM: Xid (PCI:0000:17:00): ", "NVRM: Xid (PCI:0000:17:00): 999999999", "Xid"})
    EXPECT_FALSE(parse_xid(line)) << line;
  const auto nowhere = parse_xid("NVRM: Xid (garbage): 13, x");
  ASSERT_TRUE(nowhere);
  EXPECT_EQ(nowhere->pci, std::nullopt);
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

TEST(KernelLog, AFloodKeepsItsBeginningAndItsEnd) {
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text +=
        std::to_string(i) + ".0 NVRM: Xid (PCI:0000:17:00): 31, number " + std::to_string(i) + "\n";
  const auto log = parse_kernel_log(text);
  EXPECT_EQ(log.lines.size(), kKernelLogMaxLines);
  EXPECT_EQ(log.xids.size(), kKernelLogMaxXids);
  EXPECT_EQ(log.lines.front().seconds, 0.0);
  EXPECT_EQ(log.lines.back().seconds, 4999.0);
  EXPECT_EQ(log.xids.back().seconds, 4999.0);
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
