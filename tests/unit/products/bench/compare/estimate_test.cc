#include "bench/compare/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "bench/compare/distributions.h"

namespace gpuready::bench {
namespace {

std::vector<RunValue> at(std::vector<double> when, std::vector<double> values) {
  std::vector<RunValue> runs;
  for (std::size_t i = 0; i < values.size(); ++i) runs.push_back({when[i], values[i]});
  return runs;
}

// Expected: scipy.stats.t.sf(t, df) * 2 and scipy.stats.t.isf(0.0025, df).
TEST(BenchStudentT, IsScipys) {
  struct {
    double degrees, t, p, critical;
  } const cases[] = {
      {1, 0.1, 0.936548965138893, 127.32133646887213},
      {1, 200, 0.0031830723364119386, 127.32133646887213},
      {2, 3.5, 0.07282735005446933, 14.089047275555295},
      {7, 12, 6.358310378185098e-06, 4.029337177642486},
      {7, 200, 2.062190599193654e-14, 4.029337177642486},
      {13.7, 1, 0.33464651783049804, 3.3388988304307423},
      {13.7, 200, 3.864851266385275e-25, 3.3388988304307423},
      {100, 12, 4.395087715604393e-21, 2.8706515238365378},
      {100, 200, 5.548393562549445e-132, 2.8706515238365378},
  };
  for (const auto& c : cases) {
    EXPECT_NEAR(student_t_two_sided(c.t, c.degrees) / c.p, 1, 1e-10) << c.degrees << " " << c.t;
    EXPECT_NEAR(student_t_two_sided(-c.t, c.degrees) / c.p, 1, 1e-10);
    EXPECT_NEAR(student_t_critical(0.005, c.degrees) / c.critical, 1, 1e-10) << c.degrees;
  }
  EXPECT_DOUBLE_EQ(student_t_two_sided(0, 5), 1);
  EXPECT_EQ(student_t_two_sided(HUGE_VAL, 5), 0);
}

TEST(BenchStudentT, QuantilesLeadBackToTheirChance) {
  for (const double p : {0.999, 0.5, 0.01, 1e-6, 1e-12, 1e-60}) {
    for (const double degrees : {0.5, 1.0, 2.0, 7.3, 100.0, 20'000.0})
      EXPECT_NEAR(student_t_two_sided(student_t_critical(p, degrees), degrees) / p, 1, 1e-10)
          << p << " " << degrees;
    EXPECT_NEAR(normal_two_sided(normal_critical(p)) / p, 1, 1e-10) << p;
  }
}

TEST(BenchEstimate, DesignFollowsFromTime) {
  const auto runs = [](std::vector<double> when) { return at(when, when); };
  EXPECT_EQ(design_of(runs({0, 3, 4}), runs({1, 2, 5})), Design::paired);
  EXPECT_EQ(design_of(runs({0, 2, 4}), runs({1, 3, 5})), Design::regular);
  EXPECT_EQ(design_of(runs({0, 1, 2}), runs({3, 4, 5})), Design::in_blocks);
  EXPECT_EQ(design_of(runs({0, 0, 2}), runs({3, 4, 4})), Design::in_blocks);
  EXPECT_EQ(design_of(runs({3, 4, 5}), runs({0, 1, 2})), Design::in_blocks);
  EXPECT_EQ(design_of(runs({0, 1, 4}), runs({2, 3, 5})), Design::mixed);
  EXPECT_EQ(design_of(runs({0, 2}), runs({1, 3, 4})), Design::mixed);
  // When they ran is not known: no order may be read from the places in the list.
  EXPECT_EQ(design_of(runs({0, 0}), runs({0, 0})), Design::mixed);
}

// What two runs of a pair share is greater than any trend: the pairs are the surer, at their share.
// Expected: scipy.stats.ttest_rel(c, b), its pvalue and confidence_interval(0.99).
TEST(BenchEstimate, PairedIsScipys) {
  const auto base = at({0, 3, 4, 7}, {1.00, 1.52, 0.69, 1.31});
  const auto candidate = at({1, 2, 5, 6}, {1.05, 1.56, 0.76, 1.34});
  const auto e = estimate(base, candidate, 0);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->method, Method::student_t);
  EXPECT_NEAR(e->difference, 0.04750000000000004, 1e-12);
  EXPECT_NEAR(e->p() * e->share / 0.011462432592160478, 1, 1e-9);
  EXPECT_NEAR(e->difference - e->half_width(0.01 / e->share), -0.002376258437727298, 1e-9);
  EXPECT_NEAR(e->share, 0.1, 1e-12);
}

// Expected: numpy.linalg.lstsq on [1, when, is candidate], with its standard error.
// The degrees are of both sides' residuals, after Satterthwaite.
TEST(BenchEstimate, AlternatingRunsAreJudgedBesideATrend) {
  const auto e = estimate(at({0, 3, 4, 7}, {1.00, 1.02, 0.99, 1.01}),
                          at({1, 2, 5, 6}, {1.05, 1.06, 1.06, 1.04}), 0);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->method, Method::trend_adjusted_t);
  EXPECT_EQ(e->design, Design::paired);
  EXPECT_NEAR(e->difference, 0.0475, 1e-12);
  EXPECT_NEAR(e->standard_error, 0.008800027056235494, 1e-12);
  EXPECT_LE(e->degrees, 5);
  EXPECT_GT(e->degrees, 4);
  EXPECT_NEAR(e->share, 0.9, 1e-12);
}

// From 3 pairs on a straight trend costs nothing, from 5 on a curved one; fewer runs are not enough
// to tell the noise beside it.
TEST(BenchEstimate, TheMorePairsTheMoreOfATrendIsTakenOut) {
  const auto error = [](std::size_t pairs, const std::function<double(double)>& trend) {
    std::vector<RunValue> base, candidate;
    for (std::size_t i = 0; i < pairs; ++i)
      for (const std::size_t place : {0u, 1u}) {
        const double when = static_cast<double>(2 * i + place);
        if (place == i % 2)
          base.push_back({when, trend(when)});
        else
          candidate.push_back({when, trend(when) + 0.5});
      }
    const auto e = estimate(base, candidate, 0);
    EXPECT_EQ(e->design, Design::paired) << pairs;
    if (e->standard_error < 1e-9) {
      EXPECT_NEAR(e->difference, 0.5, 1e-9) << pairs;
    }
    return e->standard_error;
  };
  const auto straight = [](double when) { return 1 + 0.1 * when; };
  const auto curved = [](double when) { return 1 + 0.01 * when * when; };
  EXPECT_GT(error(2, straight), 1e-3);
  for (const std::size_t pairs : {3u, 4u, 5u}) EXPECT_LT(error(pairs, straight), 1e-9) << pairs;
  for (const std::size_t pairs : {3u, 4u}) EXPECT_GT(error(pairs, curved), 1e-3) << pairs;
  for (const std::size_t pairs : {5u, 6u}) EXPECT_LT(error(pairs, curved), 1e-9) << pairs;
}

// Expected: scipy.stats.ttest_ind(c, b, equal_var=False).
TEST(BenchEstimate, MixedIsScipysWelch) {
  const auto e =
      estimate(at({0, 0, 0, 0}, {1.00, 1.02, 0.99, 1.01}), at({0, 0, 0}, {1.05, 1.06, 1.01}), 0);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->method, Method::welch_t);
  EXPECT_NEAR(e->p() / 0.13456325875370545, 1, 1e-9);
  EXPECT_NEAR(e->difference + e->half_width(0.01), 0.1424275715356354, 1e-9);
}

// Expected: numpy.linalg.lstsq on [1, when, is candidate], with its standard error.
// What is shown is the difference of the means, 0.0395; a drift explains all of it but 0.0015.
TEST(BenchEstimate, InBlocksWhatADriftExplainsDoesNotCount) {
  const auto e = estimate(at({0, 1, 2, 3}, {1.00, 1.013, 1.019, 1.031}),
                          at({4, 5, 6, 7}, {1.042, 1.049, 1.062, 1.068}), 0);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->method, Method::trend_adjusted_t);
  EXPECT_NEAR(e->difference, 0.0395, 1e-12);
  EXPECT_NEAR(e->drift, 0.038, 1e-12);
  EXPECT_NEAR(e->standard_error, 2 * 0.0028248893783650434,
              1e-12);  // with the allowance for blocks
  EXPECT_LE(e->degrees, 5);
  EXPECT_GT(e->p(), 0.5);  // a drift alone
}

