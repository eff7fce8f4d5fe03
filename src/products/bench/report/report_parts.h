// What the forms of `bench report` share.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/compare/ranking.h"
#include "bench/record/result_files.h"

namespace gpuready {

std::vector<std::pair<std::string, std::string>> environment_texts(const bench::RunRecord& run);
// Of one of its ranked stacks; empty where they did not do the same work.
std::string ratio_text(const bench::Ranking& ranking, const bench::RankedStack& stack);
std::string rank_text(const bench::Ranking& ranking, const bench::RankedStack& stack);
// Which ranked stack is the fastest, or that the repeats do not show it; without a full stop.
// `where`: which table's, after a blank, if there are several.
std::string fastest_text(const bench::Ranking& ranking, std::string_view name,
                         std::string_view where, std::string_view time);
// A line on what the noise was learned from; empty where it was not.
std::string learned_text(const bench::Ranking& ranking);
// A line on stacks for which the repeats are too few; empty if there is none.
std::string states_text(const bench::Ranking& ranking);
std::string unranked_text(const bench::UnrankedStack& stack);
std::string time_or_none(const std::optional<double>& ns);
// The p50, or the mean as such of what reported no more; empty where there is neither.
std::string typical_text(const bench::Latency& latency);
// Marked where it is of too few samples, and what the mark says; empty where no stack has it.
std::string p95_text(const bench::RankedStack& stack);
std::string p95_note(const bench::Ranking& ranking);

}  // namespace gpuready
