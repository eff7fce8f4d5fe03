#include "value/fields.h"
#include "value/json.h"
#include "value/read_fields.h"

namespace gpuready {

template <class T>
Result<T> value_from_json(const Json& doc, std::string_view name) {
  return value::read_document<T>(doc, name);
}
template Result<Machine> value_from_json(const Json&, std::string_view);
template Result<Finding> value_from_json(const Json&, std::string_view);
template Result<Verdict> value_from_json(const Json&, std::string_view);
template Result<Samples> value_from_json(const Json&, std::string_view);

}  // namespace gpuready
