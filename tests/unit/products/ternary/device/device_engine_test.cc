#include "gpuready/ternary_device.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <numeric>
#include <thread>

#include "base/units.h"
#include "fake_gpu.h"
#include "unit/products/ternary/reference.h"

namespace gpuready::ternary {
using detail::DeviceEngineMaker;

namespace {

using std::chrono::steady_clock;

struct Fixture {
  std::shared_ptr<FakeGpuControl> gpu = std::make_shared<FakeGpuControl>();
  reference::Problem problem = reference::make(7, 19, 150, reference::Fill::random, 3);
  PackedWeights packed = *PackedWeights::pack(problem.weights);
  Activations rows = *Activations::from_int8(problem.y, 7, 150, problem.steps);
  std::vector<std::int32_t> out = std::vector<std::int32_t>(7 * 19, -7);

  EngineParts parts() { return parts_with(gpu); }
  // Multiplies and says whether it was done, and rightly.
  bool right(const DeviceEngine& engine, const DeviceWeights& weights) {
    std::fill(out.begin(), out.end(), -7);
    if (!engine.multiply(weights, rows, std::span(out))) return false;
    return std::equal(out.begin(), out.end(), problem.sums.begin());
  }
};

TEST(DeviceEngine, runs_on_the_gpu_and_tells_so) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  const auto weights = engine.load(f.packed);
  ASSERT_TRUE(weights);
  EXPECT_TRUE(weights->on_device());
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(engine.active_kernel(), "fake-gemm");
  EXPECT_EQ(engine.kernel_for(*weights, 1), "fake-gemv");
  EXPECT_EQ(engine.device_id(), "cuda:GPU-fake");
  const DeviceStats stats = engine.stats();
  EXPECT_EQ(stats.device_type, "cuda");
  EXPECT_EQ(stats.gpu_operations, 1u);
  EXPECT_EQ(stats.cpu_operations, 0u);
  EXPECT_EQ(stats.fallback_count, 0u);
  EXPECT_EQ(stats.gpu_efficiency, 1.0);
  EXPECT_TRUE(stats.is_gpu_effective());
  EXPECT_EQ(stats.device_memory_total_bytes, std::uint64_t{2} << 30);
  EXPECT_GT(stats.device_weights_bytes, 0u);
}

TEST(DeviceEngine, all_outputs_and_inputs_agree_with_the_cpu_engine) {
  Fixture f;
  const auto cpu = CpuEngine::create({{}, false, 1});
  std::vector<float> values(7 * 150);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(f.problem.y[i]) * 0.37f;
  const auto quantised = Activations::quantise(std::span<const float>(values), 7, 150);
  std::vector<float> want(7 * 19), got(7 * 19);
  std::vector<std::uint16_t> want16(7 * 19), got16(7 * 19);
  std::vector<std::int32_t> want32(7 * 19);
  ASSERT_TRUE(cpu->multiply(f.packed, *quantised, std::span(want)));
  ASSERT_TRUE(cpu->multiply(f.packed, *quantised, std::span(want32)));
  ASSERT_TRUE(cpu->multiply_bf16(f.packed, *quantised, want16));
  for (const bool gpu : {true, false}) {
    EngineParts parts = f.parts();
    if (!gpu) parts.gpu = nullptr;
    const auto engine = DeviceEngineMaker::make(std::move(parts));
    const auto weights = engine.load(f.packed);
    const FloatView view{std::span<const float>(values)};
    ASSERT_TRUE(engine.multiply(*weights, view, 7, std::span(got)));
    EXPECT_EQ(got, want);
    ASSERT_TRUE(engine.multiply(*weights, view, 7, std::span(f.out)));
    EXPECT_EQ(f.out, want32);
    ASSERT_TRUE(engine.multiply_bf16(*weights, view, 7, got16));
    EXPECT_EQ(got16, want16);
    std::fill(got.begin(), got.end(), 0.0f);
    ASSERT_TRUE(engine.multiply(*weights, *quantised, std::span(got)));
    EXPECT_EQ(got, want);
    std::fill(got16.begin(), got16.end(), 0);
    ASSERT_TRUE(engine.multiply_bf16(*weights, *quantised, got16));
    EXPECT_EQ(got16, want16);
  }
}

TEST(DeviceEngine, an_error_of_the_device_falls_back_and_is_recorded) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  const auto weights = engine.load(f.packed);
  f.gpu->errors = {ErrorKind::device};
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_TRUE(f.right(engine, *weights));
  const DeviceStats stats = engine.stats();
  EXPECT_EQ(stats.fallback_count, 1u);
  EXPECT_EQ(stats.cpu_operations, 1u);
  EXPECT_EQ(stats.gpu_operations, 1u);
  EXPECT_EQ(stats.device_errors, 1u);
  EXPECT_EQ(stats.last_gpu_error, "told to fail: device");
  EXPECT_EQ(stats.last_fallback_reason, stats.last_gpu_error);
  EXPECT_FALSE(stats.last_cpu_error);
  EXPECT_FALSE(stats.is_gpu_effective());
  EXPECT_EQ(stats.breaker, BreakerState::closed);
}

