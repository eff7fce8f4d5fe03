// Labels of a node, in the form of Node Feature Discovery's local source: a file of lines
// "namespace/name=value" (https://kubernetes-sigs.github.io/node-feature-discovery, "Local feature
// source"). Pure.
#pragma once

#include <string>

#include "report/kept_results.h"
#include "report/report.h"

namespace gpuready::kubernetes {

// A good result's labels expire when the result does, so a node that is not tested again loses
// them.
std::string features(const Report& report, const Result<StatusReport>& status);

// At most 63 characters of [A-Za-z0-9._-] with an alphanumeric at both ends.
std::string label_value(std::string_view text);

}  // namespace gpuready::kubernetes
