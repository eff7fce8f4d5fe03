// Value types as JSON and back, by the fields that value/fields.h describes. What no source
// reported is absent: an empty optional, text or list, and a part of which nothing is known.
// Numbers that are NaN or infinite are absent too.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "gpuready/finding.h"
#include "gpuready/machine.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"

namespace gpuready {

Json to_json(const Machine& machine);
Json to_json(const Finding& finding);
Json to_json(const Verdict& verdict);
Json to_json(const Samples& samples);

// The value that to_json() wrote. Keys that this version does not know are passed over. `name` is
// what errors call the document; they name the path within it: "worker 2: metrics[0].value is not a
// number". (Under the name from_json, nlohmann's functions of that name would be candidates, too.)
template <class T>
Result<T> value_from_json(const Json& doc, std::string_view name);
extern template Result<Machine> value_from_json(const Json&, std::string_view);
extern template Result<Finding> value_from_json(const Json&, std::string_view);
extern template Result<Verdict> value_from_json(const Json&, std::string_view);
extern template Result<Samples> value_from_json(const Json&, std::string_view);

}  // namespace gpuready
