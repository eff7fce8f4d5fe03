#include "unit/value/describe.h"
#include "vm/drivers/fields.h"

namespace gpuready::vm {
namespace {

TEST(BundleFile, TheSchemaIsCurrent) {
  value::expect_current_definitions("schema/vm-drivers.schema.json",
                                    value::schema_definitions([](auto visit) {
                                      value::Walk walk(std::move(visit));
                                      walk.template type<DriverBundle>();
                                    }));
}

}  // namespace
}  // namespace gpuready::vm