TEST(DeviceEngine, a_strict_engine_returns_the_devices_error) {
  Fixture f;
  EngineParts parts = f.parts();
  parts.strict = true;
  const auto engine = DeviceEngineMaker::make(std::move(parts));
  const auto weights = engine.load(f.packed);
  f.gpu->always = ErrorKind::device;
  for (int i = 0; i < 10; ++i) {  // also beyond the breaker's threshold
    const auto done = engine.multiply(*weights, f.rows, std::span(f.out));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::device);
  }
  EXPECT_EQ(f.gpu->calls, 10);
  EXPECT_EQ(engine.stats().cpu_operations, 0u);
  EXPECT_EQ(engine.stats().failed_operations, 10u);
  f.gpu->always.reset();
  EXPECT_TRUE(f.right(engine, *weights));
  f.gpu->on_load = ErrorKind::device_memory;
  EXPECT_EQ(engine.load(f.packed).error().kind, ErrorKind::device_memory);
  f.gpu->errors = {ErrorKind::device_lost};
  EXPECT_FALSE(f.right(engine, *weights));
  EXPECT_EQ(engine.multiply(*weights, f.rows, std::span(f.out)).error().kind,
            ErrorKind::device_lost);
}

TEST(DeviceEngine, an_error_of_the_caller_is_neither_worked_around_nor_counted_against_the_device) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  const auto weights = engine.load(f.packed);
  std::vector<float> values(7 * 150, 1.0f), out(7 * 19, -7.0f);
  values[5] = std::numeric_limits<float>::quiet_NaN();
  const auto done = engine.multiply(*weights, std::span<const float>(values), 7, std::span(out));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::not_finite);
  EXPECT_EQ(out, std::vector<float>(7 * 19, -7.0f));
  std::vector<std::int32_t> small(7 * 19 - 1);
  EXPECT_EQ(engine.multiply(*weights, f.rows, std::span(small)).error().kind,
            ErrorKind::wrong_size);
  EXPECT_EQ(
      engine.multiply(*weights, std::span<const float>(values), 8, std::span(out)).error().kind,
      ErrorKind::wrong_size);
  EXPECT_EQ(
      engine.multiply(*weights, std::span<const float>(values), -1, std::span(out)).error().kind,
      ErrorKind::wrong_size);
  const auto narrow = *Activations::from_int8(std::vector<std::int8_t>(7), 7, 1);
  EXPECT_EQ(engine.multiply(*weights, narrow, std::span(f.out)).error().kind,
            ErrorKind::wrong_size);
  EXPECT_EQ(engine.stats().fallback_count, 0u);
  EXPECT_EQ(engine.stats().device_errors, 0u);
}

TEST(DeviceEngine, weights_of_another_engine_are_refused) {
  Fixture f;
  const auto a = DeviceEngineMaker::make(f.parts()), b = DeviceEngineMaker::make(f.parts());
  const auto weights = a.load(f.packed);
  EXPECT_EQ(b.multiply(*weights, f.rows, std::span(f.out)).error().kind, ErrorKind::wrong_size);
}

TEST(DeviceEngine, the_breaker_leaves_a_failing_device_alone_and_tries_again_after_some_calls) {
  Fixture f;
  EngineParts parts = f.parts();
  parts.breaker = {.errors = 3, .retry_calls = 5, .cool_down = std::chrono::hours(1)};
  const auto engine = DeviceEngineMaker::make(std::move(parts));
  const auto weights = engine.load(f.packed);
  f.gpu->always = ErrorKind::device;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(f.gpu->calls, 3);
  EXPECT_EQ(engine.stats().breaker, BreakerState::open);
  EXPECT_EQ(engine.stats().breaker_trips, 1u);
  EXPECT_NE(engine.stats().last_fallback_reason->find("not used after"), std::string::npos);
  EXPECT_FALSE(engine.is_gpu_active());
  EXPECT_EQ(engine.stats().device_type, "cpu");
  EXPECT_TRUE(f.right(engine, *weights));  // half open: fails once more
  EXPECT_EQ(f.gpu->calls, 4);
  f.gpu->always.reset();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(f.gpu->calls, 4);
  EXPECT_TRUE(f.right(engine, *weights));  // half open: works
  EXPECT_EQ(f.gpu->calls, 5);
  EXPECT_EQ(engine.stats().breaker, BreakerState::closed);
  EXPECT_TRUE(engine.is_gpu_active());
  EXPECT_EQ(engine.stats().fallback_count, 14u);
  EXPECT_EQ(engine.stats().gpu_operations, 1u);
}

steady_clock::time_point test_time;

