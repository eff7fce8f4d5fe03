// What the forms of `bench report` share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/ranking.h"
#include "bench/run_record.h"

namespace gpuready {

std::string workload_text(const bench::Workload& workload);
std::vector<std::pair<std::string, std::string>> environment_texts(const bench::RunRecord& run);
std::string ratio_text(const bench::RankedStack& stack, bool first);
std::string rank_text(const bench::RankedStack& stack, bool first);
std::string time_or_none(const std::optional<double>& ns);

}  // namespace gpuready
