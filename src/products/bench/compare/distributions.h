// Student's t distribution, as far as tests and intervals need it.
#pragma once

namespace gpuready::bench {

// The chance that |T| is at least |t|; `degrees` of freedom greater than 0, not only whole numbers.
// Relative error below 1e-10 down to 1e-300.
double student_t_two_sided(double t, double degrees);

// The t that |T| reaches with the chance `p` (0 < p < 1): 12.7062 for p = 0.05 and 1 degree.
double student_t_critical(double p, double degrees);

}  // namespace gpuready::bench