TEST(BenchEstimate, OneRunTellsNothing) {
  EXPECT_FALSE(estimate(at({0}, {1}), at({1}, {2}), 0));
  EXPECT_FALSE(estimate(at({0, 1}, {1, 1}), at({2}, {2}), 0));
  EXPECT_FALSE(estimate(at({0}, {1}), at({2, 3}, {2, 2}), 0));
}

// Two equal differences are no proof: the timer's step bounds what can be known.
TEST(BenchEstimate, EqualValuesAreAsSureAsTheResolution) {
  const auto base = at({0, 3}, {1, 1}), candidate = at({1, 2}, {1.0001, 1.0001});
  EXPECT_EQ(estimate(base, candidate, 0)->p(), 0);
  EXPECT_GT(estimate(base, candidate, 1e-4)->p(), 0.3);
}

// The same side first in each pair: what a drift adds is the same in all, and no difference.
TEST(BenchEstimate, ADriftIsNoDifferenceInARegularOrder) {
  std::vector<double> when[2], values[2];
  for (int i = 0; i < 10; ++i) {
    when[i % 2].push_back(i);
    values[i % 2].push_back(0.005 * i + 0.0002 * std::sin(7 * i));
  }
  const auto e = estimate(at(when[0], values[0]), at(when[1], values[1]), 1e-5);
  EXPECT_EQ(e->design, Design::regular);
  EXPECT_NEAR(e->difference, 0.005, 0.0005);  // a run's drift
  EXPECT_GT(e->p(), 0.05);
  EXPECT_NEAR(e->half_width(0.01) - e->drift, e->half_width(0.01) - 0.005, 0.0005);
}

