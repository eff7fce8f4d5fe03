#include "bench/record/result_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "doubles/failing_storage.h"
#include "doubles/memory_storage.h"
#include "unit/products/bench/runs.h"

namespace gpuready::bench {
namespace {

std::string document(const RunRecord& run) {
  return dump(Json{{"schema", "gpuready.bench-run"}, {"schema_version", 1}, {"run", to_json(run)}});
}

class BenchResults : public ::testing::Test {
 protected:
  BenchResults() {
    std::string name = std::string(GPUREADY_BINARY_DIR) + "/resultsXXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~BenchResults() override { std::filesystem::remove_all(folder_); }
  void save(const std::string& tag, const std::string& id, const std::string& started) {
    RunRecord run = run_of(id, {1});
    run.tag = tag;
    run.started_utc = started;
    const auto saved = save_run(folder_, run, document(run));
    EXPECT_TRUE(saved) << saved.error().message;
  }
  std::string found(std::string_view name) {
    const auto host = make_live_host();
    const auto runs = find_runs(*host, folder_, name);
    if (!runs) return runs.error().message;
    std::string ids;
    for (const auto& run : *runs) ids += run.id + " ";
    return ids;
  }
  std::string folder_;
};

TEST_F(BenchResults, RunsAreFoundByTagIdFileAndFolder) {
  save("a", "r2", "2026-03-01T12:00:02Z");
  save("a", "r1", "2026-03-01T12:00:01Z");
  save("b", "r3", "2026-03-01T12:00:03Z");
  EXPECT_EQ(found("a"), "r1 r2 ");
  EXPECT_EQ(found("r2"), "r2 ");
  EXPECT_EQ(found("latest"), "r3 ");
  EXPECT_EQ(found("b,r1"), "r1 r3 ");
  EXPECT_EQ(found(folder_ + "/r1__a.json"), "r1 ");
  EXPECT_EQ(found(folder_), "r1 r2 r3 ");
  EXPECT_EQ(found("c"),
            "c is neither a file nor the tag or id of a run in " + folder_ + "; tags there: a, b");
  EXPECT_EQ(found("a,r1"), "a,r1 names the run r1 twice");
}

TEST_F(BenchResults, ATagIsNotHiddenByWhatIsCalledLikeIt) {
  save("a", "r1", "2026-03-01T12:00:01Z");
  const auto before = std::filesystem::current_path();
  std::filesystem::create_directory(folder_ + "/here");
  std::filesystem::create_directory(folder_ + "/here/a");
  std::filesystem::create_directory(folder_ + "/here/runs");
  std::filesystem::copy(folder_ + "/r1__a.json", folder_ + "/here/runs/r1__a.json");
  std::filesystem::current_path(folder_ + "/here");
  EXPECT_EQ(found("a"), "r1 ");
  EXPECT_EQ(found("runs"), "r1 ");  // no tag is called so
  EXPECT_TRUE(contains(found("./a"), "contains no run"));
  const auto host = make_live_host();
  EXPECT_EQ(runs_of_tag(*host, folder_, "a")->size(), 1u);
  EXPECT_TRUE(runs_of_tag(*host, folder_, "runs")->empty());
  EXPECT_TRUE(runs_of_tag(*host, folder_ + "/none", "a")->empty());
  std::filesystem::current_path(before);
}

// Runs are <id>__<tag>.json (docs/bench.md).
TEST_F(BenchResults, OtherFilesOfTheFolderAreNoRuns) {
  save("a", "r1", "2026-03-01T12:00:01Z");
  for (const char* name : {"r1__a.txt", "r1__b.json.bak", "r1__c", "r1_d.json", "__", "e.json"})
    std::filesystem::copy(folder_ + "/r1__a.json", folder_ + "/" + name);
  EXPECT_EQ(found(folder_), "r1 ");
  EXPECT_EQ(found("a"), "r1 ");
  EXPECT_TRUE(found("b").ends_with("; tags there: a")) << found("b");
  EXPECT_EQ(tag_in_name(folder_ + "/r1__a.json"), "a");
  EXPECT_EQ(tag_in_name(folder_ + "/r1__a.txt"), "");
}

TEST_F(BenchResults, ARenamedFileHasTheTagOfItsName) {
  save("a", "r1", "2026-03-01T12:00:01Z");
  std::filesystem::rename(folder_ + "/r1__a.json", folder_ + "/r1__b.json");
  const auto host = make_live_host();
  EXPECT_EQ(find_runs(*host, folder_, "b")->at(0).tag, "b");
  EXPECT_EQ(read_run_file(*host, folder_ + "/r1__b.json")->tag, "b");
}

TEST_F(BenchResults, OtherDocumentsAreRefused) {
  const auto refused = [&](const std::string& text) {
    std::ofstream(folder_ + "/x__x.json") << text;
    return found("x");
  };
  EXPECT_TRUE(contains(refused("{"), "x__x.json"));
  EXPECT_TRUE(contains(refused("{}"), "is not a document of gpuready, google/benchmark"));
  EXPECT_TRUE(
      contains(refused(R"({"schema":"gpuready.report"})"), "is not a document of a benchmark run"));
  EXPECT_TRUE(contains(refused(R"({"schema":"gpuready.bench-run","schema_version":2})"),
                       "another version"));
  EXPECT_TRUE(contains(refused(R"({"schema":"gpuready.bench-run","schema_version":1})"),
                       "is not an object"));
}

TEST_F(BenchResults, ARunIsNotReplacedAndAFolderIsMade) {
  folder_ += "/deep/er";
  save("a", "r1", "");
  RunRecord run = run_of("r1", {2});
  run.tag = "a";
  EXPECT_FALSE(save_run(folder_, run, document(run)));
  folder_.resize(folder_.size() - 8);
}

TEST_F(BenchResults, AFolderIsTriedBeforeAndNothingStays) {
  ASSERT_TRUE(check_writable(folder_ + "/new"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/new"));
  FailingStorage full(live_storage(), {1, StorageFault::Kind::from_then_on, ENOSPC}, {});
  EXPECT_FALSE(check_writable(folder_, full));
  std::ofstream(folder_ + "/file") << "x";
  EXPECT_FALSE(check_writable(folder_ + "/file"));
}

TEST_F(BenchResults, ATagHoldsOneWorkload) {
  save("a", "r1", "");
  const auto host = make_live_host();
  Workload work = run_of("r2", {1}).workload;
  EXPECT_TRUE(check_same_work(*host, folder_, "a", work));
  EXPECT_TRUE(check_same_work(*host, folder_ + "/none", "a", work));
  work.shape["batch"] = 65;
  EXPECT_TRUE(check_same_work(*host, folder_, "b", work));
  const auto other = check_same_work(*host, folder_, "a", work);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message,
            "the tag a holds runs of mlp batch 64 hidden 2048, bf16, cuda (r1), and this one is of "
            "mlp batch 65 hidden 2048, bf16, cuda: give it another tag");
}

TEST(BenchTags, AreSafeInPaths) {
  for (const char* good : {"gpu_baseline", "a", "v1.2-rc3", "A_b_C"}) EXPECT_TRUE(check_tag(good));
  for (const char* bad :
       {"", "a b", "../a", "a/b", "a__b", ".a", "-a", "latest", "\xc3\xa4", "a\n"})
    EXPECT_FALSE(check_tag(bad)) << bad;
  EXPECT_FALSE(check_tag(std::string(101, 'a')));
}

// Each call fails once, or all from it on: the run is whole or not there, and `latest` names one
// that is.
TEST(BenchStorage, SavedRunsAreWholeWhateverFails) {
  RunRecord old = run_of("r1", {1}), run = run_of("r2", {1});
  old.tag = "old";
  run.tag = "new";
  for (const auto kind :
       {StorageFault::Kind::once, StorageFault::Kind::from_then_on, StorageFault::Kind::killed})
    for (std::size_t at = 1;; ++at) {
      MemoryStorage memory;
      ASSERT_TRUE(save_run("/r", old, document(old), memory));
      FailingStorage storage(memory, {at, kind, ENOSPC}, {});
      const auto saved = save_run("/r", run, document(run), storage);
      const auto kept = memory.content("/r/r2__new.json");
      EXPECT_TRUE(!kept || *kept == document(run)) << at;
      EXPECT_EQ(memory.content("/r/r1__old.json"), document(old));
      const auto latest = memory.content("/r/latest");
      EXPECT_TRUE(latest == "old\n" || (latest == "new\n" && kept)) << at;
      if (saved) {
        EXPECT_EQ(latest, "new\n");
      }
      if (storage.calls() < at) break;
    }
}

}  // namespace
}  // namespace gpuready::bench
