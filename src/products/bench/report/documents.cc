// The documents of `bench`.
#include "bench/compare/fields_compare.h"
#include "bench/compare/fields_promote.h"
#include "bench/history/fields_history.h"
#include "bench/record/fields_run.h"

namespace gpuready {

template Json to_json(const bench::RunRecord&, const Envelope&);
template Json to_json(const bench::Comparison&, const Envelope&);
template Json to_json(const bench::Promotion&, const Envelope&);
template Json to_json(const bench::History&, const Envelope&);

}  // namespace gpuready
