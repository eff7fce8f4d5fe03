#include "jobs/job.h"

#include "base/named.h"

namespace gpuready {

NAMES_OF(JobEnd, "exited", "signalled", "timed_out", "silent", "too_much_output", "cancelled",
         "hung");

std::string_view to_string(JobEnd end) { return name_of(end); }
std::optional<JobEnd> job_end_from(std::string_view text) { return named<JobEnd>(text); }

}  // namespace gpuready
