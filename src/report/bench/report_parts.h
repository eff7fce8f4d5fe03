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
std::string unranked_text(const bench::UnrankedStack& stack);
std::string time_or_none(const std::optional<double>& ns);
// Marked where it is of too few samples, and what the mark says; empty where no stack has it.
std::string p95_text(const bench::RankedStack& stack);
std::string p95_note(const bench::Ranking& ranking);

}  // namespace gpuready
