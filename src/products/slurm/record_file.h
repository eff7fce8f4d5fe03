// The record of what we did to a node, in a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/host.h"
#include "slurm/decide.h"

namespace gpuready::slurm {

Result<Record> parse_record(std::string_view text, const std::string& name);
std::string record_text(const Record& record);

// Where the record of this node is. A node's name may hold any character.
std::string record_path(const std::string& folder, std::string_view node);
// Nothing if the file is missing.
Result<std::optional<Record>> read_record(Host& host, const std::string& path);

}  // namespace gpuready::slurm
