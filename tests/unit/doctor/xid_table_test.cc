#include "doctor/xid_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <sstream>
#include <string>

namespace gpuready {
namespace {

struct Known {
  int code;
  XidClass klass;
  XidAction action;
  bool fatal;
};

std::ostream& operator<<(std::ostream& out, const Known& known) {
  return out << "Xid " << known.code;
}

class XidKnown : public testing::TestWithParam<Known> {};

TEST_P(XidKnown, HasClassActionAndSeverity) {
  const Known& known = GetParam();
  const XidEntry* entry = find_xid(known.code);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->code, known.code);
  EXPECT_EQ(to_string(entry->klass), to_string(known.klass));
  EXPECT_EQ(describe(entry->action), describe(known.action));
  EXPECT_EQ(entry->fatal, known.fatal);
}

using enum XidAction;

constexpr Known kKnown[] = {
    // The application's own faults: the GPU needs nothing.
    {13, XidClass::application, restart_app, false},
    {31, XidClass::application, restart_app, false},
    {43, XidClass::application, restart_app, false},
    {45, XidClass::informational, follow_other_xid, false},
    {69, XidClass::application, restart_app, false},
    {137, XidClass::application, restart_app, false},
    // Memory.
    {48, XidClass::memory, reset_gpu, true},
    {63, XidClass::memory, none, false},
    {64, XidClass::memory, reset_gpu, true},
    {92, XidClass::memory, watch, false},
    {94, XidClass::memory, restart_app, false},
    {95, XidClass::memory, reset_gpu, true},
    {140, XidClass::memory, reset_gpu, true},
    {160, XidClass::memory, follow_recovery_action, false},
    {161, XidClass::memory, watch, false},
    {168, XidClass::memory, reset_gpu, false},
    {171, XidClass::memory, reset_gpu, true},
    {172, XidClass::memory, reset_gpu, true},
    {175, XidClass::memory, reset_gpu, true},
    {177, XidClass::memory, reset_gpu, false},
    // Firmware on the GPU.
    {61, XidClass::firmware, reset_gpu, false},
    {62, XidClass::firmware, reset_gpu, true},
    {119, XidClass::firmware, reset_gpu, true},
    {120, XidClass::firmware, reset_gpu, true},
    {143, XidClass::firmware, reset_gpu, true},
    {169, XidClass::firmware, reset_gpu, true},
    // Links.
    {74, XidClass::link, check_link, true},
    {79, XidClass::link, reboot, true},
    {121, XidClass::link, none, false},
    {136, XidClass::link, reset_gpu, true},
    {144, XidClass::link, follow_recovery_action, true},
    {145, XidClass::link, follow_recovery_action, true},
    {146, XidClass::link, follow_recovery_action, true},
    {147, XidClass::link, none, false},
    {148, XidClass::link, none, false},
    {149, XidClass::link, follow_recovery_action, true},
    {150, XidClass::link, reset_gpu, true},
    {155, XidClass::link, reset_gpu, true},
    {167, XidClass::link, reboot, true},
    {173, XidClass::link, reboot, true},
    // The rest.
    {46, XidClass::driver, reset_gpu, true},
    {54, XidClass::thermal_power, check_power_thermal, true},
    {109, XidClass::driver, reset_gpu, true},
    {110, XidClass::hardware, reset_gpu, true},
    {154, XidClass::informational, follow_recovery_action, true},
    {156, XidClass::hardware, reset_gpu, true},
    {157, XidClass::hardware, watch, false},
    {158, XidClass::hardware, reset_gpu, true},
};

INSTANTIATE_TEST_SUITE_P(Codes, XidKnown, testing::ValuesIn(kKnown), [](const auto& param) {
  return "Xid" + std::to_string(param.param.code);
});

TEST(XidTable, CodesAreAscendingAndUnique) {
  const auto table = xid_table();
  ASSERT_GE(table.size(), 170U);
  for (std::size_t i = 1; i < table.size(); ++i) EXPECT_LT(table[i - 1].code, table[i].code);
}

TEST(XidTable, EveryCodeUpTo177IsThere) {
  for (int code = 1; code <= 177; ++code) EXPECT_NE(find_xid(code), nullptr) << "Xid " << code;
}

TEST(XidTable, EveryEntryIsFoundByItsCode) {
  for (const XidEntry& entry : xid_table()) EXPECT_EQ(find_xid(entry.code), &entry);
}

TEST(XidTable, UnknownCodesAreNotFound) {
  for (int code : {-1, 0, 178, 184, 186, 999}) EXPECT_EQ(find_xid(code), nullptr) << code;
}

TEST(XidTable, TextsAreShortAndNotEmpty) {
  for (const XidEntry& entry : xid_table()) {
    SCOPED_TRACE(entry.code);
    EXPECT_FALSE(entry.name.empty());
    EXPECT_LE(entry.name.size(), 60U);
    EXPECT_GE(entry.meaning.size(), 20U);
    EXPECT_LE(entry.meaning.size(), 120U);
    EXPECT_TRUE(entry.meaning.ends_with('.')) << entry.meaning;
    EXPECT_FALSE(entry.name.ends_with('.')) << entry.name;
    EXPECT_FALSE(to_string(entry.klass).empty());
    EXPECT_NE(to_string(entry.klass), "unknown");
    EXPECT_FALSE(describe(entry.action).empty());
    EXPECT_NE(describe(entry.action), "unknown");
  }
}

TEST(XidTable, NamesAreUnique) {
  const auto table = xid_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    for (std::size_t j = i + 1; j < table.size(); ++j) {
      EXPECT_NE(table[i].name, table[j].name) << table[i].code << " and " << table[j].code;
    }
  }
}