// Five pairs beside a parabola: (10 - 4) / 2 degrees a side. What was learned adds its own, and
// takes no variance away.
TEST(BenchEstimate, WhatWasLearnedIsAFurtherWayOfLooking) {
  const auto base = at({0, 3, 4, 7, 8}, {0, 0.01, -0.01, 0.012, -0.008});
  const auto candidate = at({1, 2, 5, 6, 9}, {0.04, 0.061, 0.045, 0.058, 0.047});
  const auto own = estimate(base, candidate, 0),
             with = estimate(base, candidate, 0, Noise{1.2e-4, 30});
  ASSERT_TRUE(own && with);
  EXPECT_EQ(with->learned_degrees, 30);
  EXPECT_GT(with->degrees, 33);
  EXPECT_LT(with->half_width(0.002), own->half_width(0.002));
  // These runs show much more: what was learned is of another time.
  EXPECT_EQ(estimate(base, candidate, 0, Noise{1e-8, 30})->learned_degrees, 0);
}

// Never: neither the share of the error nor the noise of these runs pays for it.
TEST(BenchEstimate, WhatWasLearnedNeverWidensAnInterval) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<RunValue> sides[2];
    const std::size_t pairs = 3 + trial % 10;
    for (std::size_t i = 0; i < 2 * pairs; ++i)
      sides[(i + i / 2) % 2].push_back({double(i), normal(random)});
    const double own = estimate(sides[0], sides[1], 1e-4)->half_width(0.01);
    for (const double variance : {1e-4, 0.1, 1.0, 10.0, 1e4})
      EXPECT_LE(estimate(sides[0], sides[1], 1e-4, Noise{variance, 6, true})->half_width(0.01),
                own);
  }
}

// Four runs a side show whether one is noisier only beside groups that show how far such noises
// differ; three never do.
TEST(BenchEstimate, FewRunsDoNotUseWhatWasLearned) {
  const auto base = at({0, 3, 4, 7}, {0, 0.01, 0, 0.01});
  const auto candidate = at({1, 2, 5, 6}, {0.1, 0.12, 0.11, 0.11});
  EXPECT_EQ(estimate(base, candidate, 0, Noise{8e-5, 30})->learned_degrees, 0);
  EXPECT_GT(estimate(base, candidate, 0, Noise{8e-5, 30, true})->learned_degrees, 0);
}