TEST(DeviceEngine, the_breaker_tries_again_after_its_cool_down) {
  Fixture f;
  test_time = steady_clock::time_point(std::chrono::hours(100));
  EngineParts parts = f.parts();
  parts.breaker = {.errors = 1, .retry_calls = 1'000'000, .cool_down = std::chrono::seconds(30)};
  parts.now = [] { return test_time; };
  const auto engine = DeviceEngineMaker::make(std::move(parts));
  const auto weights = engine.load(f.packed);
  f.gpu->errors = {ErrorKind::device};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(f.right(engine, *weights));
  test_time += std::chrono::milliseconds(29'999);
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(f.gpu->calls, 1);
  test_time += std::chrono::milliseconds(1);
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(f.gpu->calls, 2);
  EXPECT_EQ(engine.stats().breaker, BreakerState::closed);
}

TEST(DeviceEngine, a_lost_device_is_never_tried_again) {
  Fixture f;
  EngineParts parts = f.parts();
  parts.breaker = {.errors = 1, .retry_calls = 1, .cool_down = std::chrono::milliseconds(0)};
  const auto engine = DeviceEngineMaker::make(std::move(parts));
  const auto weights = engine.load(f.packed);
  f.gpu->errors = {ErrorKind::device_lost};
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(f.right(engine, *weights));
  const std::vector<float> values(256, 0.5f);
  EXPECT_TRUE(engine.quantise(std::span<const float>(values), {1, 256}, FormatId::tq2_0));
  EXPECT_EQ(f.gpu->calls, 1);
  const auto later = engine.load(f.packed);
  ASSERT_TRUE(later);
  EXPECT_FALSE(later->on_device());
  EXPECT_EQ(f.gpu->loads, 1);
  EXPECT_TRUE(engine.stats().device_lost);
  EXPECT_EQ(engine.stats().fallback_count, 11u);
  EXPECT_NE(engine.stats().summary().find("device lost"), std::string::npos);
}

TEST(DeviceEngine, weights_that_do_not_fit_stay_on_the_cpu_with_the_reason) {
  Fixture f;
  EngineParts parts = f.parts();
  parts.memory_limit_bytes = 1000;
  const auto engine = DeviceEngineMaker::make(std::move(parts));
  const auto weights = engine.load(f.packed);
  ASSERT_TRUE(weights);
  EXPECT_FALSE(weights->on_device());
  EXPECT_EQ(f.gpu->loads, 0);
  EXPECT_NE(weights->fallback_reason().find("do not fit"), std::string::npos);
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(engine.stats().fallback_count, 1u);
  EXPECT_NE(engine.stats().last_fallback_reason->find("not on the device"), std::string::npos);
  EXPECT_EQ(engine.stats().breaker, BreakerState::closed);
}

TEST(DeviceEngine, a_product_that_does_not_fit_is_done_in_parts) {
  Fixture f;
  EngineParts parts = f.parts();
  f.gpu->memory = {100'000, 200'000};
  parts.reserve_bytes = 100'000 - 3 * 1024 - 10;
  const auto engine = DeviceEngineMaker::make(std::move(parts));
  f.gpu->memory.free_bytes += 10'000;
  const auto weights = engine.load(f.packed);
  f.gpu->memory.free_bytes -= 10'000;
  ASSERT_TRUE(weights->on_device()) << weights->fallback_reason();
  EXPECT_EQ(engine.batch_rows_that_fit(*weights), 3);
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(f.gpu->rows, (std::vector<std::int64_t>{3, 3, 1}));
  EXPECT_EQ(engine.stats().gpu_operations, 1u);
  // Also from values, to f32, with the same bits as in one call.
  std::vector<float> values(7 * 150), got(7 * 19), want(7 * 19);
  std::iota(values.begin(), values.end(), -400.0f);
  ASSERT_TRUE(engine.multiply(*weights, std::span<const float>(values), 7, std::span(got)));
  EXPECT_EQ(f.gpu->rows.size(), 6u);
  const auto quantised = Activations::quantise(std::span<const float>(values), 7, 150);
  ASSERT_TRUE(CpuEngine::create()->multiply(f.packed, *quantised, std::span(want)));
  EXPECT_EQ(got, want);
  // A bad value in the last part leaves everything as it was.
  values.back() = std::numeric_limits<float>::infinity();
  std::fill(got.begin(), got.end(), -7.0f);
  EXPECT_EQ(
      engine.multiply(*weights, std::span<const float>(values), 7, std::span(got)).error().kind,
      ErrorKind::not_finite);
  EXPECT_EQ(got, std::vector<float>(7 * 19, -7.0f));
}

// The residual is the output itself, and the device fails when it has added some of it.
TEST(DeviceEngine, what_is_added_in_place_is_added_once_whatever_fails) {
  for (const ErrorKind kind : {ErrorKind::device, ErrorKind::device_memory}) {
    for (const std::int64_t most : {7, 3}) {
      Fixture f;
      const auto engine = DeviceEngineMaker::make(f.parts());
      const auto weights = engine.load(f.packed);
      std::vector<float> bias(19, 0.75f), start(7 * 19), want(7 * 19);
      std::iota(start.begin(), start.end(), -60.0f);
      const auto bytes = [](std::vector<float>& of) {
        return std::as_writable_bytes(std::span(of));
      };
      ASSERT_TRUE(CpuEngine::create()->multiply(
          f.packed, f.rows, FloatType::f32, bytes(want),
          {std::span<const float>(bias), std::span<const float>(start)}));
      f.gpu->most_rows = most;
      f.gpu->spoil = [&](OutputView) {
        if (f.gpu->rows.size() == 1 && most < 7) f.gpu->errors = {kind};
      };
      auto out = start;
      ASSERT_TRUE(engine.multiply(*weights, f.rows, FloatType::f32, bytes(out),
                                  {std::span<const float>(bias), std::span<const float>(out)}));
      EXPECT_EQ(out, want) << to_string(kind) << ", " << most;
      EXPECT_GE(f.gpu->rows.size(), 1u);
      std::vector<std::uint16_t> halves(7 * 19, 0);
      EXPECT_EQ(
          engine
              .multiply(*weights, f.rows, FloatType::f16, std::as_writable_bytes(std::span(halves)),
                        {std::span<const float>(bias).first(18), {}})
              .error()
              .kind,
          ErrorKind::wrong_size);
      EXPECT_EQ(halves, std::vector<std::uint16_t>(7 * 19, 0));
    }
  }
}

TEST(DeviceEngine, memory_that_others_took_meanwhile_makes_the_parts_smaller) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  const auto weights = engine.load(f.packed);
  f.gpu->most_rows = 1;
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(f.gpu->rows, std::vector<std::int64_t>(7, 1));
  EXPECT_EQ(engine.stats().gpu_operations, 1u);
  EXPECT_EQ(engine.stats().fallback_count, 0u);
  f.gpu->most_rows = 0;
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(engine.stats().fallback_count, 1u);
  EXPECT_EQ(engine.stats().breaker, BreakerState::closed);
}

