// What a description can say of a field, in a document and back.
#include "value/document.h"

#include <gtest/gtest.h>

namespace gpuready {

// Not in an unnamed namespace: clang wants a definition of what converts to such a type.
enum class TestColour { red, green };

struct TestShade {
  TestColour colour = TestColour::red;
  int depth = 0;
};
struct TestTitled {
  std::string name;
};
struct TestSample : TestTitled {
  TestShade shade;
  std::string text;
  bool marked = false;
  std::vector<std::string> parts;
  bool has_parts = false;
  std::map<PciAddress, std::string> by_address;
  Exit exit = Exit::ok;
  int secret = 0;
  std::optional<TestShade> other;
};

NAMES_OF(TestColour, "red", "green");

FIELDS_OF(TestShade) {
  visit.about("shade", "A shade.");
  FIELD(colour, "Its colour.");
  FIELD(depth, "Its depth.", {.sparse = true});
}
FIELDS_OF(TestTitled) {
  visit.about("titled", "What has a name.");
  FIELD(name, "The name.", kAlways);
}
FIELDS_OF(TestSample) {
  visit.merged(kBase<TestTitled>);
  visit.merged(&T::shade);
  FIELD(text, "A text of others.", {.printable = true});
  FIELD(marked, "Whether it is marked.", {.sparse = true});
  FIELD(parts, "Its parts.", {WHEN(it.has_parts)});
  DERIVED(by_address, it.by_address, "By address.");
  visit("exit_code", &T::exit, "A number.", {.as_number = true});
  DERIVED(length, it.text.size(), "Of the text.", kAlways);
  FIELD(other, "Another.");
  visit.hidden(&T::by_address, &T::has_parts, &T::secret);
}

DOCUMENT_OF(TestSample, "sample", "A sample", "For this test.", "0: good; 1: bad.");

namespace {

TestSample sample() {
  TestSample it;
  it.name = "n";
  it.shade = {TestColour::green, 7};
  it.text = "a\x1b[1mb";
  it.marked = it.has_parts = true;
  it.by_address[{0, 0x17, 0, 0}] = "dirty";
  it.exit = Exit::unknown;
  it.secret = 5;
  it.other = TestShade{};
  return it;
}

TEST(Documents, HoldWhatTheDescriptionSays) {
  EXPECT_EQ(
      dump_line(value::write_document(sample())),
      R"({"schema":"gpuready.sample","schema_version":1,"name":"n","colour":"green","depth":7,)"
      R"("text":"a?[1mb","marked":true,"parts":[],"by_address":{"0000:17:00.0":"dirty"},)"
      R"("exit_code":4,"length":6,"other":{"colour":"red"}})");
  EXPECT_EQ(dump_line(value::write_fields(TestSample())),
            R"({"name":"","colour":"red","exit_code":0,"length":0})");
}

TEST(Documents, AreReadByTheSameDescription) {
  const TestSample it = sample();
  const Json doc = value::write_document(it);
  ASSERT_TRUE(value::is_document(doc, kForm<TestSample>));
  const auto read = value::read_document<TestSample>(doc, "a sample");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->name, "n");
  EXPECT_EQ(read->shade.colour, TestColour::green);
  EXPECT_EQ(read->shade.depth, 7);
  EXPECT_EQ(read->exit, Exit::unknown);
  EXPECT_EQ(read->secret, 0);
  EXPECT_TRUE(read->marked && read->other && read->parts.empty());
}

TEST(Documents, ThatAreOthersOrBrokenAreRefused) {
  Json doc = value::write_document(sample());
  const auto why = [&] { return value::read_document<TestSample>(doc, "it").error().message; };
  doc["exit_code"] = 7;
  EXPECT_EQ(why(), "it: exit_code is not one of its numbers");
  doc.erase("exit_code");
  EXPECT_EQ(why(), "it: exit_code is missing");
  doc.erase("name");
  EXPECT_EQ(why(), "it: name is missing");
  doc["schema_version"] = 2;
  EXPECT_FALSE(value::is_document(doc, kForm<TestSample>));
}

TEST(Documents, OfACommandBeginWithItsEnvelope) {
  Envelope envelope;
  envelope.command = "look";
  envelope.exit = Exit::unhealthy;
  const Json doc = to_json(TestSample(), envelope);
  EXPECT_EQ(doc.at("tool"), (Json{{"name", "gpuready"}}));
  EXPECT_EQ(doc.at("exit_meaning"), exit_meaning(Exit::unhealthy));
  const auto read = value::read_document<Envelope>(doc, "it");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->command, "look");
}

}  // namespace
}  // namespace gpuready
