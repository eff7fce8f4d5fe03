// The record of what we did to a node, in a file.
#pragma once

#include <string>
#include <string_view>

#include "slurm/decide.h"

namespace gpuready::slurm {

Result<Record> parse_record(std::string_view text, const std::string& name);
std::string record_text(const Record& record);

}  // namespace gpuready::slurm
