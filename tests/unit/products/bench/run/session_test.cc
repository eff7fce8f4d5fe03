// Hostile adapters: each fails in its own way, and none costs a good one's results.
#include "bench/run/session.h"
#include "base/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/text.h"
#include "bench/run/adapter_run.h"

namespace gpuready::bench {
namespace {

using std::chrono::milliseconds;

Request small() {
  Request request;
  request.task = Task::gemm;
  request.m = 2, request.n = 3, request.k = 4;
  return *complete(request);
}

Json good_answer(const Request& request) {
  Json doc;
  doc["status"] = "ok";
  doc["task"] = "gemm";
  doc["dtype"] = "fp32";
  // Less than the shell lives that says it.
  doc["samples_ms"] = {0.001, 0.002, 0.003};
  doc["latency_ms"] = {
      {"mean", 0.002}, {"p50", 0.002}, {"p95", 0.0029}, {"min", 0.001}, {"max", 0.003}};
  doc["throughput_tokens_per_sec"] = 3000;
  doc["peak_memory_bytes"] = 1000;
  std::vector<double> digest;
  for (const auto& each : reference_digests(request, 1)) digest.push_back(each.value);
  doc["digest"]["y"] = digest;
  return doc;
}

StackCommand shell(std::string id, const std::string& script) {
  return {.id = std::move(id),
          .display_name = "",
          .cure = "",
          .command = {"sh", "-c", script},
          .environment = {},
          .reason = {},
          .variable = {}};
}
std::string saying(const Json& doc, const std::string& after = "") {
  return "cat <<'END'\n" + dump_line(doc) + "\nEND\n" + after;
}

SessionOptions quick(std::size_t repeats = 1) {
  SessionOptions options;
  options.repeats = repeats;
  options.limits = {milliseconds(2500), milliseconds(500)};
  return options;
}

std::map<std::string, StackResult> run(const std::vector<StackCommand>& stacks,
                                       const SessionOptions& options = quick()) {
  const Request request = small();
  const auto ran = run_session(stacks, request, reference_digests(request, 1), options);
  std::map<std::string, StackResult> by_id;
  for (StackResult& result : results_of(stacks, ran)) by_id[result.id] = std::move(result);
  return by_id;
}

struct Hostile {
  const char* name;
  std::string script;
  StackStatus status;
  const char* reason;  // a part of it
};

std::vector<Hostile> hostile_adapters() {
  const Json good = good_answer(small());
  const auto with = [&](auto&& change) {
    Json doc = good;
    change(doc);
    return saying(doc);
  };
  using enum StackStatus;
  return {
      {"hangs", "sleep 60", error, "wrote nothing for 0.5 s"},
      {"hangs_after_its_answer", saying(good, "sleep 60"), error, "wrote nothing for 0.5 s"},
      {"never_ends", "while :; do echo; sleep 0.1; done", error, "did not end within 2.5 s"},
      {"crashes", "kill -SEGV $$", error, "Segmentation fault"},
      {"says_nothing", "true", error, "wrote no answer"},
      {"says_garbage", "echo hello; head -c 1000 /dev/urandom", error, ""},
      {"says_half", "echo '{\"status\": \"ok\", \"latency_ms\": {'", error, ""},
      {"says_a_list", "echo '[1, 2]'", error, "not a JSON object"},
      {"says_nan",
       "echo '{\"status\":\"ok\",\"latency_ms\":{\"mean\":NaN,\"p50\":NaN,\"p95\":NaN,\"min\":NaN,"
       "\"max\":NaN}}'",
       error, ""},
      {"has_no_status", with([](Json& doc) { doc.erase("status"); }), error, "no status"},
      {"has_an_unknown_status", with([](Json& doc) { doc["status"] = "fine"; }), error, "fine"},
      {"has_no_latency", with([](Json& doc) { doc.erase("latency_ms"), doc.erase("samples_ms"); }),
       error, "latency_ms is missing"},
      {"lacks_p95", with([](Json& doc) { doc["latency_ms"].erase("p95"); }), error,
       "latency_ms.p95 is missing"},
      {"has_a_zero_sample", with([](Json& doc) { doc["samples_ms"][1] = 0.0; }), error,
       "samples_ms"},
      {"has_a_text_sample", with([](Json& doc) { doc["samples_ms"][1] = "1.0"; }), error,
       "samples_ms"},
      {"contradicts_itself", with([](Json& doc) { doc["latency_ms"]["min"] = 0.0025; }), error,
       "contradicts itself"},
      {"flatters_its_mean", with([](Json& doc) { doc["latency_ms"]["mean"] = 0.0015; }), error,
       "the mean of its samples"},
      {"exits_with_3", saying(good, "exit 3"), error, "ended with code 3 though it says ok"},
      {"says_error", "echo '{\"status\":\"error\",\"error\":\"no memory\"}'; exit 1", error,
       "no memory"},
      {"says_unavailable", "echo '{\"status\":\"unavailable\",\"reason\":\"not today\"}'",
       unavailable, "not today"},
      {"did_another_dtype", with([](Json& doc) { doc["dtype"] = "bf16"; }), different_work,
       "dtype bf16"},
      {"did_another_task", with([](Json& doc) { doc["task"] = "mlp"; }), different_work,
       "task mlp"},
      {"did_another_shape", with([](Json& doc) { doc["shape"]["k"] = 5; }), different_work, "k 5"},
      {"did_fewer_flops", with([](Json& doc) { doc["flops"] = 6; }), different_work, "6 FLOPs"},
      {"has_another_digest", with([](Json& doc) { doc["digest"]["y"][1] = 1e3; }), different_work,
       "digest y1"},
      {"has_no_digest", with([](Json& doc) { doc.erase("digest"); }), ok, ""},
      {"claims_a_nanosecond", with([](Json& doc) {
         doc.erase("samples_ms");
         for (auto& figure : doc["latency_ms"]) figure = 1e-6;
       }),
       not_believable, "it says 1 ns an iteration"},
      {"claims_more_than_it_lived",
       with([](Json& doc) { doc["iterations_per_sample"] = 1'000'000'000; }), not_believable,
       "its process lived"},
      {"leaves_a_child", "sleep 60 & " + saying(good), ok, ""},
      {"is_noisy", "yes noise | head -c 40000000; " + saying(good), ok, ""},
      {"is_noisy_on_stderr", "yes noise | head -c 40000000 >&2; " + saying(good), ok, ""},
      {"says_it_over_lines", "echo log; echo '" + dump(good) + "'", ok, ""},
  };
}

TEST(Session, NoHostileAdapterCostsAnothersResults) {
  std::vector<StackCommand> stacks;
  for (const Hostile& hostile : hostile_adapters())
    stacks.push_back(shell(hostile.name, hostile.script));
  stacks.push_back(shell("good", saying(good_answer(small()))));
  stacks.push_back({.id = "not_there",
                    .display_name = "",
                    .cure = "get it",
                    .command = {"/nonexistent/adapter"},
                    .environment = {},
                    .reason = {},
                    .variable = {}});
  stacks.push_back({.id = "no_command",
                    .display_name = "",
                    .cure = "get it",
                    .command = {},
                    .environment = {},
                    .reason = "no command is known for it",
                    .variable = {}});
  stacks.push_back({.id = "wrong_command",
                    .display_name = "",
                    .cure = "get it",
                    .command = {"/nonexistent/adapter", "--json"},
                    .environment = {},
                    .reason = {},
                    .variable = "WRONG_BENCH_CMD"});
  const auto results = run(stacks);
  for (const Hostile& hostile : hostile_adapters()) {
    const StackResult& result = results.at(hostile.name);
    EXPECT_EQ(name_of(result.status), name_of(hostile.status))
        << hostile.name << ": " << result.reason;
    EXPECT_NE(result.reason.find(hostile.reason), std::string::npos)
        << hostile.name << ": " << result.reason;
    EXPECT_EQ(latency_of(result).p50_ns.has_value(), hostile.status == StackStatus::ok)
        << hostile.name;
  }
  const StackResult& good = results.at("good");
  EXPECT_EQ(good.status, StackStatus::ok) << good.reason;
  EXPECT_EQ(latency_of(good).p50_ns, 2e3);
  EXPECT_EQ(results.at("not_there").status, StackStatus::unavailable);
  EXPECT_EQ(results.at("not_there").cure, "get it");
  const StackResult& wrong = results.at("wrong_command");
  EXPECT_EQ(wrong.status, StackStatus::error);
  EXPECT_EQ(wrong.cure, "");
  EXPECT_NE(wrong.reason.find("WRONG_BENCH_CMD: the command '/nonexistent/adapter --json'"),
            std::string::npos)
      << wrong.reason;
  EXPECT_EQ(results.at("no_command").reason, "no command is known for it");
}

TEST(Session, AdaptersGetTheRequest) {
  const auto results = run(
      {shell("asks",
             "echo \"{\\\"status\\\":\\\"error\\\",\\\"error\\\":\\\"$BENCH_TASK $BENCH_M $BENCH_N "
             "$BENCH_K $BENCH_DTYPE $BENCH_DEVICE $BENCH_PROTOCOL\\\"}\"; exit 1")});
  EXPECT_NE(results.at("asks").reason.find("gemm 2 3 4 float32 cpu gpuready.bench/1"),
            std::string::npos)
      << results.at("asks").reason;
}

TEST(Session, WhatCannotGetBetterIsNotTriedAgain) {
  const Request request = small();
  const std::vector<StackCommand> stacks = {
      shell("unavailable", "echo '{\"status\":\"unavailable\"}'"), shell("crashes", "kill -9 $$"),
      shell("good", saying(good_answer(request)))};
  std::map<std::size_t, int> times;
  for (const auto& each : run_session(stacks, request, reference_digests(request, 1), quick(5)))
    ++times[each.stack];
  EXPECT_EQ(times, (std::map<std::size_t, int>{{0, 1}, {1, 2}, {2, 5}}));
}

TEST(Session, EndsWhenTheRepeatsAreEnough) {
  const Request request = small();
  const std::vector<StackCommand> stacks = {shell("a", saying(good_answer(request))),
                                            shell("b", "exit 1")};
  std::vector<std::size_t> asked;
  RoundHooks hooks;
  hooks.open = [&](std::span<const RanRepeat> ran) {
    asked.push_back(ran.size());
    return asked.size() == 2 ? std::vector<std::size_t>() : std::vector<std::size_t>{0, 1};
  };
  auto options = quick(20);
  std::vector<std::string> told;
  options.progress = [&](const std::string& text) { told.push_back(text); };
  const auto ran = run_session(stacks, request, reference_digests(request, 1), options, hooks);
  // After rounds 4 and 6; b failed twice and is not tried again.
  EXPECT_EQ(asked, (std::vector<std::size_t>{6, 8}));
  EXPECT_EQ(ran.size(), 8u);
  EXPECT_TRUE(told.front().starts_with("repeat 1 of 20: "));
  EXPECT_EQ(told.front().find(" left"), std::string::npos);
  EXPECT_TRUE(told.back().starts_with("repeat 6 of 20: a; at most ")) << told.back();
  EXPECT_TRUE(told.back().ends_with(" left")) << told.back();
}

TEST(Session, OnlyOpenStacksAreRepeated) {
  const Request request = small();
  const std::vector<StackCommand> stacks = {shell("a", saying(good_answer(request))),
                                            shell("b", saying(good_answer(request)))};
  RoundHooks hooks;
  hooks.open = [](std::span<const RanRepeat>) { return std::vector<std::size_t>{1}; };
  std::map<std::size_t, int> times;
  for (const auto& each :
       run_session(stacks, request, reference_digests(request, 1), quick(6), hooks))
    ++times[each.stack];
  EXPECT_EQ(times, (std::map<std::size_t, int>{{0, 4}, {1, 6}}));
}

// An adapter that waits at its gate in between.
StackCommand gated(std::string id, const std::string& before, const std::string& after) {
  StackCommand stack =
      shell(std::move(id), before +
                               "\n[ -z \"$BENCH_GATE\" ] || { echo ready >&3; read "
                               "-r opened <&3; }\n" +
                               after);
  stack.has_gate = true;
  return stack;
}

std::vector<RanRepeat> run_gated(const std::vector<StackCommand>& stacks, std::size_t at_once,
                                 const RoundHooks& hooks = {}, std::size_t repeats = 1) {
  const Request request = small();
  auto options = quick(repeats);
  options.at_once = at_once;
  return run_session(stacks, request, reference_digests(request, 1), options, hooks);
}

// Fifths of a second with a sign of life after each.
std::string spoken(int fifths) {
  return "for i in $(seq " + std::to_string(fifths) + "); do sleep 0.2; echo >&2; done";
}

// Waits until this number of processes are here at the same time.
class Meeting {
 public:
  Meeting() : folder_(mkdtemp(template_.data())) {}
  ~Meeting() { std::filesystem::remove_all(folder_); }
  std::string of(int count) const {
    return "cd " + folder_ + "; : >$$; until [ $(ls | wc -l) = " + std::to_string(count) +
           " ]; do sleep 0.02; echo >&2; done";
  }

 private:
  std::string template_ = (std::filesystem::temp_directory_path() / "sessionXXXXXX").string();
  std::string folder_;
};

// Each takes longer than the others may be silent.
TEST(Session, TheWaitAtTheGateHasNoLimit) {
  const std::string slow = saying(good_answer(small()), spoken(4));
  std::vector<StackCommand> stacks;
  for (const char* id : {"a", "b", "c", "d"}) stacks.push_back(gated(id, "", slow));
  const auto ran = run_gated(stacks, 4);
  ASSERT_EQ(ran.size(), 4u);
  for (std::size_t i = 0; i < ran.size(); ++i) {
    EXPECT_EQ(ran[i].answer.repeat.status, StackStatus::ok) << ran[i].answer.repeat.reason;
    EXPECT_TRUE(ran[i].overlapped);
    EXPECT_GE(ran[i].span.begin_ms, i == 0 ? 0 : ran[i - 1].span.end_ms);
  }
}

TEST(Session, BothSidesOfTheGateShareALimitOfTime) {
  const auto ran = run_gated({gated("a", spoken(8), saying(good_answer(small()), spoken(8)))}, 2);
  ASSERT_EQ(ran.size(), 1u);
  EXPECT_EQ(ran[0].answer.repeat.status, StackStatus::error);
  EXPECT_NE(ran[0].answer.repeat.reason.find("did not end within 2.5 s"), std::string::npos)
      << ran[0].answer.repeat.reason;
}

TEST(Session, AdaptersPrepareAtTheSameTimeUpToTheLimit) {
  const std::string good = saying(good_answer(small()));
  std::vector<StackCommand> stacks;
  for (const char* id : {"a", "b", "c", "d"}) stacks.push_back(gated(id, spoken(5), good));
  const auto prepared_ms = [&](std::size_t at_once) {
    double ms = 0;
    for (const RanRepeat& each : run_gated(stacks, at_once)) ms += each.prepare_ms;
    return ms;
  };
  EXPECT_GE(prepared_ms(2), 2000);  // two after two
  EXPECT_EQ(prepared_ms(1), 0);     // no gate
  const Meeting meeting;
  for (StackCommand& stack : stacks) stack = gated(stack.id, meeting.of(4), good);
  for (const RanRepeat& each : run_gated(stacks, 4))
    EXPECT_EQ(each.answer.repeat.status, StackStatus::ok) << each.answer.repeat.reason;
}

TEST(Session, LaterRoundsPrepareWithTheFirst) {
  const std::string good = saying(good_answer(small()));
  double ms = 0;
  for (const RanRepeat& each : run_gated({gated("a", spoken(5), good)}, 2, {}, 3))
    ms += each.prepare_ms;
  EXPECT_GE(ms, 2000);  // two, then one
  const Meeting meeting;
  const auto ran = run_gated({gated("a", meeting.of(3), good)}, 3, {}, 3);
  EXPECT_EQ(ran.size(), 3u);
  for (const RanRepeat& each : ran)
    EXPECT_EQ(each.answer.repeat.status, StackStatus::ok) << each.answer.repeat.reason;
}

TEST(Session, WhatFailsBesideOthersIsRepeatedByItself) {
  const std::string good = saying(good_answer(small()));
  const std::vector<StackCommand> stacks = {
      gated("cannot_share", "[ -z \"$BENCH_GATE\" ] || exit 1", good), gated("shares", "", good)};
  RoundHooks hooks;
  hooks.open = [](std::span<const RanRepeat>) { return std::vector<std::size_t>{0, 1}; };
  const auto ran = run_gated(stacks, 4, hooks, 2);
  ASSERT_EQ(ran.size(), 4u);
  for (const RanRepeat& each : ran) {
    EXPECT_EQ(each.answer.repeat.status, StackStatus::ok) << each.answer.repeat.reason;
    EXPECT_EQ(each.overlapped, each.stack == 1);
  }
}

TEST(AdapterRun, CoresAndMemoryLimitHowManyPrepare) {
  Request request = small();
  constexpr std::uint64_t kGiB = 1ull << 30;
  EXPECT_EQ(prepared_at_once(request, 16, 5 * kGiB), 2u);  // half of it, a little over 1 GiB each
  EXPECT_EQ(prepared_at_once(request, 2, 100 * kGiB), 2u);
  EXPECT_EQ(prepared_at_once(request, 16, 0), 1u);
  EXPECT_EQ(prepared_at_once(request, 16, std::nullopt), 16u);
  EXPECT_EQ(prepared_at_once(request, 0, std::nullopt), 1u);
  request.m = request.n = request.k = 16384;  // three tensors of 2^28 elements: 6 GiB
  EXPECT_EQ(prepared_at_once(request, 16, 43 * kGiB), 3u);
}

TEST(Session, ACureIsToldOnlyWhereOneHelps) {
  Json missing;
  missing["status"] = "unavailable";
  missing["reason"] = "it is not here";
  Json never = missing;
  never["supported"] = false;
  StackCommand first = shell("missing", saying(missing)), second = shell("never", saying(never));
  first.cure = second.cure = "install it";
  auto results = run({first, second});
  EXPECT_EQ(results["missing"].cure, "install it");
  EXPECT_EQ(results["never"].status, StackStatus::unavailable);
  EXPECT_EQ(results["never"].cure, "");
}

TEST(Session, AFailureBesideGoodRepeatsIsTold) {
  const Request request = small();
  StackCommand stack = shell("sometimes", "");
  std::vector<RanRepeat> ran(3);
  ran[1].answer.repeat.status = StackStatus::error;
  ran[1].answer.repeat.reason = "it fell over";
  const auto results = results_of({&stack, 1}, ran);
  EXPECT_EQ(results[0].status, StackStatus::ok);
  EXPECT_EQ(results[0].reason, "1 of 3 repeats failed: it fell over");
  ran[2].answer.repeat.status = StackStatus::different_work;
  EXPECT_EQ(results_of({&stack, 1}, ran)[0].status, StackStatus::different_work);
}

TEST(Session, WhatAnyRepeatSaysOfAStackIsSaidOfIt) {
  const std::vector<StackCommand> stacks = {shell("a", "true"), shell("b", "false")};
  std::vector<RanRepeat> ran(4);
  ran[0].stack = 1;
  ran[0].answer.mode = "other";
  ran[1].answer.mode = "graph";
  ran[1].answer.versions = {{"torch", "2.8"}, {"cuda", "12.8"}};
  ran[1].answer.settings = {{"tf32", "off"}};
  ran[1].answer.reference = true;
  ran[2].answer.versions = {{"triton", "3.4"}};
  ran[2].answer.repeat.unverified = "it gave no digest";
  const auto results = results_of(stacks, ran);
  using Words = std::map<std::string, std::string>;
  EXPECT_EQ(results[0].mode, "graph");
  EXPECT_EQ(results[0].versions, (Words{{"torch", "2.8"}, {"cuda", "12.8"}, {"triton", "3.4"}}));
  EXPECT_EQ(results[0].settings, (Words{{"tf32", "off"}}));
  EXPECT_TRUE(results[0].reference);
  EXPECT_TRUE(results[0].unverified);
  EXPECT_EQ(results[0].repeats.size(), 3u);
  EXPECT_EQ(results[1].mode, "other");
  EXPECT_TRUE(results[1].versions.empty());
  EXPECT_FALSE(results[1].reference);
  EXPECT_FALSE(results[1].unverified);
}

TEST(Session, NothingIsRunAfterAnInterrupt) {
  const Request request = small();
  const std::vector<StackCommand> stacks = {shell("a", saying(good_answer(request)))};
  for (const bool interrupted : {false, true}) {
    const std::atomic<bool> cancel = interrupted;
    auto options = quick(2);
    options.watch.cancel = &cancel;
    const auto ran = run_session(stacks, request, reference_digests(request, 1), options);
    EXPECT_EQ(ran.size(), interrupted ? 0u : 2u);
    EXPECT_EQ(results_of(stacks, ran)[0].reason,
              interrupted ? "it was interrupted before a repeat of it had ended" : "");
  }
}

TEST(Session, OrderIsBalanced) {
  std::set<std::vector<std::size_t>> orders;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto rounds = balanced_order(4, 6, seed);
    ASSERT_EQ(rounds.size(), 6u);
    std::vector<std::size_t> places(4);  // sums of a stack's places
    for (const auto& round : rounds) {
      orders.insert(round);
      for (std::size_t i = 0; i < round.size(); ++i) places[round[i]] += i;
    }
    EXPECT_EQ(places, (std::vector<std::size_t>{9, 9, 9, 9})) << seed;
  }
  EXPECT_EQ(orders.size(), 24u);  // all of them come up
}

TEST(Adapters, WordsAreAShells) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"", {}},
      {"  python3  x.py\t--json\n", {"python3", "x.py", "--json"}},
      {"a 'b c' \"d e\"", {"a", "b c", "d e"}},
      {"a''b \"\" ''", {"ab", "", ""}},
      {"a\\ b \\'", {"a b", "'"}},
      {"\"a\\\"b\\\\c\\d\"", {"a\"b\\c\\d"}},
      {"'$HOME' $HOME `x`", {"$HOME", "$HOME", "`x`"}},
      {"a\\\nb", {"ab"}},
  };
  for (const auto& [text, words] : cases) {
    const auto split = shell_words(text);
    ASSERT_TRUE(split) << text;
    EXPECT_EQ(*split, words) << text;
  }
  for (const char* wrong : {"'a", "\"a", "a\\", "\"a\\"}) EXPECT_FALSE(shell_words(wrong)) << wrong;
}