TEST(XidTable, SeverityFitsActionAndClass) {
  for (const XidEntry& entry : xid_table()) {
    SCOPED_TRACE(entry.code);
    if (entry.fatal) {
      EXPECT_NE(entry.action, none);
      EXPECT_NE(entry.action, restart_app);
      EXPECT_NE(entry.klass, XidClass::application);
      EXPECT_NE(entry.klass, XidClass::unused);
    }
    constexpr int kDisplayHung = 16;  // computing goes on until the reboot
    if (entry.action == reboot && entry.code != kDisplayHung) {
      EXPECT_TRUE(entry.fatal);
    }
  }
}

TEST(XidTable, AnActionForPeopleIsOneForPrograms) {
  const auto action = [](XidAction of, XidClass klass = XidClass::hardware) {
    return action_of({1, "", "", klass, of, true});
  };
  EXPECT_EQ(action(none), Action::none);
  EXPECT_EQ(action(reset_gpu), Action::reset_gpu);
  EXPECT_EQ(action(check_link), Action::reset_gpu);
  EXPECT_EQ(action(reboot), Action::reboot);
  EXPECT_EQ(action(update_software), Action::configure);
  for (const auto by_hand : {check_hardware, contact_vendor}) {
    EXPECT_EQ(action(by_hand), Action::replace);
    EXPECT_EQ(action(by_hand, XidClass::unused), Action::check_again);
  }
  for (const auto softer :
       {watch, restart_app, check_power_thermal, follow_recovery_action, follow_other_xid})
    EXPECT_EQ(action(softer), Action::check_again);
}

// NVIDIA's "Xid Errors": lines of NVLink 5's events (144 to 150) say how grave they are, and those
// of 154 what the GPU needs now.
TEST(XidTable, ALineSaysHowGraveItsXidIs) {
  struct Row {
    int code;
    std::string_view text;
    Severity severity;
  };
  using enum Severity;
  for (const auto& [code, text, severity] : std::initializer_list<Row>{
           {9999, "something new", warning},
           {13, "Graphics Exception", info},  // the application's
           {45, "Ch 00000008", info},         // informational
           {63, "Row Remapper", info},        // no action
           {92, "High single-bit ECC error rate", warning},
           {79, "GPU has fallen off the bus.", error},  // fatal
           {79, "Nonfatal", error},
           {144, "NVLINK: SAW Fatal Link 3", error},
           {144, "NVLINK: SAW Nonfatal Link 3", warning},
           {144, "NVLINK: SAW Link 3", error},
           {144, "name= Fatal, NVLINK: SAW Nonfatal Link 3", warning},
           {144, "name=Nonfatal, NVLINK: SAW Fatal Link 3", error},
           {147, "NVLINK: TLW Fatal Link 3", error},
           {147, "NVLINK: TLW Nonfatal Link 3", warning},
           {147, "NVLINK: TLW Link 3", info},
           {150, "NVLINK: MSE Nonfatal Link 3", warning},
           {143, "Nonfatal", error},
           {155, "Nonfatal", error},
           {154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", error},
           {154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
            error},
           {154, "GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)", info},
           {154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None), more",
            info},
           {154, "GPU recovery action: (None)", error}})
    EXPECT_EQ(to_string(xid_severity(code, text)), to_string(severity)) << code << " " << text;
}

TEST(XidTable, DocumentationHasEveryCodeNameAndMeaning) {
  std::ifstream file(std::string(GPUREADY_SOURCE_DIR) + "/docs/xids.md");
  ASSERT_TRUE(file);
  std::stringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  for (const XidEntry& entry : xid_table()) {
    const std::string row = "| " + std::to_string(entry.code) + " | " + std::string(entry.name) +
                            " | " + std::string(entry.meaning) + " |";
    EXPECT_NE(document.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace gpuready
