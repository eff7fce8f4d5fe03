// Calls that are asked to stop, and calls that run at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <thread>

#include "reference.h"

namespace gpuready::ternary {
namespace {

constexpr std::int64_t kRows = 700, kCols = 1030;

template <class T>
ErrorKind kind_of(const Result<T>& result) {
  return result ? ErrorKind::io : result.error().kind;
}

// One that calls `before` ahead of each call's tasks, which it runs one after the other.
struct HookedPool {
  std::function<void()> before;
  static void run(void* context, unsigned count, void (*task)(void*, unsigned), void* argument) {
    static_cast<HookedPool*>(context)->before();
    for (unsigned i = 0; i < count; ++i) task(argument, i);
  }
  EngineOptions options() {
    EngineOptions options;
    options.pool = ThreadPool{run, this, 2};
    return options;
  }
};

TEST(StopScope, EndsEveryCallThatBeginsAfterTheRequest) {
  const auto engine = *CpuEngine::create({{}, false, 1});
  const auto problem = reference::make(2, 64, 256, reference::Fill::random, 5);
  const auto weights = *PackedWeights::pack(problem.weights);
  const auto y = *Activations::from_int8(problem.y, 2, 256, problem.steps);
  const auto encoded = *encode(problem.weights, FormatId::i2s_x86);
  const std::vector<float> values(64 * 256, 0.5f);
  const FloatView view{std::span<const float>(values)};
  std::vector<std::int32_t> out(2 * 64);
  std::stop_source source;
  source.request_stop();
  {
    const StopScope scope(source.get_token());
    EXPECT_EQ(kind_of(engine.multiply(weights, y, std::span(out))), ErrorKind::cancelled);
    EXPECT_EQ(kind_of(engine.quantise(view, 64, 256)), ErrorKind::cancelled);
    EXPECT_EQ(kind_of(PackedWeights::pack(problem.weights)), ErrorKind::cancelled);
    EXPECT_EQ(kind_of(PackedWeights::pack(encoded)), ErrorKind::cancelled);
    EXPECT_EQ(kind_of(quantise(view, {64, 256}, FormatId::i2s_x86)), ErrorKind::cancelled);
    EXPECT_EQ(kind_of(quantise_absmean(view, {64, 256})), ErrorKind::cancelled);
    EXPECT_EQ(kind_of(decode(encoded)), ErrorKind::cancelled);
    EXPECT_EQ(kind_of(convert(encoded, FormatId::i2s_arm)), ErrorKind::cancelled);
    const StopScope inner({});  // one that no one can ask
    EXPECT_TRUE(engine.multiply(weights, y, std::span(out)));
  }
  std::fill(out.begin(), out.end(), 0);
  ASSERT_TRUE(engine.multiply(weights, y, std::span(out)));
  EXPECT_TRUE(std::equal(out.begin(), out.end(), problem.sums.begin()));
}

TEST(StopScope, EndsAProductThatIsUnderWayAndTheEngineWorksOn) {
  for (const std::int64_t m : {1, 40, 600}) {
    HookedPool pool;
    const auto engine = *CpuEngine::create(pool.options());
    const auto problem = reference::make(m, kRows, kCols, reference::Fill::random, 5);
    const auto weights = *PackedWeights::pack(problem.weights);
    const auto y = *Activations::from_int8(problem.y, m, kCols, problem.steps);
    std::vector<std::int32_t> out(static_cast<std::size_t>(m * kRows), -7);
    {
      std::stop_source source;
      pool.before = [&] { source.request_stop(); };
      const StopScope scope(source.get_token());
      EXPECT_EQ(kind_of(engine.multiply(weights, y, std::span(out))), ErrorKind::cancelled);
    }
    EXPECT_EQ(std::count(out.begin(), out.end(), -7), m * kRows) << "work went on, m " << m;
    pool.before = [] {};
    ASSERT_TRUE(engine.multiply(weights, y, std::span(out)));
    EXPECT_TRUE(std::equal(out.begin(), out.end(), problem.sums.begin()));
  }
}

TEST(StopScope, EndsPackingAndProductsFromAnotherThread) {
  const auto problem = reference::make(1, 4096, 1024, reference::Fill::random, 5);
  const auto engine = *CpuEngine::create({Tier::scalar, false, 1});
  const auto weights = *PackedWeights::pack(problem.weights);
  const auto y = *Activations::from_int8(problem.y, 1, 1024, problem.steps);
  std::vector<std::int32_t> out(4096);
  const std::function<ErrorKind()> calls[] = {
      [&] { return kind_of(engine.multiply(weights, y, std::span(out))); },
      [&] { return kind_of(PackedWeights::pack(problem.weights, Form::two_bit, 2)); }};
  for (const auto& call : calls) {
    std::stop_source source;
    const StopScope scope(source.get_token());
    std::jthread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      source.request_stop();
    });
    ErrorKind kind;
    while ((kind = call()) == ErrorKind::io) {
    }
    EXPECT_EQ(kind, ErrorKind::cancelled);
  }
}