// Half to twice is of use, and so is an interval that excludes "no difference".
TEST(BenchEstimate, AnIntervalOfNoUseSaysHowManyRunsGiveOne) {
  const auto wild = estimate(at({0, 3}, {0, 6}), at({1, 2}, {3, 3.5}), 1e-4);
  const auto least = runs_for_use(*wild, 0.01);
  ASSERT_TRUE(least);
  EXPECT_LE(half_width_at(*wild, *least, 0.01), std::log(2));
  EXPECT_GT(half_width_at(*wild, *least - 1, 0.01), std::log(2));
  EXPECT_FALSE(runs_for_use(*estimate(at({0, 3}, {0, 0.01}), at({1, 2}, {3, 3.02}), 1e-4), 0.01));
}

TEST(BenchEstimate, IntervalsEndWhereNoMachineGoes) {
  // Two runs, 45 times apart: Student's t of one degree alone would not exclude a factor of 1.
  const auto e = estimate(at({0, 3}, {0, 0.05}), at({1, 2}, {3.8, 3.86}), 1e-4);
  EXPECT_GT(3.83 - e->half_width(0.008), 0);
  EXPECT_LT(e->half_width(0.008), 1.5);
  EXPECT_NEAR(e->half_width(e->p()), e->difference, 1e-9);
}

// The noise of a run is at most 25%, or four times what the runs show, whichever is more. Two runs
// a side: the error of the difference is as large as the noise of a run.
TEST(BenchEstimate, NoiseIsBoundedByAQuarterOrFourTimesWhatIsShown) {
  const double normal = normal_critical(0.01);
  for (const double shown : {0.0624, 0.0626, 0.5}) {
    Estimate e{.standard_error = shown, .degrees = 1};
    e.base_runs = e.candidate_runs = 2;
    EXPECT_NEAR(e.half_width(0.01), normal * (shown < 0.0625 ? 0.25 : 4 * shown), 1e-9) << shown;
    e.degrees = 1000;  // Student's t is narrower then, and counts
    EXPECT_NEAR(e.half_width(0.01), student_t_critical(0.01, 1000) * shown, 1e-9) << shown;
  }
}

// The noisier side counts for its own runs only: scipy.stats.ttest_ind(equal_var=False) has 4.0625
// degrees for variances of 1 and 64 and five values each.
TEST(BenchEstimate, NoiseOfASideIsItsOwn) {
  const double quiet[] = {-1.26491106, -0.63245553, 0, 0.63245553, 1.26491106};
  std::vector<double> a(quiet, quiet + 5), b;
  for (const double value : quiet) b.push_back(8 * value + 3);
  const auto e = estimate(at({0, 0, 0, 0, 0}, a), at({0, 0, 0, 0, 0}, b), 0);
  EXPECT_NEAR(e->degrees, 4 * 65.0 * 65 / (1 + 64.0 * 64), 1e-6);
}

TEST(BenchNoise, IsThatOfNeighbours) {
  EXPECT_FALSE(noise_of(std::vector<double>{1}));
  EXPECT_EQ(noise_of(std::vector<double>{1, 3})->degrees, 1);
  const auto noise = noise_of(std::vector<double>{0, 1, 10, 11});  // squares 1, 81, 1
  EXPECT_NEAR(noise->variance, 83 / 6.0, 1e-12);
  EXPECT_NEAR(noise->degrees, 18 / 8.0, 1e-12);
}

// limma's fitFDist() has infinite degrees for groups that do not differ beyond chance.
TEST(BenchNoise, GroupsThatDifferSayLess) {
  const auto alike = learned_from({{1, 3}, {1.2, 3}, {0.9, 3}}, 0);
  EXPECT_EQ(alike->degrees, 3);  // of Inf: three groups show badly how far they differ
  EXPECT_TRUE(alike->spread_known);
  EXPECT_FALSE(learned_from({{1, 3}, {1.2, 3}}, 0)->spread_known);
  EXPECT_NEAR(alike->variance, 3.1 / 3, 1e-12);
  const auto apart = learned_from({{0.01, 3}, {1, 3}, {100, 3}, {10000, 3}}, 0);
  EXPECT_LT(apart->degrees, 0.5);
  EXPECT_FALSE(learned_from({}, 0));
}

