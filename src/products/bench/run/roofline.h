// What the machine reaches at most, by our own stacks: the bandwidth of a copy and the FLOPs of a
// large product in the run's dtype. For `bench compare --normalise`.
#pragma once

#include <string>
#include <vector>

#include "bench/run/session.h"

namespace gpuready::bench {

struct MeasuredRoofline {
  Roofline roofline;
  std::vector<std::string> notes;  // why a part is not there
};

// On the device and in the dtype of `request`; the sizes follow from the device alone, so that
// machines with the same kind of device are asked for the same. `program` is gpuready.
MeasuredRoofline measure_roofline(const Request& request, const std::string& program,
                                  SessionOptions options);

}  // namespace gpuready::bench
