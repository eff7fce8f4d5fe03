// The documents of `bench`.
#include "bench/fields_compare.h"
#include "bench/fields_history.h"
#include "bench/fields_promote.h"
#include "bench/fields_run.h"

namespace gpuready {

template Json to_json(const bench::RunRecord&, const Envelope&);
template Json to_json(const bench::Comparison&, const Envelope&);
template Json to_json(const bench::Promotion&, const Envelope&);
template Json to_json(const bench::History&, const Envelope&);

}  // namespace gpuready
