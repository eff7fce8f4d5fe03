// Whatever an adapter writes gives an answer that can be used: the fuzz target's claims over
// mutations of a good answer.
#include "bench/run/answer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "bench/run/adapters.h"

namespace gpuready::bench {
namespace {

constexpr const char* kGood =
    "noise\n{\"status\":\"ok\",\"latency_ms\":{\"mean\":2,\"p50\":2,\"p95\":3,\"min\":1,\"max\":3},"
    "\"samples_ms\":[1,2,3],\"samples_at_ms\":[10,20,30],\"digest\":{\"y\":[1,2,3],\"activation\":"
    "1,"
    "\"z\":[1,2],\"mean\":4},\"flops\":4311744512,\"shape\":{\"batch\":64,\"hidden\":2048},"
    "\"startup_ms\":{\"setup\":4,\"compile\":3,\"first_step\":2},\"versions\":{\"torch\":\"2\"},"
    "\"cold_ms\":[5]}\n";

void expect_usable(std::string_view text) {
  const Answer answer = read_answer(text, *complete(Request{}));
  const Repeat& repeat = answer.repeat;
  for (const double sample : repeat.samples_ns) ASSERT_TRUE(std::isfinite(sample) && sample > 0);
  ASSERT_TRUE(answer.sampled_at_ms.empty() ||
              answer.sampled_at_ms.size() == repeat.samples_ns.size());
  ASSERT_TRUE(repeat.status == StackStatus::ok || !repeat.reason.empty()) << text;
  ASSERT_TRUE(repeat.status != StackStatus::ok || latency_of(repeat).mean_ns) << text;
  if (const auto words = shell_words(text)) {
    ASSERT_LE(words->size(), text.size());
  }
}

TEST(Answer, IsReadWhole) {
  const Answer answer = read_answer(kGood, *complete(Request{}));
  EXPECT_EQ(answer.repeat.status, StackStatus::ok) << answer.repeat.reason;
  EXPECT_EQ(answer.repeat.samples_ns, (std::vector<double>{1e6, 2e6, 3e6}));
  EXPECT_EQ(answer.repeat.cold_samples_ns, (std::vector<double>{5e6}));
  EXPECT_EQ(answer.repeat.setup_ms, 4);
  EXPECT_EQ(answer.repeat.compile_ms, 3);
  EXPECT_EQ(answer.repeat.first_run_ms, 2);
  EXPECT_EQ(answer.repeat.digest, (std::vector<double>{1, 2, 3, 1, 1, 2, 4}));
  EXPECT_EQ(answer.repeat.compile_ms, 3);
  EXPECT_EQ(answer.versions.at("torch"), "2");
}

TEST(Answer, ALongReasonKeepsItsEnd) {
  const auto reason_of = [](const std::string& error) {
    return read_answer(R"({"status":"error","error":")" + error + R"("})", *complete(Request{}))
        .repeat.reason;
  };
  const std::string end(999, 'x');
  EXPECT_EQ(reason_of("a" + end), "a" + end);
  EXPECT_EQ(reason_of("ab" + end), "...b" + end);
}

TEST(Answer, MutationsAreReadToSomethingUsable) {
  SplitMix64 random(1);
  constexpr std::string_view kPieces[] = {"null", "-1", "1e999", "NaN", "{", "}",    "[",
                                          "]",    "\"", ",",     "\n",  "0", "true", "\\u0000"};
  for (int i = 0; i < 5000; ++i) {
    std::string text = kGood;
    for (std::uint64_t changes = 1 + random.next() % 4; changes > 0 && !text.empty(); --changes) {
      const std::size_t at = random.next() % text.size();
      switch (random.next() % 4) {
        case 0:
          text[at] = static_cast<char>(random.next());
          break;
        case 1:
          text.erase(at, 1 + random.next() % 20);
          break;
        case 2:
          text.insert(at, kPieces[random.next() % std::size(kPieces)]);
          break;
        default:
          text.resize(at + 1);
      }
    }
    expect_usable(text);
    if (HasFatalFailure()) return;
  }
}

// A hundred thousand braces are no reason to think for long.
TEST(Answer, BracesCostLittle) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "{\n";
  expect_usable(text + "}");
  expect_usable(std::string(100'000, '{') + "}");
  expect_usable(std::string(100'000, '[') + "}");
}

}  // namespace
}  // namespace gpuready::bench
