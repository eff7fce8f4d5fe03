#include "value/json.h"

#include "value/fields.h"
#include "value/read_fields.h"
#include "value/write_fields.h"

namespace gpuready {

Json to_json(const Machine& machine) { return value::write_fields(machine); }
Json to_json(const Finding& finding) { return value::write_fields(finding); }
Json to_json(const Verdict& verdict) { return value::write_fields(verdict); }
Json to_json(const Samples& samples) { return value::write_fields(samples); }

template <class T>
Result<T> value_from_json(const Json& doc, std::string_view name) {
  return value::read_document<T>(doc, name);
}
template Result<Machine> value_from_json(const Json&, std::string_view);
template Result<Finding> value_from_json(const Json&, std::string_view);
template Result<Verdict> value_from_json(const Json&, std::string_view);
template Result<Samples> value_from_json(const Json&, std::string_view);

}  // namespace gpuready