TEST(DeviceEngine, no_room_for_one_row_is_a_fallback) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  const auto weights = engine.load(f.packed);
  f.gpu->workspace_a_row = std::uint64_t{1} << 40;
  EXPECT_EQ(engine.batch_rows_that_fit(*weights), 0);
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(f.gpu->calls, 0);
  EXPECT_EQ(engine.stats().fallback_count, 1u);
}

TEST(DeviceEngine, memory_of_weights_is_given_back_with_the_last_copy) {
  Fixture f;
  std::optional<DeviceWeights> kept;
  {
    const auto engine = DeviceEngineMaker::make(f.parts());
    kept = *engine.load(f.packed);
    const auto copy = *kept;
    EXPECT_EQ(engine.stats().device_weights_bytes, f.packed.bytes());
    EXPECT_EQ(engine.stats().host_weights_bytes, f.packed.bytes());
    kept.reset();
    EXPECT_EQ(f.gpu->alive, 1);
    kept = copy;
  }
  EXPECT_EQ(f.gpu->alive, 1);  // the handle keeps the device open
  kept.reset();
  EXPECT_EQ(f.gpu->alive, 0);
  EXPECT_EQ(f.gpu.use_count(), 1);
}

TEST(DeviceEngine, a_forced_cpu_is_counted_as_fallback_and_can_be_taken_back) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  const auto weights = engine.load(f.packed);
  engine.force_cpu_fallback();
  EXPECT_FALSE(engine.is_gpu_active());
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(f.gpu->calls, 0);
  EXPECT_EQ(engine.stats().fallback_count, 1u);
  EXPECT_EQ(engine.stats().last_fallback_reason, "the CPU is forced by choice");
  EXPECT_EQ(engine.active_kernel(), to_string(CpuEngine::create()->tier()));
  EXPECT_EQ(engine.kernel_for(*weights, 1), engine.active_kernel());
  engine.force_cpu_fallback(false);
  EXPECT_TRUE(f.right(engine, *weights));
  EXPECT_EQ(f.gpu->calls, 1);
}

