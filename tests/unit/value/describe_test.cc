// schema/report.schema.json and docs/fields.md are made here and must be current.
#include "unit/value/describe.h"

#include "value/fields.h"

namespace gpuready::value {
namespace {

const auto kEachType = [](auto visit) {
  Walk walk(std::move(visit));
  walk.template type<Machine>();
  walk.template type<Finding>();
  walk.template type<Verdict>();
  walk.template type<Samples>();
};

TEST(Fields, TheSchemaIsCurrent) {
  expect_current_definitions("schema/report.schema.json", schema_definitions(kEachType));
}

TEST(Fields, TheDocsAreCurrent) {
  expect_current(
      "docs/fields.md",
      "# Fields of the JSON documents\n\n"
      "What `machine`, `findings`, `verdicts` and `samples` of a report hold, and what "
      "`gpuready_inspect_json()` and\n`gpuready_diagnose_json()` return. A field that no source "
      "reported is absent, never 0. This page is generated\nfrom `src/value/fields_*.h`, as are "
      "the definitions of [schema/report.schema.json](../schema/report.schema.json).\n\n"
      "Every document also has `schema` and `schema_version`, `tool`, "
      "`command`, `created_utc`, `machine_id`\n"
      "(a stable name that does not reveal /etc/machine-id), `boot_id` (the kernel's random id "
      "of this boot, which identifies\n"
      "the period of counters since boot), `conclusion`, `exit_code`, `exit_meaning`, "
      "`notes` and `duration_ms`.\n"
      "`gpu_status` has the state of each GPU with its UUID, its PCI address, and NVML's and "
      "CUDA's numbers of it.\n" +
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
