#include "bench/history/history.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/text.h"
#include "bench/history/fields_history.h"
#include "bench/record/result_files.h"
#include "doubles/failing_storage.h"
#include "doubles/memory_storage.h"
#include "unit/host/storage_walk.h"
#include "unit/products/bench/runs.h"

namespace gpuready::bench {
namespace {

std::vector<double> noisy(std::vector<double> levels, std::size_t each, double noise,
                          std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (const double level : levels)
    for (std::size_t i = 0; i < each; ++i)
      values.push_back(level * std::exp(noise * normal(random)));
  return values;
}

TEST(BenchSteps, AreFoundWhereTheyAre) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    found +=
        find_steps(noisy({1000, 1080, 1000}, 10, 0.01, seed)) == std::vector<std::size_t>{10, 20};
  EXPECT_GE(found, 45);  // ten runs of a level leave few degrees to a wander
}

TEST(BenchSteps, NoiseHasNone) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed)
    found += !find_steps(noisy({1000}, 30, 0.02, seed)).empty();
  EXPECT_LE(found, 6);
}

TEST(BenchSteps, RunsThatDependOnEachOtherHaveFew) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  int found = 0;
  for (int series = 0; series < 300; ++series) {
    std::vector<double> values;
    double level = normal(random);
    for (int i = 0; i < 30; ++i) {
      level = 0.5 * level + std::sqrt(0.75) * normal(random);
      values.push_back(1000 * std::exp(0.02 * level));
    }
    found += !find_steps(values).empty();
  }
  EXPECT_LE(found, 9);
}

TEST(BenchSteps, AnOutlierAndFewValuesAreNone) {
  auto values = noisy({1000}, 30, 0.002, 1);
  values[12] = 2000;
  EXPECT_TRUE(find_steps(values).empty());
  EXPECT_TRUE(find_steps({}).empty());
  EXPECT_TRUE(find_steps({1, 1, 2, 2, 2}).empty());
  EXPECT_EQ(find_steps({1, 1, 1, 2, 2, 2}), std::vector<std::size_t>{3});
  // Sure and too small to matter.
  EXPECT_TRUE(find_steps({1000, 1000, 1000, 1001, 1001, 1001}).empty());
}

TEST(BenchSteps, LongHistoriesAreSearchedAtTheirEnd) {
  auto values = noisy({1000, 1100}, 1500, 0.005, 1);
  EXPECT_EQ(find_steps(values), std::vector<std::size_t>{1500});
}

class BenchHistoryFiles : public ::testing::Test {
 protected:
  BenchHistoryFiles() {
    std::string name = std::string(GPUREADY_BINARY_DIR) + "/historyXXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~BenchHistoryFiles() override { std::filesystem::remove_all(folder_); }
  void save(std::size_t number, double ns) {
    RunRecord run = run_of(fmt::format("r{:02}", number), {ns});
    run.started_utc = second(number);
    run.git_commit = fmt::format("c{}", number);
    const auto saved = save_run(
        folder_, run,
        dump(Json{{"schema", "gpuready.bench-run"}, {"schema_version", 1}, {"run", to_json(run)}}));
    ASSERT_TRUE(saved) << saved.error().message;
  }
  Result<History> history(const HistoryFilter& filter = {}) {
    const auto host = make_live_host();
    return read_history(*host, folder_, filter);
  }
  std::string folder_;
};

TEST_F(BenchHistoryFiles, KnowsRunsOnceAndForgetsThoseWhoseFilesAreGone) {
  for (std::size_t i = 0; i < 8; ++i) save(i, i < 4 ? 1000 : 1100);
  const auto first = history();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->added, 8u);
  ASSERT_EQ(first->series.size(), 2u);  // p50 and throughput
  const Series& p50 = first->series[0];
  EXPECT_EQ(p50.kpi, Kpi::p50);
  EXPECT_EQ(p50.points.size(), 8u);
  ASSERT_EQ(p50.steps.size(), 1u);
  EXPECT_EQ(p50.steps[0].git_commit, "c4");
  EXPECT_NEAR(p50.steps[0].gain_percent, -100 / 11.0, 1e-9);
  EXPECT_NEAR(first->series[1].steps.at(0).gain_percent, -100 / 11.0, 1e-9);
  EXPECT_EQ(history()->added, 0u);
  std::filesystem::remove(folder_ + "/r00__test.json");
  save(8, 1100);
  const auto later = history();
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->added, 1u);
  EXPECT_EQ(later->runs, 8u);
  ASSERT_EQ(later->series.size(), 2u);
  EXPECT_EQ(later->series[0].points.size(), 8u);
  EXPECT_EQ(later->series[0].points[0].run, "r01");
  // Also where nothing is new.
  std::filesystem::remove(folder_ + "/r01__test.json");
  EXPECT_EQ(history()->runs, 7u);
  EXPECT_EQ(history()->series[0].points.size(), 7u);
  EXPECT_EQ(history()->added, 0u);
}

