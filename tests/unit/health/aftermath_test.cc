#include "health/aftermath.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

ProbeDocument heard(int xid) {
  ProbeDocument document;
  document.calls["nvmlEventSetWait_v2(0)"].value = {{"pci", "00000000:17:00.0"}, {"xid", xid}};
  return document;
}

XidEvent logged(int xid, const char* line) {
  XidEvent event;
  event.code = xid;
  event.pci = parse_pci_address("0000:17:00.0");
  event.line = line;
  return event;
}

std::vector<Verdict> passed() {
  Verdict verdict;
  verdict.test = "memory";
  verdict.pci_address = "0000:17:00.0";
  verdict.status = VerdictStatus::passed;
  return {verdict};
}

TEST(Aftermath, AMemoryXidDuringTheTestIsAFailure) {
  Machine before, after;
  after.kernel_log.xids = {logged(94, "NVRM: Xid (PCI:0000:17:00): 94, Contained: ...")};
  auto verdicts = passed();
  apply_memory_xids(before, after, verdicts);
  EXPECT_EQ(verdicts[0].status, VerdictStatus::failed);
  EXPECT_NE(verdicts[0].reason.find("94"), std::string::npos);
}

TEST(Aftermath, AnOldXidIsNot) {
  Machine before;
  before.kernel_log.xids = {logged(94, "old")};
  auto verdicts = passed();
  apply_memory_xids(before, before, verdicts);
  EXPECT_EQ(verdicts[0].status, VerdictStatus::passed);
}

TEST(Aftermath, AnXidThatOnlyNvmlToldCounts) {
  Machine before, after;
  add_heard_xids(heard(48), before, after);
  ASSERT_EQ(after.kernel_log.xids.size(), 1u);
  auto verdicts = passed();
  apply_memory_xids(before, after, verdicts);
  EXPECT_EQ(verdicts[0].status, VerdictStatus::failed);
}

TEST(Aftermath, AnXidThatTheLogTellsAsWellIsToldOnce) {
  Machine before, after;
  after.kernel_log.xids = {logged(31, "NVRM: Xid 31")};
  add_heard_xids(heard(31), before, after);
  EXPECT_EQ(after.kernel_log.xids.size(), 1u);
}

}  // namespace
}  // namespace gpuready