TEST(DeviceEngine, a_cpu_that_was_forced_at_creation_can_be_taken_back) {
  Fixture f;
  EngineParts parts = f.parts();
  auto gpu = std::make_shared<std::unique_ptr<Backend>>(std::move(parts.gpu));
  parts.forced = true;
  parts.open_gpu = [gpu](std::vector<std::string>& fallbacks) {
    fallbacks.emplace_back("why");
    return std::move(*gpu);
  };
  const auto engine = DeviceEngineMaker::make(std::move(parts));
  const auto before = engine.load(f.packed);
  EXPECT_FALSE(before->on_device());
  EXPECT_NE(before->fallback_reason(), "");
  EXPECT_TRUE(f.right(engine, *before));
  EXPECT_EQ(engine.stats().fallback_count, 1u);
  EXPECT_FALSE(engine.is_gpu_active());
  engine.force_cpu_fallback(false);
  EXPECT_TRUE(engine.is_gpu_active());
  EXPECT_EQ(engine.fallbacks(), std::vector<std::string>{"why"});
  EXPECT_TRUE(f.right(engine, *before));  // on the CPU still
  EXPECT_EQ(f.gpu->calls, 0);
  const auto after = engine.load(f.packed);
  EXPECT_TRUE(after->on_device());
  EXPECT_EQ(engine.kernel_for(*before, 1), to_string(CpuEngine::create()->tier()));
  EXPECT_EQ(engine.kernel_for(*after, 1), "fake-gemv");
  EXPECT_TRUE(f.right(engine, *after));
  EXPECT_EQ(f.gpu->calls, 1);
}

TEST(DeviceEngine, statistics_count_what_they_say) {
  Fixture f;
  EngineParts parts = f.parts();
  parts.breaker.errors = 1;
  const auto engine = DeviceEngineMaker::make(std::move(parts));
  const auto one = engine.load(f.packed), two = engine.load(f.packed);
  EXPECT_EQ(engine.stats().host_weights_bytes, f.packed.bytes());  // which both share
  std::vector<std::int32_t> small(3);
  EXPECT_FALSE(engine.multiply(*one, f.rows, std::span(small)));
  EXPECT_EQ(engine.stats().failed_operations, 1u);
  f.gpu->errors = {ErrorKind::device};
  EXPECT_TRUE(f.right(engine, *two));
  const std::vector<float> values(7 * 150, std::numeric_limits<float>::quiet_NaN());
  std::vector<float> out(7 * 19);
  EXPECT_FALSE(engine.multiply(*one, std::span(values), 7, std::span(out)));  // by the CPU now
  const DeviceStats stats = engine.stats();
  EXPECT_EQ(stats.breaker_trips, 1u);
  EXPECT_TRUE(stats.last_gpu_error && stats.last_cpu_error && stats.last_fallback_reason);
  engine.reset_stats();
  const DeviceStats fresh = engine.stats();
  EXPECT_EQ(fresh.breaker_trips, 0u);
  EXPECT_EQ(fresh.failed_operations, 0u);
  EXPECT_EQ(fresh.fallback_count, 0u);
  EXPECT_EQ(fresh.device_errors, 0u);
  EXPECT_EQ(fresh.cpu_operations, 0u);
  EXPECT_FALSE(fresh.last_gpu_error || fresh.last_cpu_error || fresh.last_fallback_reason);
}

// What `child` returns in forked processes must be 0; another thread works with the engine, so that
// its lock is held when fork() comes.
template <class Child>
void fork_while_busy(Fixture& f, DeviceEngine& engine, const DeviceWeights& weights, Child child) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
#if !defined(__SANITIZE_ADDRESS__)  // whose allocator does not survive that itself
    std::vector<std::int32_t> out(7 * 19);
    while (!stop) (void)engine.multiply(weights, f.rows, std::span(out));