TEST_F(BenchHistoryFiles, TheIndexIsWrittenOnlyIfItChanges) {
  const auto host = make_live_host();
  FailingStorage broken(live_storage(), {1, StorageFault::Kind::from_then_on, EIO}, {});
  const auto is_written = [&] { return !read_history(*host, folder_, {}, broken); };
  EXPECT_FALSE(is_written());  // neither runs nor an index
  save(0, 1000);
  EXPECT_TRUE(is_written());
  ASSERT_TRUE(history());
  EXPECT_FALSE(is_written());
  // The last run is gone.
  std::filesystem::remove(folder_ + "/r00__test.json");
  EXPECT_TRUE(is_written());
  EXPECT_EQ(history()->runs, 0u);
  EXPECT_FALSE(is_written());
}

TEST_F(BenchHistoryFiles, ARunIsKnownByTheNameOfItsFile) {
  save(0, 1000);
  std::filesystem::copy(folder_ + "/r00__test.json", folder_ + "/other__test.json");
  ASSERT_TRUE(history());
  EXPECT_EQ(history()->runs, 2u);
  EXPECT_EQ(history()->added, 0u);
}

TEST_F(BenchHistoryFiles, AComparisonThatLearnsGetsTheEarlierRuns) {
  save(0, 1000);
  save(1, 1100);
  const auto host = make_live_host();
  CompareOptions options;
  options.learn = false;
  ASSERT_TRUE(learn_from_history(options, *host, folder_));
  EXPECT_TRUE(options.earlier.empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/history.json"));
  options.learn = true;
  ASSERT_TRUE(learn_from_history(options, *host, folder_ + "/missing"));
  EXPECT_TRUE(options.earlier.empty());
  ASSERT_TRUE(learn_from_history(options, *host, folder_));
  ASSERT_EQ(options.earlier.size(), 2u);  // p50 and throughput
  EXPECT_EQ(options.earlier[0].kpi, Kpi::p50);
  EXPECT_EQ(options.earlier[0].runs.size(), 2u);
}

TEST_F(BenchHistoryFiles, ADamagedRunIsLeftOutAndToldWithAnIndexAndWithout) {
  for (const std::string& damage :
       {std::string(), std::string("{\"schema\": \"gpu"), std::string(100, '\0'),
        std::string("overwritten}"), std::string("{\0}", 3)})
    for (const bool index : {true, false}) {
      for (std::size_t i = 0; i < 3; ++i) {
        std::filesystem::remove(folder_ + fmt::format("/r{:02}__test.json", i));
        save(i, 1000);
      }
      ASSERT_TRUE(history());
      std::ofstream(folder_ + "/r01__test.json", std::ios::binary) << damage;
      if (!index) std::filesystem::remove(folder_ + "/history.json");
      const auto read = history();
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(read->runs, 2u);
      ASSERT_EQ(read->series.size(), 2u);
      EXPECT_EQ(read->series[0].points.size(), 2u);
      ASSERT_EQ(read->notes.size(), 1u);
      EXPECT_TRUE(contains(read->notes[0], "r01__test.json is left out")) << read->notes[0];
    }
}

TEST_F(BenchHistoryFiles, IsToldWhereItCannotBeKept) {
  save(0, 1000);
  const auto host = make_live_host();
  for (const int code : {EACCES, EROFS, ENOSPC}) {
    FailingStorage storage(live_storage(), {1, StorageFault::Kind::from_then_on, code}, {});
    const auto read = read_history(*host, folder_, {}, storage);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->series.size(), 2u);
    ASSERT_EQ(read->notes.size(), 1u);
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/history.json"));
  }
  FailingStorage broken(live_storage(), {1, StorageFault::Kind::from_then_on, EIO}, {});
  EXPECT_FALSE(read_history(*host, folder_, {}, broken));
}

TEST_F(BenchHistoryFiles, ARenamedRunHasTheTagOfItsFile) {
  save(0, 1000);
  const auto tag = [&] { return history()->series.at(0).points.at(0).tag; };
  EXPECT_EQ(tag(), "test");
  std::filesystem::rename(folder_ + "/r00__test.json", folder_ + "/r00__other.json");
  EXPECT_EQ(tag(), "other");
  EXPECT_EQ(tag(), "other");
  std::filesystem::remove(folder_ + "/history.json");
  EXPECT_EQ(tag(), "other");
}

TEST_F(BenchHistoryFiles, FiltersByStackKpiTagAndWorkload) {
  save(0, 1000);
  const auto series = [&](auto set) {
    HistoryFilter filter{.stacks = {}, .tags = {}, .workloads = {}, .kpis = {Kpi::p50}};
    set(filter);
    return history(filter)->series.size();
  };
  EXPECT_EQ(series([](auto&) {}), 1u);
  EXPECT_EQ(series([](auto& filter) { filter.stacks = {"tvm"}; }), 0u);
  EXPECT_EQ(series([](auto& filter) { filter.tags = {"other"}; }), 0u);
  for (const char* named : {"mlp", "mlp batch=64 hidden=2048"})
    EXPECT_EQ(series([&](auto& filter) { filter.workloads = {named}; }), 1u) << named;
  for (const char* other : {"ml", "mlp batch=64", "gemm"})
    EXPECT_EQ(series([&](auto& filter) { filter.workloads = {other}; }), 0u) << other;
}

