#include "bench/record/startup.h"

#include <algorithm>

namespace gpuready::bench {

Json startup_json(std::optional<double> setup, std::optional<double> compile,
                  std::optional<double> first_step, std::optional<double> p50) {
  Json doc = Json::object();
  put(doc, "setup", setup);
  put(doc, "compile", compile);
  put(doc, "first_step", first_step);
  if (setup && first_step) doc["total"] = *setup + *first_step;
  if (first_step && p50)
    doc["compile_overhead_estimate"] = compile.value_or(0) + std::max(0.0, *first_step - *p50);
  return doc;
}

}  // namespace gpuready::bench