#endif
  });
  for (int round = 0; round < 5; ++round) {
    const pid_t forked = fork();
    if (forked == 0) {
      alarm(20);
      _exit(child());
    }
    int status = 0;
    waitpid(forked, &status, 0);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

TEST(DeviceEngine, a_forked_process_gets_an_error_and_can_make_its_own) {
  Fixture f;
  std::optional<DeviceEngine> engine(DeviceEngineMaker::make(f.parts()));
  std::optional<DeviceWeights> weights(*engine->load(f.packed));
  EXPECT_TRUE(f.right(*engine, *weights));
  fork_while_busy(f, *engine, *weights, [&] {
    const auto done = engine->multiply(*weights, f.rows, std::span(f.out));
    if (done || done.error().kind != ErrorKind::unsupported) return 1;
    (void)engine->stats().summary();
    engine->reset_stats();
    if (!engine->active_kernel().empty() || engine->batch_rows_that_fit(*weights) != 0) return 2;
    weights.reset();
    engine.reset();
    EngineParts parts;
    parts.cpu = *make_cpu_backend({{}, false, 2});
    const auto own = DeviceEngineMaker::make(std::move(parts));
    const auto loaded = own.load(f.packed);
    return loaded && f.right(own, *loaded) ? 0 : 3;
  });
  EXPECT_TRUE(f.right(*engine, *weights));
}

TEST(DeviceEngine, one_without_a_gpu_works_on_in_a_forked_process) {
  Fixture f;
  EngineParts parts;
  parts.cpu = *make_cpu_backend({{}, false, 2});
  std::optional<DeviceEngine> engine(DeviceEngineMaker::make(std::move(parts)));
  std::optional<DeviceWeights> weights(*engine->load(f.packed));
  fork_while_busy(f, *engine, *weights, [&] {
    if (!f.right(*engine, *weights)) return 1;
    const auto again = engine->load(f.packed);
    if (!again || !f.right(*engine, *again)) return 2;
    std::vector<std::int32_t> small(1);
    if (engine->multiply(*weights, f.rows, std::span(small))) return 3;
    const std::vector<float> values(512, 1.0f);
    const auto codes = engine->quantise(std::span<const float>(values), {2, 256}, FormatId::tq1_0);
    if (!codes) return 4;
    weights.reset();
    engine.reset();
    return 0;
  });
}

TEST(DeviceEngine, one_whose_cpu_is_forced_from_the_beginning_works_on_in_a_forked_process) {
  Fixture f;
  EngineParts parts;
  parts.cpu = *make_cpu_backend({{}, false, 2});
  parts.forced = true;
  parts.open_gpu = [](auto&) -> std::unique_ptr<Backend> { return nullptr; };
  DeviceEngine engine = DeviceEngineMaker::make(std::move(parts));
  const DeviceWeights weights = *engine.load(f.packed);
  fork_while_busy(f, engine, weights, [&] {
    if (!f.right(engine, weights)) return 1;
    engine.force_cpu_fallback(false);  // opens nothing there
    return f.right(engine, weights) ? 0 : 2;
  });
}

TEST(DeviceEngine, a_product_in_parts_is_cancelled_between_them) {
  Fixture f;
  EngineParts parts = f.parts();
  f.gpu->memory = {100'000, 200'000};
  parts.reserve_bytes = 100'000 - 3 * 1024 - 10;
  const auto engine = DeviceEngineMaker::make(std::move(parts));
  f.gpu->memory.free_bytes += 10'000;
  const auto weights = engine.load(f.packed);
  f.gpu->memory.free_bytes -= 10'000;
  ASSERT_EQ(engine.batch_rows_that_fit(*weights), 3);
  {
    std::stop_source source;
    f.gpu->spoil = [&](auto) { source.request_stop(); };
    const StopScope scope(source.get_token());
    const auto done = engine.multiply(*weights, f.rows, std::span(f.out));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::cancelled);
    EXPECT_EQ(engine.multiply(*weights, f.rows, std::span(f.out)).error().kind,
              ErrorKind::cancelled);
  }
  EXPECT_EQ(f.gpu->rows, std::vector<std::int64_t>{3});
  const DeviceStats stats = engine.stats();
  EXPECT_EQ(stats.cpu_operations + stats.fallback_count + stats.device_errors, 0u);
  EXPECT_EQ(stats.failed_operations, 2u);
  f.gpu->spoil = [](auto) {};
  EXPECT_TRUE(f.right(engine, *weights));
}

TEST(DeviceEngine, products_are_counted_by_kernel) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  const auto weights = engine.load(f.packed);
  EXPECT_TRUE(engine.stats().kernels.empty());
  const auto one_row = *Activations::from_int8(std::span(f.problem.y).first(150), 1, 150);
  ASSERT_TRUE(engine.multiply(*weights, one_row, std::span(f.out).first(19)));
  ASSERT_TRUE(f.right(engine, *weights));
  ASSERT_TRUE(f.right(engine, *weights));
  engine.force_cpu_fallback();
  ASSERT_TRUE(f.right(engine, *weights));
  EXPECT_FALSE(engine.multiply(*weights, one_row, std::span(f.out)));
  const DeviceStats stats = engine.stats();
  const std::string tier(to_string(CpuEngine::create({{}, false, 1})->tier()));
  double ms = 0;
  std::vector<std::pair<std::string, std::uint64_t>> calls;
  for (const KernelStats& kernel : stats.kernels) {
    calls.emplace_back(kernel.kernel, kernel.calls);
    EXPECT_GT(kernel.time_ms, 0);
    ms += kernel.time_ms;
  }
  EXPECT_EQ(calls, (std::vector<std::pair<std::string, std::uint64_t>>{
                       {"fake-gemv", 1}, {"fake-gemm", 2}, {tier, 1}}));
  EXPECT_NEAR(ms, stats.matmul_time_ms, 1e-9 * ms);
  engine.reset_stats();
  EXPECT_TRUE(engine.stats().kernels.empty());
}

