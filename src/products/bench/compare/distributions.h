// Distributions, as far as tests and intervals need them.
#pragma once

namespace gpuready::bench {

// The chance that |T| is at least |t|; `degrees` of freedom greater than 0, not only whole numbers.
// Relative error below 1e-10 down to 1e-300.
double student_t_two_sided(double t, double degrees);

// The t that |T| reaches with the chance `p` (0 < p < 1): 12.7062 for p = 0.05 and 1 degree.
double student_t_critical(double p, double degrees);

// The same of the normal distribution.
double normal_two_sided(double z);
double normal_critical(double p);

// The chance that the F distribution is at least `ratio`.
double f_upper(double ratio, double degrees, double other_degrees);

// The derivatives of the logarithm of the gamma function, and the x > 0 with trigamma(x) = value.
double digamma(double x);
double trigamma(double x);
double trigamma_inverse(double value);

}  // namespace gpuready::bench