TEST(Adapters, VariablesStandInForOurs) {
  const auto get = [](const std::string& name) -> std::optional<std::string> {
    if (name == "TVM_BENCH_CMD") return "python3 my_tvm.py --json";
    if (name == "MINE_BENCH_CMD") return "./mine";
    return std::nullopt;
  };
  const std::vector<std::string> ids = {"tvm", "mine", "torch_eager", "glow", "gpuready"};
  const auto commands = stack_commands(ids, get, "/bin/gpuready", "/scripts");
  ASSERT_TRUE(commands);
  EXPECT_EQ((*commands)[0].command, (std::vector<std::string>{"python3", "my_tvm.py", "--json"}));
  EXPECT_EQ((*commands)[1].command, (std::vector<std::string>{"./mine"}));
  EXPECT_EQ((*commands)[2].command,
            (std::vector<std::string>{"python3", "-I", "-B", "-u", "/scripts/torch_eager.py"}));
  EXPECT_TRUE((*commands)[3].command.empty());
  EXPECT_NE((*commands)[3].reason.find("GLOW_BENCH_CMD"), std::string::npos);
  EXPECT_EQ((*commands)[4].command[0], "/bin/gpuready");
  for (std::size_t i = 0; i < commands->size(); ++i)  // only our own scripts have a gate
    EXPECT_EQ((*commands)[i].has_gate, i == 2) << i;
  const std::vector<std::string> unknown = {"torch"};
  EXPECT_FALSE(stack_commands(unknown, get, "", ""));
  const std::vector<std::string> twice = {"tvm", "tvm"};
  EXPECT_FALSE(stack_commands(twice, get, "", ""));
}

