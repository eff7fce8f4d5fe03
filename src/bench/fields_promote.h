// visit_fields() of the types of promote.h.
#pragma once

#include "bench/fields_compare.h"
#include "bench/promote.h"

namespace gpuready {

template <>
inline constexpr auto kNames<bench::Decision> = std::to_array<Named<bench::Decision>>({
    {bench::Decision::promote, "promote"},
    {bench::Decision::reject, "reject"},
    {bench::Decision::need_more_runs, "need_more_runs"},
});

namespace bench {

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<Promotion>) {
  using T = Promotion;
  visit.about("bench_promotion", "Whether the candidate may replace the base.");
  FIELD(decision, "promote, reject or need_more_runs.");
  FIELD(reasons, "Why.", {.always = true});
  FIELD(further_runs, "Further runs a side after which it may be decided.");
  FIELD(idea, "The one thing that the candidate was to change.");
  FIELD(least_gain_percent, "What the whole interval of a gain must be above.");
  FIELD(most_spread_percent, "Maximum standard deviation between runs.");
  FIELD(comparison, "The evidence; where an idea is named, each other difference is refused.",
        {.always = true});
}

}  // namespace bench
}  // namespace gpuready
