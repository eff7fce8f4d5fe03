#include "value/fields.h"
#include "value/json.h"
#include "value/read_fields.h"

namespace gpuready {

template <class T>
Result<T> from_json(const Json& doc, std::string_view name) {
  return value::read_document<T>(doc, name);
}
template Result<Machine> from_json(const Json&, std::string_view);
template Result<Finding> from_json(const Json&, std::string_view);
template Result<Verdict> from_json(const Json&, std::string_view);
template Result<Samples> from_json(const Json&, std::string_view);

}  // namespace gpuready
