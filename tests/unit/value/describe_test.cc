// docs/fields.md is made here and must be current.
#include "unit/value/describe.h"

#include "value/fields.h"

namespace gpuready::value {
namespace {

const auto kEachType = [](auto visit) {
  Walk walk(std::move(visit));
  walk.template type<Envelope>();
  walk.template type<Machine>();
  walk.template type<Finding>();
  walk.template type<Verdict>();
  walk.template type<Samples>();
};

TEST(Fields, TheDocsAreCurrent) {
  expect_current(
      "docs/fields.md",
      "# Fields of the JSON documents\n\n"
      "What every document says of itself (`envelope`, whose fields stand beside the document's "
      "own), what `machine`,\n`findings`, `verdicts` and `samples` of a report hold, and what "
      "`gpuready_inspect_json()` and\n`gpuready_diagnose_json()` return. A field that no source "
      "reported is absent, never 0. This page is generated\nfrom the descriptions of the fields "
      "(`visit_fields()`), as is every schema in [schema/](../schema/) but those of\nrecordings "
      "and probes.\n\n"
      "`machine_id` does not give /etc/machine-id away; by `boot_id` counters that begin anew at a "
      "boot can be told apart.\n"
      "`gpu_status` of a report has the state of each GPU with its UUID, its PCI address, and "
      "NVML's and CUDA's numbers of it.\n" +
          field_tables(kEachType));
}

// Each unit and each name stands once: "total_bytes" is not described as "total, in bytes".
TEST(Fields, DescriptionsAreSentencesWithoutUnits) {
  const Json definitions = schema_definitions(kEachType);
  for (const auto& [type, definition] : definitions.items()) {
    EXPECT_TRUE(definition.at("description").get<std::string>().ends_with('.')) << type;
    for (const auto& [key, property] : definition.at("properties").items()) {
      const auto text = property.at("description").get<std::string>();
      EXPECT_TRUE(text.ends_with('.')) << type << "." << key;
      EXPECT_EQ(text.find("in bytes"), text.npos) << type << "." << key;
    }
  }
}

}  // namespace
}  // namespace gpuready::value
