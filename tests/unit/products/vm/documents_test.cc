#include <gtest/gtest.h>

#include "unit/value/fill.h"
#include "value/fields.h"
#include "value/read_fields.h"
#include "value/write_fields.h"
#include "vm/fields.h"
#include "vm/journal.h"
#include "vm/plan_fields.h"

namespace gpuready::vm {
namespace {

TEST(VmJournal, EveryFieldOfAPlanSurvives) {
  const Plan plan = value::filled<Plan>();
  const Json written = value::write_fields(plan);
  const auto operation = parse_operation(dump_line(Json{{"plan", written}}) + "\n", "a journal");
  ASSERT_TRUE(operation) << operation.error().message;
  EXPECT_EQ(value::write_fields(operation->plan), written);
}

constexpr char kStart[] =
    R"({"plan":{"operation":"attach","name":"a","devices":["0000:17:00.0"],"managed":false,"steps":[]},"boot_id":"1"})"
    "\n";

TEST(VmJournal, ALineThatIsCutShortWasNeverActedOn) {
  const auto cut = parse_operation(std::string(kStart) + "{\"begin\":0}\n{\"beg", "j");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->begun, std::set<std::size_t>{0});
  EXPECT_FALSE(cut->ended);
  const auto torn = parse_operation(std::string(kStart) + "\0\0\n{\"end\":\"done\"}\n", "j");
  ASSERT_TRUE(torn);
  EXPECT_FALSE(torn->ended);
}

TEST(VmJournal, WhatIsNoJournalIsRefused) {
  EXPECT_EQ(parse_operation("", "j").error().kind, ErrorKind::truncated);
  EXPECT_EQ(parse_operation("{\"plan\":", "j").error().kind, ErrorKind::truncated);
  EXPECT_EQ(parse_operation(std::string(4096, '\0'), "j").error().kind, ErrorKind::truncated);
  EXPECT_EQ(parse_operation("{}\n", "j").error().kind, ErrorKind::bad_input);
  EXPECT_EQ(parse_operation("{\"plan\":3}\n", "j").error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace gpuready::vm