TEST(Threads, MoreThanTheLimitAreAnErrorThatNamesIt) {
  const auto problem = reference::make(1, 4, 256, reference::Fill::random, 5);
  const auto encoded = *encode(problem.weights, FormatId::i2s_x86);
  const auto packed = *PackedWeights::pack(problem.weights);
  std::vector<std::byte> saved(packed.saved_bytes() + 64);
  const std::span<std::byte> aligned = std::span(saved).subspan(
      64 - std::bit_cast<std::uintptr_t>(saved.data()) % 64, packed.saved_bytes());
  ASSERT_TRUE(packed.save(aligned));
  const std::vector<float> values(4 * 256, 0.5f);
  const FloatView view{std::span<const float>(values)};
  const std::vector<float> scales(4, 1.0f);
  const RowScales rows{std::span<const float>(scales), 0};
  for (const unsigned threads : {kMostThreads + 1, UINT32_MAX}) {
    const EncodeOptions options{{}, false, threads};
    const auto refused = [&](const auto& result) {
      return !result && result.error().kind == ErrorKind::bad_input &&
             result.error().message.find(std::to_string(threads)) != std::string::npos &&
             result.error().message.find("1024") != std::string::npos;
    };
    EXPECT_TRUE(refused(CpuEngine::create({{}, false, threads})));
    EXPECT_TRUE(refused(PackedWeights::pack(problem.weights, Form::two_bit, threads)));
    EXPECT_TRUE(refused(PackedWeights::pack(encoded, Form::two_bit, threads)));
    EXPECT_TRUE(refused(
        PackedWeights::pack(problem.weights.values, {4, 256}, rows, Form::two_bit, threads)));
    EXPECT_TRUE(refused(PackedWeights::view(aligned, nullptr, Contents::check, threads)));
    EXPECT_TRUE(refused(decode(encoded, threads)));
    EXPECT_TRUE(refused(encode(problem.weights, FormatId::i2s_arm, options)));
    EXPECT_TRUE(refused(convert(encoded, FormatId::i2s_arm, options)));
    EXPECT_TRUE(refused(quantise(view, {4, 256}, FormatId::i2s_x86, {Rule::absmean, options})));
    EXPECT_TRUE(refused(quantise_absmean(view, {4, 256}, threads)));
  }
  EXPECT_TRUE(PackedWeights::pack(encoded, Form::two_bit, kMostThreads));
}

// Two threads multiply, each on its engine: how many calls the pool ran at once.
int most_at_once(const CpuEngine& first, const CpuEngine& second, HookedPool& pool) {
  const auto problem = reference::make(1, kRows, kCols, reference::Fill::random, 5);
  const auto weights = *PackedWeights::pack(problem.weights);
  const auto y = *Activations::from_int8(problem.y, 1, kCols, problem.steps);
  std::atomic<int> inside{0}, most{0};
  pool.before = [&] {
    const int now = ++inside;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    // Time for another call to come, which it does unless it must wait for this one.
    for (int i = 0; i < 200 && most < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --inside;
  };
  std::latch begin(2);
  const auto work = [&](const CpuEngine& engine) {
    std::vector<std::int32_t> out(kRows);
    begin.arrive_and_wait();
    EXPECT_TRUE(engine.multiply(weights, y, std::span(out)));
    EXPECT_TRUE(std::equal(out.begin(), out.end(), problem.sums.begin()));
  };
  {
    std::jthread one([&] { work(first); }), other([&] { work(second); });
  }
  return most;
}

TEST(CallsAtOnce, OfOneEngineComeOneAfterTheOtherAndOfTwoThatShareAPoolTogether) {
  HookedPool pool;
  const auto one = *CpuEngine::create(pool.options()), other = *CpuEngine::create(pool.options());
  EXPECT_EQ(most_at_once(one, one, pool), 1);
  EXPECT_EQ(most_at_once(one, other, pool), 2);
}

}  // namespace
}  // namespace gpuready::ternary