TEST(DeviceEngine, names_the_kernel_of_weights_with_scales_by_group) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  const std::vector<float> scales(19 * 5, 0.5f);
  const auto grouped = engine.load(*PackedWeights::pack(f.problem.weights.values, {19, 150},
                                                        {std::span<const float>(scales), 32}));
  const auto plain = engine.load(f.packed);
  ASSERT_TRUE(grouped && plain);
  EXPECT_EQ(engine.kernel_for(*grouped, 1), "fake-grouped");
  EXPECT_EQ(engine.kernel_for(*plain, 1), "fake-gemv");
  EXPECT_EQ(engine.kernel_for(*plain, 2), "fake-gemm");
  engine.force_cpu_fallback();
  const std::string tier(to_string(CpuEngine::create({{}, false, 1})->tier()));
  EXPECT_EQ(engine.kernel_for(*grouped, 1), tier);
  EXPECT_EQ(engine.kernel_for(*plain, 1), tier);
}

TEST(DeviceStats, are_summarised_in_one_line) {
  DeviceStats stats;
  stats.device_type = "cpu";
  stats.device_name = "EPYC";
  stats.target_device = {TargetKind::automatic, ""};
  const std::string fresh = "cpu (EPYC, asked for auto): 0 operations, 0 fallbacks";
  EXPECT_EQ(stats.summary(), fresh);
  const auto with = [&](auto&& change) {
    DeviceStats changed = stats;
    change(changed);
    return changed.summary();
  };
  EXPECT_EQ(with([](DeviceStats& s) { s.failed_operations = 1; }), fresh + ", 1 failed");
  EXPECT_EQ(with([](DeviceStats& s) { s.breaker = BreakerState::open; }), fresh + ", breaker open");
  EXPECT_EQ(with([](DeviceStats& s) { s.breaker = BreakerState::half_open; }),
            fresh + ", breaker half-open");
  EXPECT_EQ(with([](DeviceStats& s) {
              s.breaker = BreakerState::open;
              s.device_lost = true;
            }),
            fresh + ", device lost");
  EXPECT_EQ(with([](DeviceStats& s) { s.device_memory_total_bytes = GiB; }), fresh);
  EXPECT_EQ(with([](DeviceStats& s) { s.device_memory_used_bytes = GiB; }), fresh);
  EXPECT_EQ(with([](DeviceStats& s) { s.memory_used_bytes = GiB; }), fresh);
  EXPECT_EQ(with([](DeviceStats& s) { s.memory_used_bytes = 0, s.memory_total_bytes = 0; }), fresh);
  EXPECT_EQ(with([](DeviceStats& s) {
              s.device_type = "cuda";
              s.device_name = "NVIDIA H200";
              s.target_device = {TargetKind::cuda, "0"};
              s.total_operations = 4;
              s.quantization_operations = 1;
              s.quantization_time_ms = 3;
              s.matmul_operations = 3;
              s.matmul_time_ms = 6;
              s.gpu_efficiency = 0.75;
              s.fallback_count = 1;
              s.device_memory_used_bytes = GiB;
              s.device_memory_total_bytes = 4 * GiB;
              s.memory_used_bytes = 2 * GiB;
              s.memory_total_bytes = 8 * GiB;
            }),
            "cuda (NVIDIA H200, asked for cuda:0): 4 operations, 1 quantization of 3.0 ms on "
            "average, 3 products of 2.0 ms on average, GPU efficiency 75.0%, 1 fallback, device "
            "memory 1 GiB of 4 GiB, host memory 2 GiB of 8 GiB (25.0%)");
}

TEST(DeviceStats, name_the_breakers_states) {
  EXPECT_EQ(to_string(BreakerState::closed), "closed");
  EXPECT_EQ(to_string(BreakerState::open), "open");
  EXPECT_EQ(to_string(BreakerState::half_open), "half-open");
  EXPECT_EQ(to_string(static_cast<BreakerState>(3)), "unknown");
}

TEST(DeviceStats, are_of_an_effective_gpu_above_four_fifths) {
  DeviceStats stats;
  EXPECT_FALSE(stats.is_gpu_effective());
  stats.gpu_efficiency = 0.8;
  EXPECT_FALSE(stats.is_gpu_effective());
  stats.gpu_efficiency = 0.81;
  EXPECT_TRUE(stats.is_gpu_effective());
}

TEST(DeviceEngine, quantises_on_the_device_to_the_same_bytes) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  std::vector<float> values(512);
  std::iota(values.begin(), values.end(), -200.0f);
  const auto want = quantise(std::span<const float>(values), {2, 256}, FormatId::tq1_0);
  f.gpu->errors = {ErrorKind::unsupported_tier};
  for (int i = 0; i < 2; ++i) {
    const auto got = engine.quantise(std::span<const float>(values), {2, 256}, FormatId::tq1_0);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->bytes, want->bytes);
  }
  const DeviceStats stats = engine.stats();
  EXPECT_EQ(stats.quantization_operations, 2u);
  EXPECT_EQ(stats.gpu_operations, 1u);
  EXPECT_EQ(stats.fallback_count, 1u);
  EXPECT_TRUE(stats.avg_quantization_time_ms());
  EXPECT_FALSE(stats.avg_matmul_time_ms());
}