TEST_F(BenchHistoryFiles, ADamagedIndexIsBuiltAgainAndTold) {
  save(0, 1000);
  ASSERT_TRUE(history());
  std::ifstream file(folder_ + "/history.json");
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& damage :
       {std::string("not an index"), std::string(4096, '\0'),
        std::string(R"({"schema": "gpuready.bench-run", "schema_version": 1, "runs": []})"),
        std::string(R"({"schema": "gpuready.bench-index", "schema_version": 2, "runs": []})"),
        std::string(R"({"schema": "gpuready.bench-index", "schema_version": 1})")}) {
    std::ofstream(folder_ + "/history.json", std::ios::binary) << damage;
    const auto read = history();
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->series.size(), 2u);
    ASSERT_EQ(read->notes.size(), 1u);
    EXPECT_TRUE(read->notes[0].starts_with("The index of the runs was built again: " + folder_ +
                                           "/history.json"))
        << read->notes[0];
    std::ifstream again(folder_ + "/history.json");
    EXPECT_EQ((std::string{std::istreambuf_iterator<char>(again), {}}), whole);
    EXPECT_TRUE(history()->notes.empty());
  }
}

// Written down before: what the series need of each run, in the order of ids.
TEST_F(BenchHistoryFiles, TheIndexHoldsWhatTheSeriesNeed) {
  save(1, 1000);
  ASSERT_TRUE(history());
  std::ifstream file(folder_ + "/history.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const RunRecord run = run_of("r01", {1000});
  EXPECT_EQ(text, fmt::format(R"({{"schema":"gpuready.bench-index","schema_version":1,"runs":[)"
                              R"({{"id":"r01","tag":"test","started_utc":"{}","git_commit":"c1",)"
                              R"("fingerprint":"{}","workload":"mlp batch=64 hidden=2048",)"
                              R"("dtype":"{}","device":"{}","figures":[)"
                              R"({{"stack":"gpuready","kpi":"p50","value":1000.0}},)"
                              R"({{"stack":"gpuready","kpi":"throughput",)"
                              R"("value":131072000000.0}}]}}]}})"
                              "\n",
                              second(1), run.environment.fingerprint(), run.workload.dtype,
                              run.workload.device));
  // An empty folder has none.
  std::filesystem::remove(folder_ + "/history.json");
  std::filesystem::remove(folder_ + "/r01__test.json");
  EXPECT_EQ(history()->runs, 0u);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/history.json"));
}

// 1e9 / 1e-302 is more than a double holds.
TEST_F(BenchHistoryFiles, AFigureBeyondAllNumbersLeavesTheIndexReadable) {
  save(0, 1e-302);
  save(1, 1000);
  for (int times = 0; times < 2; ++times) {
    const auto read = history();
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->notes.empty());
    ASSERT_EQ(read->series.size(), 2u);
    EXPECT_EQ(read->series[0].points.size(), 2u);
    EXPECT_EQ(read->series[1].points.size(), 1u);
  }
}

// Not by the ids, and not by the order of the files.
TEST_F(BenchHistoryFiles, PointsAreInTheOrderOfTheirTimes) {
  for (const std::size_t number : {5, 2, 9}) save(number, 1000 + number);
  RunRecord early = run_of("r99", {500});
  early.started_utc = second(1);
  ASSERT_TRUE(save_run(
      folder_, early,
      dump(
          Json{{"schema", "gpuready.bench-run"}, {"schema_version", 1}, {"run", to_json(early)}})));
  std::string ids;
  const auto read = history();
  for (const auto& point : read->series.at(0).points) ids += point.run + " ";
  EXPECT_EQ(ids, "r99 r02 r05 r09 ");
}

TEST_F(BenchHistoryFiles, TheIndexIsWrittenWholeOrNotAtAll) {
  save(0, 1000);
  const auto host = make_live_host();
  for (std::size_t at = 1;; ++at) {
    std::filesystem::remove(folder_ + "/history.json");
    FailingStorage storage(live_storage(), {at, StorageFault::Kind::once, ENOSPC}, {});
    const auto read = read_history(*host, folder_, {}, storage);
    const auto again = history();
    ASSERT_TRUE(again) << again.error().message;
    // Told all the same. After a failure it may be there, too: the name was given and not made
    // durable.
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->series.size(), 2u);
    if (read->notes.empty()) {
      EXPECT_EQ(again->added, 0u);
    } else {
      EXPECT_TRUE(contains(read->notes[0], "is not stored")) << read->notes[0];
    }
    EXPECT_EQ(again->runs, 1u);
    if (storage.calls() < at) break;
  }
}

}  // namespace
}  // namespace gpuready::bench
