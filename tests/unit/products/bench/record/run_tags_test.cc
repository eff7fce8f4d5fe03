// What becomes of a run's tag, and of the runs that have it (docs/bench-run.md).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bench/record/result_files.h"
#include "doubles/failing_storage.h"
#include "doubles/memory_storage.h"
#include "unit/products/bench/runs.h"

namespace gpuready::bench {
namespace {

using Paths = std::vector<std::string>;

RunRecord tagged(const std::string& tag, const std::string& id = "r9") {
  RunRecord run = run_of(id, {1});
  run.tag = tag;
  return run;
}
RunRecord untimed(const std::string& tag) {
  RunRecord run = tagged(tag);
  run.stacks[0].status = StackStatus::error;
  return run;
}
RunRecord cut_off(RunRecord run) {
  run.interrupted = true;
  return run;
}

class RunTags : public ::testing::Test {
 protected:
  RunTags() {
    std::string name = std::string(GPUREADY_BINARY_DIR) + "/tagsXXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~RunTags() override { std::filesystem::remove_all(folder_); }
  // Its name decides; what is in it is not read.
  std::string file(const std::string& name) {
    std::ofstream(folder_ + "/" + name) << "{}";
    return folder_ + "/" + name;
  }
  Result<Paths> replaced(const TagChoice& choice, const std::string& below = "") {
    return runs_to_replace(*host_, folder_ + below, choice);
  }
  NewRun settled(RunRecord run, Paths replaced, const TagChoice& choice) {
    NewRun made{std::move(run), std::move(replaced)};
    settle_tag(made, *host_, folder_, choice);
    return made;
  }
  std::unique_ptr<Host> host_ = make_live_host();
  std::string folder_;
};

TEST_F(RunTags, ATagIsUsedOnceUnlessAnOptionSaysWhatToDoWithItsRuns) {
  const auto r1 = file("r1__a.json"), r2 = file("r2__a.json");
  file("r3__b.json");
  file("a.json");
  EXPECT_EQ(replaced({}), Paths{});
  EXPECT_EQ(replaced({.replace = true}), Paths{});
  EXPECT_EQ(replaced({"c"}), Paths{});
  EXPECT_EQ(replaced({.name = "c", .replace = true}), Paths{});
  EXPECT_EQ(replaced({.name = "a", .add = true}), Paths{});
  EXPECT_EQ(replaced({.name = "a", .replace = true}), (Paths{r1, r2}));
  EXPECT_EQ(replaced({"a"}, "/missing"), Paths{});
  const auto taken = replaced({"a"});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(taken.error().message, "the tag a is taken by " + r1 +
                                       ": give another, --add for another run of it, or --replace");
}

TEST_F(RunTags, AWrongTagIsRefusedWhateverTheOption) {
  for (const TagChoice& choice : {TagChoice{"a b"}, TagChoice{.name = "a b", .replace = true},
                                  TagChoice{.name = "a b", .add = true}}) {
    const auto refused = replaced(choice);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.starts_with("a b is not a tag: "))
        << refused.error().message;
  }
}

TEST_F(RunTags, ANameIsOfTheTimeAndOfWhatWasDrawn) {
  using std::chrono::microseconds;
  const std::chrono::sys_seconds noon(std::chrono::seconds(1'772'366'400));  // 2026-03-01T12:00:00Z
  RunRecord run;
  run.id = "of before";
  name_run(run, "", noon + microseconds(123'999), 0x1a2b3c4d);
  EXPECT_EQ(run.started_utc, "2026-03-01T12:00:00.123Z");
  EXPECT_EQ(run.id, "20260301T120000Z-1a2b3c4d");
  EXPECT_EQ(run.tag, "run-1a2b3c4d");
  name_run(run, "mine", noon + microseconds(1'007'000), 0x2a);
  EXPECT_EQ(run.started_utc, "2026-03-01T12:00:01.007Z");
  EXPECT_EQ(run.id, "20260301T120001Z-0000002a");
  EXPECT_EQ(run.tag, "mine");
}

TEST_F(RunTags, AnInterruptedRunHasATagBesideItsOwn) {
  for (const auto& [repeats, note] :
       {std::pair<std::size_t, std::string>{0, "0 repeats"}, {1, "1 repeat"}, {2, "2 repeats"}}) {
    RunRecord run = tagged("a");
    set_interrupted(run, repeats);
    EXPECT_FALSE(run.is_whole());
    EXPECT_EQ(run.tag, "a-interrupted");
    EXPECT_EQ(run.notes, Paths{"It was interrupted after " + note + "."});
  }
}

TEST_F(RunTags, ALongTagIsCutForItsEnding) {
  for (const auto& [length, kept] : {std::pair{87, 87}, {88, 88}, {89, 88}, {100, 88}}) {
    RunRecord run = tagged(std::string(static_cast<std::size_t>(length), 'a'));
    set_interrupted(run, 1);
    EXPECT_EQ(run.tag, std::string(static_cast<std::size_t>(kept), 'a') + "-interrupted");
    EXPECT_TRUE(check_tag(run.tag)) << length;
  }
}

// Another machine gets the tag, and not --add: it knows of no earlier runs.
TEST_F(RunTags, OfAnotherMachineItIsTheOneAskedForOrOneBesideIt) {
  const auto accepted = [](RunRecord run, const TagChoice& choice) {
    const auto result = accept_tag(run, choice, "the run of h");
    if (result) return run.tag;
    EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
    return result.error().message;
  };
  const TagChoice a{"a"}, add{.name = "a", .add = true};
  EXPECT_EQ(accepted(tagged("run-1"), {}), "run-1");
  EXPECT_EQ(accepted(tagged("a"), a), "a");
  EXPECT_EQ(accepted(tagged("a"), add), "a");
  EXPECT_EQ(accepted(untimed("a-failed"), a), "a-failed");
  EXPECT_EQ(accepted(cut_off(tagged("a-interrupted")), a), "a-interrupted");
  EXPECT_EQ(accepted(cut_off(tagged("a-interrupted")), add), "a-interrupted");
  EXPECT_EQ(accepted(tagged("a-interrupted"), a), "the run of h has the tag a-interrupted, not a");
  EXPECT_EQ(accepted(cut_off(tagged("b-interrupted")), a),
            "the run of h has the tag b-interrupted, not a");
  EXPECT_EQ(accepted(tagged("b"), a), "the run of h has the tag b, not a");
  EXPECT_EQ(accepted(tagged("b"), add), "the run of h has the tag b, not a");
  EXPECT_EQ(accepted(tagged("b\x1b"), a), "the run of h has the tag b?, not a");
}

TEST_F(RunTags, ALostRunOfAnotherMachineKeepsTheTagIfItIsAdded) {
  RunRecord run = untimed("a-failed");
  ASSERT_TRUE(accept_tag(run, {.name = "a", .add = true}, "the run of h"));
  EXPECT_EQ(run.tag, "a");
  EXPECT_EQ(settled(run, {}, {.name = "a", .add = true}).run.tag, "a");
}

TEST_F(RunTags, ARunWithATimeReplacesWhatItWasToReplace) {
  const Paths old{file("r1__a.json")};
  const auto made = settled(tagged("a"), old, {.name = "a", .replace = true});
  EXPECT_EQ(made.run.tag, "a");
  EXPECT_EQ(made.replaced, old);
  EXPECT_EQ(made.run.notes, Paths{});
}

TEST_F(RunTags, ARunWithoutATimeReplacesNothingAndDoesNotTakeTheTag) {
  const Paths one{file("r1__a.json")}, two{one[0], file("r2__a.json")};
  const TagChoice replace{.name = "a", .replace = true};
  const auto nothing = settled(untimed("a"), {}, {"a"});
  EXPECT_EQ(nothing.run.tag, "a-failed");
  EXPECT_EQ(nothing.run.notes, Paths{});
  const auto made = settled(untimed("a"), one, replace);
  EXPECT_EQ(made.run.tag, "a-failed");
  EXPECT_EQ(made.replaced, Paths{});
  EXPECT_EQ(made.run.notes,
            Paths{"No stack was timed, so nothing is replaced: 1 earlier run of a stays."});
  EXPECT_EQ(settled(untimed("a"), two, replace).run.notes,
            Paths{"No stack was timed, so nothing is replaced: 2 earlier runs of a stay."});
}

// Its name says so already.
TEST_F(RunTags, ARunThatFailedOnAnotherMachineIsSetApartOnce) {
  const Paths old{file("r1__a.json")};
  const auto made = settled(untimed("a-failed"), old, {.name = "a", .replace = true});
  EXPECT_EQ(made.run.tag, "a-failed");
  EXPECT_EQ(made.replaced, Paths{});
}

TEST_F(RunTags, ARunWithoutATimeKeepsTheTagThatItIsAddedToAndATagOfItsOwn) {
  file("r1__a.json");
  EXPECT_EQ(settled(untimed("a"), {}, {.name = "a", .add = true}).run.tag, "a");
  EXPECT_EQ(settled(untimed("run-1"), {}, {}).run.tag, "run-1");
}

TEST_F(RunTags, AnInterruptedRunReplacesNothingWithOrWithoutATime) {
  const Paths old{file("r1__a.json")};
  const TagChoice replace{.name = "a", .replace = true};
  for (RunRecord run : {tagged("a"), untimed("a")}) {
    set_interrupted(run, 1);
    const auto made = settled(run, old, replace);
    EXPECT_EQ(made.run.tag, "a-interrupted");
    EXPECT_EQ(made.replaced, Paths{});
    EXPECT_EQ(made.run.notes, Paths{"It was interrupted after 1 repeat."});
  }
}

TEST_F(RunTags, ATagThatAnotherRunTookMeanwhileIsLeftToIt) {
  const Paths old{file("r1__a.json")};
  const auto other = file("r2__a.json");
  RunRecord run = tagged("a");
  run.id = "20260301T120000Z-1a2b3c4d";
  const Paths note{"The tag a was taken meanwhile by " + other +
                   "; this run is kept with the tag a-1a2b3c4d."};
  for (const TagChoice& choice : {TagChoice{.name = "a", .replace = true}, TagChoice{"a"}}) {
    const auto made = settled(run, old, choice);
    EXPECT_EQ(made.run.tag, "a-1a2b3c4d");
    EXPECT_EQ(made.replaced, Paths{});
    EXPECT_EQ(made.run.notes, note);
  }
  run.id = "short";  // of another machine
  EXPECT_EQ(settled(run, old, {"a"}).run.tag, "a-short");
  run.id = "12345678";
  EXPECT_EQ(settled(run, old, {"a"}).run.tag, "a-12345678");
}

TEST_F(RunTags, ATagIsNotTakenByRunsThatAreAddedOrBesideIt) {
  file("r1__a.json");
  file("r1__run-1.json");
  EXPECT_EQ(settled(tagged("a"), {}, {.name = "a", .add = true}).run.tag, "a");
  EXPECT_EQ(settled(tagged("run-1"), {}, {}).run.tag, "run-1");
  EXPECT_EQ(settled(tagged("b"), {}, {"b"}).run.tag, "b");
}

TEST(KeptRuns, ReplaceTheEarlierOnesAndOnlyWholeRunsAreASuites) {
  for (const bool whole : {true, false}) {
    MemoryStorage storage;
    ASSERT_TRUE(save_run("/r", tagged("a", "r1"), "one", storage));
    ASSERT_TRUE(save_run("/r", tagged("a", "r2"), "two", storage));
    NewRun made{tagged("a", "r3"), {"/r/r1__a.json", "/r/r2__a.json"}};
    if (!whole) made.run.interrupted = true;
    ASSERT_TRUE(keep_run("/r", made, "three", "/suite", storage));
    EXPECT_EQ(storage.names("/r"), (Paths{"/r/latest", "/r/r3__a.json"}));
    EXPECT_EQ(storage.content("/r/r3__a.json"), "three");
    EXPECT_EQ(storage.names("/suite"),
              whole ? (Paths{"/suite/a.json", "/suite/a.md", "/suite/r3__a.json",
                             "/suite/r3__a.metadata.json"})
                    : Paths{});
  }
}

TEST(KeptRuns, ARunThatIsNotKeptReplacesNone) {
  for (const auto kind :
       {StorageFault::Kind::once, StorageFault::Kind::from_then_on, StorageFault::Kind::killed})
    for (std::size_t at = 1;; ++at) {
      MemoryStorage memory;
      ASSERT_TRUE(save_run("/r", tagged("a", "r1"), "old", memory));
      FailingStorage storage(memory, {at, kind, ENOSPC}, {});
      const auto kept = keep_run("/r", {tagged("a", "r2"), {"/r/r1__a.json"}}, "new", {}, storage);
      const auto old = memory.content("/r/r1__a.json"), made = memory.content("/r/r2__a.json");
      EXPECT_TRUE(old == "old" || made == "new") << at;
      if (kept) {
        EXPECT_EQ(old, std::nullopt) << at;
      }
      if (storage.calls() < at) break;
    }
}

}  // namespace
}  // namespace gpuready::bench