TEST(DeviceEngine, statistics_are_real_and_can_be_reset) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  EXPECT_FALSE(engine.stats().gpu_efficiency);
  EXPECT_FALSE(engine.stats().is_gpu_effective());
  const auto weights = engine.load(f.packed);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(f.right(engine, *weights));
  const DeviceStats stats = engine.stats();
  EXPECT_GT(stats.matmul_time_ms, 0);
  EXPECT_DOUBLE_EQ(*stats.avg_matmul_time_ms(), stats.matmul_time_ms / 3);
  EXPECT_DOUBLE_EQ(stats.total_time_ms, stats.matmul_time_ms);
  ASSERT_TRUE(stats.memory_used_bytes && stats.memory_total_bytes);
  EXPECT_GT(*stats.memory_used_bytes, 0u);
  EXPECT_GT(*stats.memory_total_bytes, *stats.memory_used_bytes);
  const std::string summary = stats.summary();
  for (const char* part :
       {"cuda", "3 products", "GPU efficiency 100", "0 fallbacks", "host memory", "%"})
    EXPECT_NE(summary.find(part), std::string::npos) << part << ": " << summary;
  engine.reset_stats();
  EXPECT_EQ(engine.stats().total_operations, 0u);
  EXPECT_EQ(engine.stats().total_time_ms, 0);
}

TEST(DeviceEngine, many_threads_get_right_products_and_every_call_is_counted) {
  Fixture f;
  const auto engine = DeviceEngineMaker::make(f.parts());
  const auto weights = *engine.load(f.packed);
  f.gpu->errors.assign(9, ErrorKind::device);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const DeviceWeights mine = weights;
      std::vector<std::int32_t> out(7 * 19);
      for (int i = 0; i < 200; ++i) {
        if (!engine.multiply(mine, f.rows, std::span(out)) ||
            !std::equal(out.begin(), out.end(), f.problem.sums.begin()))
          ++wrong;
        if (i % 50 == 0) (void)engine.stats();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(engine.stats().total_operations, 800u);
}

TEST(DeviceEngine, without_a_gpu_nothing_is_a_fallback_unless_one_was_demanded) {
  Fixture f;
  for (const auto kind : {TargetKind::automatic, TargetKind::cpu, TargetKind::cuda}) {
    EngineParts parts = f.parts();
    parts.gpu = nullptr;
    parts.target.kind = kind;
    const auto engine = DeviceEngineMaker::make(std::move(parts));
    const auto weights = engine.load(f.packed);
    EXPECT_TRUE(f.right(engine, *weights));
    EXPECT_EQ(engine.stats().fallback_count, kind == TargetKind::cuda ? 1u : 0u);
    EXPECT_EQ(engine.batch_rows_that_fit(*weights), std::numeric_limits<std::int64_t>::max());
    EXPECT_FALSE(engine.stats().device_memory_total_bytes);
  }
}

// What is faked executes nothing, so this is the same on every machine.
TEST(DeviceEngine, a_gpu_that_is_faked_is_no_gpu) {
  ASSERT_EQ(setenv("GPUREADY_FAKE", "cuda", 1), 0);
  DeviceOptions options;
  options.target = Target{TargetKind::cuda, {}};
  options.cpu = {{}, false, 1};
  const auto engine = DeviceEngine::create(options);
  options.strict = true;
  const auto strict = DeviceEngine::create(options);
  options.target = Target{};
  const auto automatic = DeviceEngine::create(options);
  unsetenv("GPUREADY_FAKE");
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->device_id(), "cpu");
  ASSERT_FALSE(engine->fallbacks().empty());
  EXPECT_NE(engine->fallbacks()[0].find("GPUREADY_FAKE"), std::string::npos);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().kind, ErrorKind::no_device);
  ASSERT_TRUE(automatic);
  EXPECT_EQ(automatic->device_id(), "cpu");
}

TEST(DeviceEngine, a_forced_cpu_asks_no_driver) {
  DeviceOptions options;
  options.force_cpu_fallback = true;
  options.cpu = {{}, false, 1};
  const auto engine = DeviceEngine::create(options);
  ASSERT_TRUE(engine);
  EXPECT_FALSE(engine->is_gpu_active());
  EXPECT_EQ(engine->stats().device_type, "cpu");
}

TEST(DeviceEngine, tells_that_a_tier_of_the_cpu_is_not_to_be_had) {
  DeviceOptions options;
  options.target = Target{TargetKind::cpu, {}};
#if defined(__x86_64__)
  options.cpu.tier = Tier::neon;
#else
  options.cpu.tier = Tier::avx2;
#endif
  const auto engine = DeviceEngine::create(options);
  ASSERT_TRUE(engine);
  ASSERT_EQ(engine->fallbacks().size(), 1u);
  EXPECT_NE(engine->fallbacks()[0].find("another architecture"), std::string::npos);
}

}  // namespace

}  // namespace gpuready::ternary