// By the formulas of Smyth, "Linear models and empirical Bayes methods" (2004), section 6.2, with
// mpmath: of groups of the same degrees, and of others.
TEST(BenchNoise, GroupsThatDifferHaveTheScaleAndDegreesOfSmyth) {
  const auto same = learned_from({{0.01, 3}, {1, 3}, {100, 3}, {10000, 3}}, 0);
  EXPECT_NEAR(same->variance, 0.19109716, 1e-6);
  EXPECT_NEAR(same->degrees, 0.34760829, 1e-6);
  const auto other = learned_from({{0.1, 2}, {1, 3}, {20, 4}, {200, 6}}, 0);
  EXPECT_NEAR(other->variance, 0.94082205, 1e-6);
  EXPECT_NEAR(other->degrees, 0.70450731, 1e-6);
}

TEST(BenchNoise, TwoLevelsAreTwoHeaps) {
  const auto two = two_levels({1.0, 1.1, 1.001, 1.099, 1.102});
  ASSERT_TRUE(two);
  EXPECT_NEAR(two->low, 1.0005, 1e-12);
  EXPECT_EQ(two->at_high, 3u);
  EXPECT_FALSE(two_levels({1.0, 1.001, 1.002, 1.1}));  // an outlier
  EXPECT_TRUE(two_levels({1.0, 1.001, 1.002, 1.1}, 1));
  EXPECT_FALSE(two_levels({1.0, 1.005, 1.002}, 1));
  EXPECT_FALSE(two_levels({1.0, 1.02, 1.04, 1.06, 1.08}));  // a wide heap
  EXPECT_FALSE(two_levels({1.0, 1.0, 1.01, 1.01}));         // too near to matter
}

// R: digamma(0.5), trigamma(0.5), trigamma(7); 1 - pf(3, 4, 9).
TEST(BenchDistributions, AreRs) {
  EXPECT_NEAR(digamma(0.5), -1.9635100260214235, 1e-11);
  EXPECT_NEAR(trigamma(0.5), 4.934802200544679, 1e-11);
  EXPECT_NEAR(trigamma_inverse(trigamma(7)), 7, 1e-9);
  EXPECT_NEAR(f_upper(3, 4, 9), 0.0787, 2e-4);
  EXPECT_NEAR(f_upper(6.39, 4, 4), 0.05, 1e-4);
  EXPECT_NEAR(normal_critical(0.05), 1.959963984540054, 1e-9);
}

TEST(BenchEstimate, FurtherRunsAreEnough) {
  Estimate e{.difference = 0.01, .standard_error = 0.005, .degrees = 7};
  e.base_runs = e.candidate_runs = 8;
  const auto runs = runs_for(e, 0.01, 0.01);
  ASSERT_TRUE(runs);
  const double deviation = 0.005 * std::sqrt(8);
  const auto half = [&](double n) {
    return student_t_critical(0.01, n - 1) * deviation / std::sqrt(n);
  };
  EXPECT_LE(half(double(*runs)), 0.01);
  EXPECT_GT(half(double(*runs) - 1), 0.01);
  e.standard_error = 0.0005;
  EXPECT_EQ(runs_for(e, 0.01, 0.01), 3);
  EXPECT_FALSE(runs_for(e, 1e-6, 0.01));
  EXPECT_FALSE(runs_for(e, 0, 0.01));
}

// With equal weights it is Holm's: statsmodels' multipletests([.01, .04, .03], method="holm") gives
// [.03, .06, .06].
TEST(BenchAdjustedP, IsHolmsWithEqualWeights) {
  const auto adjusted = adjusted_p({0.01, 0.04, 0.03}, {1 / 3.0, 1 / 3.0, 1 / 3.0});
  EXPECT_NEAR(adjusted[0], 0.03, 1e-12);
  EXPECT_NEAR(adjusted[1], 0.06, 1e-12);
  EXPECT_NEAR(adjusted[2], 0.06, 1e-12);
}

TEST(BenchAdjustedP, WeightsPassOn) {
  // The first is tested at 0.8 of the error; then the others share all of it.
  const auto adjusted = adjusted_p({0.008, 0.02, 0.5}, {0.8, 0.1, 0.1});
  EXPECT_NEAR(adjusted[0], 0.01, 1e-12);
  EXPECT_NEAR(adjusted[1], 0.04, 1e-12);
  EXPECT_NEAR(adjusted[2], 0.5, 1e-12);
  EXPECT_EQ(adjusted_p({0.9}, {0.5}), std::vector<double>{1});
  EXPECT_TRUE(adjusted_p({}, {}).empty());
}

}  // namespace
}  // namespace gpuready::bench