// What a shell reads of a line is the variable, and what shell_words() reads of that is the
// command.
TEST(Adapters, ExportsAreOfAllStacksAndKeepEachWord) {
  const auto get = [](const std::string& name) -> std::optional<std::string> {
    if (name == "TVM_BENCH_CMD")
      return R"(my\ tvm 'a b' "it's" '' '$x;y' 'a	b' p=1,2/x_y-z:@%+)";
    return std::nullopt;
  };
  const auto all = stack_commands({}, get, "/bin/gpuready", "/scripts");
  ASSERT_TRUE(all);
  const std::string text = exports_of(*all);
  const auto exported = lines(text);
  ASSERT_EQ(exported.size(), known_adapters().size());
  const auto line_of = [&](std::string_view id) {
    for (std::size_t i = 0; i < exported.size(); ++i)
      if (known_adapters()[i].id == id) return std::string(exported[i]);
    return std::string();
  };
  EXPECT_EQ(line_of("gpuready"),
            "export GPUREADY_BENCH_CMD='/bin/gpuready bench adapter --stack gpuready'");
  EXPECT_EQ(line_of("torch_eager"),
            "export TORCH_EAGER_BENCH_CMD='python3 -I -B -u /scripts/torch_eager.py'");
  EXPECT_EQ(line_of("torch_compile_graphs"),
            "export TORCH_COMPILE_GRAPHS_BENCH_CMD='env BENCH_TORCH_COMPILE_MODE=reduce-overhead "
            "python3 -I -B -u /scripts/torch_compile.py'");
  EXPECT_EQ(line_of("glow"),
            "# export GLOW_BENCH_CMD='...'  # set GLOW_BENCH_CMD to a command for it");
  const auto tvm = shell_words(line_of("tvm"));
  ASSERT_TRUE(tvm);
  ASSERT_EQ(tvm->size(), 2u);
  const std::string start = "TVM_BENCH_CMD=";
  ASSERT_TRUE((*tvm)[1].starts_with(start)) << (*tvm)[1];
  EXPECT_EQ((*tvm)[1].substr(start.size()),
            R"('my tvm' 'a b' 'it'\''s' '' '$x;y' 'a	b' p=1,2/x_y-z:@%+)");
  EXPECT_EQ(
      shell_words((*tvm)[1].substr(start.size())),
      (std::vector<std::string>{"my tvm", "a b", "it's", "", "$x;y", "a\tb", "p=1,2/x_y-z:@%+"}));
}

TEST(Adapters, EveryScriptOfTheTableIsThere) {
  for (const AdapterEntry& entry : known_adapters()) {
    if (entry.script == nullptr) continue;
    EXPECT_TRUE(std::ranges::any_of(adapter_files(), [&](const AdapterFile& file) {
      return std::string_view(file.name) == entry.script && !file.text.empty();
    })) << entry.script;
  }
}

}  // namespace
}  // namespace gpuready::bench
