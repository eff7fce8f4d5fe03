// The ternary library in a program that treats it badly: many threads on one engine, rounding modes
// and flush to zero, memory that runs out anywhere, and fork(). A program of its own, so that it
// can be built with ThreadSanitizer and run under qemu-user.
//   ternary_surroundings [threads] [rounding] [memory] [fork]      (all, where none is named)
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "reference.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace {

std::atomic<long> allocations_left{-1};  // until one fails; below zero: none does

void* allocate(std::size_t bytes) {
  if (allocations_left.load(std::memory_order_relaxed) >= 0 &&
      allocations_left.fetch_sub(1, std::memory_order_relaxed) == 0)
    throw std::bad_alloc();
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace gpuready::ternary;
using reference::Fill;

int failures = 0;

void expect(bool good, const std::string& what) {
  if (good) return;
  ++failures;
  std::printf("  WRONG: %s\n", what.c_str());
}

struct Product {
  reference::Problem problem;
  PackedWeights weights;
  Activations y;
};

Product product(std::int64_t m, std::int64_t n, std::int64_t k, unsigned seed) {
  auto problem = reference::make(m, n, k, Fill::random, seed);
  auto weights = PackedWeights::pack(problem.weights);
  auto y = Activations::from_int8(problem.y, m, k, problem.steps);
  return {std::move(problem), std::move(*weights), std::move(*y)};
}

struct GroupedProduct {
  reference::GroupedProblem problem;
  PackedWeights weights;
  Activations y;
};

Result<PackedWeights> pack(const reference::GroupedProblem& p, unsigned threads) {
  return PackedWeights::pack(p.plain.weights.values, {p.plain.n, p.plain.k},
                             {std::span<const float>(p.scales), p.group}, Form::two_bit, threads);
}

// Scales and steps whose terms and results are subnormal, beside others.
GroupedProduct grouped(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t group,
                       unsigned seed, float step) {
  auto problem = reference::make_grouped(m, n, k, group, Fill::random, seed);
  for (std::size_t i = 0; i < problem.scales.size(); i += 5) problem.scales[i] = 0x1.5p-133f;
  for (float& s : problem.plain.steps) s *= step;
  problem.multiply();
  auto weights = pack(problem, 1);
  auto y = Activations::from_int8(problem.plain.y, m, k, problem.plain.steps);
  return {std::move(problem), std::move(*weights), std::move(*y)};
}

// ---- Threads ------------------------------------------------------------------------------------

void threads() {
  const auto engine = CpuEngine::create({.tier = {}, .strict = false, .threads = 3});
  std::vector<Product> products;
  products.push_back(product(1, 640, 1024, 1));
  products.push_back(product(40, 96, 300, 2));
  products.push_back(product(3, 512, 777, 3));
  const GroupedProduct by_group[] = {grouped(1, 640, 1024, 256, 4, 1),
                                     grouped(9, 96, 300, 32, 5, 1)};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 8; ++caller)
    callers.emplace_back([&, caller] {
      for (unsigned round = 0; round < 60; ++round) {
        const Product& p = products[(caller + round) % products.size()];
        std::vector<std::int32_t> out(static_cast<std::size_t>(p.problem.m * p.problem.n));
        if (!engine->multiply(p.weights, p.y, out) ||
            !std::equal(out.begin(), out.end(), p.problem.sums.begin()))
          ++wrong;
        const GroupedProduct& g = by_group[(caller + round) % 2];
        std::vector<float> values(g.problem.values.size());
        if (!engine->multiply(g.weights, g.y, std::span(values)) || values != g.problem.values)
          ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  expect(wrong == 0, std::to_string(wrong) + " of 960 products by 8 threads on one engine");
}

// ---- Rounding -----------------------------------------------------------------------------------

struct Mode {
  const char* name;
  int rounding;
  bool flush, trap;
};
constexpr Mode kModes[] = {
    {"up", FE_UPWARD, false, false},          {"down", FE_DOWNWARD, false, false},
    {"to zero", FE_TOWARDZERO, false, false}, {"flush to zero", FE_TONEAREST, true, false},
    {"up, flushed", FE_UPWARD, true, false},
#if defined(__x86_64__)
    {"traps", FE_TONEAREST, false, true},
#endif
};

std::uint64_t control() {
#if defined(__x86_64__)
  return _mm_getcsr() & ~0x3Fu;  // but for the records of what happened
#elif defined(__aarch64__)
  std::uint64_t value;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
#endif
}

void set(const Mode& mode) {
  std::fesetround(mode.rounding);
#if defined(__x86_64__)
  unsigned value = _mm_getcsr() & ~0x3Fu;
  if (mode.flush) value |= 0x8040;
  if (mode.trap) value &= ~0x1F80u;
  _mm_setcsr(value);
#elif defined(__aarch64__)
  if (mode.flush) {
    const std::uint64_t value = control() | std::uint64_t{1} << 24;
    __asm__ volatile("msr fpcr, %0" : : "r"(value));
  }
#endif
}

struct Inputs {
  std::vector<float> values;  // of every magnitude
  std::vector<std::uint16_t> halves;
  std::vector<Product> products;
  std::vector<GroupedProduct> by_group;
};

class Digest {
 public:
  template <class T>
  void add(std::span<const T> values) {
    for (const std::byte byte : std::as_bytes(values))
      hash_ = (hash_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3u;
  }
  std::uint64_t get() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325u;
};

// All that computes with floating point, by one tier.
std::uint64_t everything(const Inputs& in, Tier tier) {
  Digest digest;
  const Shape shape{16, static_cast<std::int64_t>(in.values.size() / 16)};
  const std::span<const float> f32(in.values);
  const auto halves = std::as_bytes(std::span<const std::uint16_t>(in.halves));
  const FloatView views[] = {f32, {FloatType::f16, halves}, {FloatType::bf16, halves}};
  for (const FloatView& view : views) {
    for (const Format& f : formats())
      for (const Rule rule : {Rule::of_format, Rule::absmean}) {
        QuantiseOptions options;
        options.rule = rule;
        options.encode.round_scales = true;
        options.encode.threads = 2;
        const auto made = quantise(view, shape, f.id, options);
        if (!made) continue;
        digest.add(std::span<const std::uint8_t>(made->bytes));
        digest.add(std::span<const float>(made->scales));
        if (const auto back = dequantise(*made)) digest.add(std::span<const float>(*back));
        if (const auto tq = convert(*made, FormatId::tq2_0, {{}, true, 2}))
          digest.add(std::span<const std::uint8_t>(tq->bytes));
      }
    if (const auto y = Activations::quantise(view, shape.rows, shape.cols)) {
      digest.add(y->steps());
      for (std::int64_t row = 0; row < y->rows(); ++row) digest.add(y->row(row));
    }
  }
  // Made here, so that its threads begin with the mode as well.
  const auto engine = CpuEngine::create({tier, true, 3});
  if (!engine) return 0;
  for (const Product& p : in.products) {
    std::vector<float> out(static_cast<std::size_t>(p.problem.m * p.problem.n));
    std::vector<std::uint16_t> bf16(out.size());
    if (engine->multiply(p.weights, p.y, out)) digest.add(std::span<const float>(out));
    if (engine->multiply_bf16(p.weights, p.y, bf16))
      digest.add(std::span<const std::uint16_t>(bf16));
  }
  for (const GroupedProduct& p : in.by_group) {
    if (const auto again = pack(p.problem, 2))
      digest.add(std::span<const float>(again->group_scales()));
    std::vector<float> out(p.problem.values.size());
    std::vector<std::uint16_t> bf16(out.size());
    if (engine->multiply(p.weights, p.y, out)) digest.add(std::span<const float>(out));
    if (engine->multiply_bf16(p.weights, p.y, bf16))
      digest.add(std::span<const std::uint16_t>(bf16));
  }
  return digest.get();
}

void rounding() {
  Inputs in;
  std::mt19937 random(7);
  for (int i = 0; i < 16 * 512; ++i) {
    // Also subnormals, only in some rows.
    const int exponent = i / 512 % 4 == 3 ? -149 + static_cast<int>(random() % 30)
                                          : static_cast<int>(random() % 12) - 8;
    in.values.push_back(std::ldexp(static_cast<float>(random() % 20001) * 1e-4f - 1, exponent));
    in.halves.push_back(static_cast<std::uint16_t>((random() & 0x8000) | random() % 0x3C00));
  }
  in.products.push_back(product(1, 320, 999, 11));
  in.products.push_back(product(37, 70, 500, 12));
  // Products whose results are subnormal.
  auto small = reference::make(5, 48, 200, Fill::random, 13);
  for (float& step : small.steps) step = 0x1p-100f;
  small.weights.scales[0] = 0x1.5p-42f;
  auto packed = PackedWeights::pack(small.weights);
  auto y = Activations::from_int8(small.y, small.m, small.k, small.steps);
  in.products.push_back({std::move(small), std::move(*packed), std::move(*y)});
  for (const float step : {1.0f, 0x1p-120f}) {
    in.by_group.push_back(grouped(1, 320, 999, 64, 14, step));
    in.by_group.push_back(grouped(37, 70, 500, 256, 15, step));
  }
  for (const TierStatus& status : tiers()) {
    if (!status.available) continue;
    const std::uint64_t right = everything(in, status.tier);
    for (const Mode& mode : kModes) {
      std::fenv_t before;
      std::fegetenv(&before);
      set(mode);
      const std::uint64_t at_call = control();
      const std::uint64_t got = everything(in, status.tier);
      const std::uint64_t after = control();
      std::fesetenv(&before);
      const std::string where = std::string(to_string(status.tier)) + ", " + mode.name;
      expect(got == right, where + ": other bits");
      expect(after == at_call, where + ": the caller's mode was changed");
    }
  }
}

// ---- Memory -------------------------------------------------------------------------------------

// `call` with one allocation after the other failing, until none is left to fail.
template <class Call>
void walk(const char* name, Call call) {
  for (long n = 0; n < 5000; ++n) {
    allocations_left = n;
    auto result = call();
    const bool failed = allocations_left.exchange(-1) < 0;
    if (!failed) {
      expect(result.has_value(), std::string(name) + " fails with all memory");
      return;
    }
    if (result) continue;  // it did without: fewer threads
    if (result.error().kind != gpuready::ErrorKind::too_large) {
      expect(false, std::string(name) + ", allocation " + std::to_string(n) + ": " +
                        result.error().message);
      return;
    }
  }
  expect(false, std::string(name) + " never succeeds");
}

void memory() {
  const std::vector<float> values(std::size_t{256} * 8192, 0.5f);
  const Shape shape{256, 8192};
  const FloatView view{std::span<const float>(values)};
  QuantiseOptions options;
  options.encode.threads = 4;
  walk("quantise i2_s", [&] { return quantise(view, shape, FormatId::i2s_x86, options); });
  walk("quantise tq2_0", [&] { return quantise(view, shape, FormatId::tq2_0, options); });
  walk("quantise tq1_0", [&] { return quantise(view, shape, FormatId::tq1_0, options); });
  const auto encoded = quantise(view, shape, FormatId::i2s_x86, options);
  const auto blocks = quantise(view, shape, FormatId::i2s_bitnet_rs, options);
  walk("decode", [&] { return decode(*encoded, 4); });
  walk("convert", [&] { return convert(*encoded, FormatId::tq1_0, {{}, true, 4}); });
  walk("pack encoded", [&] { return PackedWeights::pack(*encoded, Form::two_bit, 4); });
  walk("pack by way of codes", [&] { return PackedWeights::pack(*blocks, Form::three_trits, 4); });
  walk("dequantise", [&] { return dequantise(*encoded); });
  walk("activations", [&] { return Activations::quantise(view, 256, 8192); });
  walk("an engine", [&] { return CpuEngine::create({{}, false, 4}); });
  const auto engine = CpuEngine::create({{}, false, 4});
  for (const std::int64_t m : {1, 40}) {
    const Product p = product(m, 640, 1024, 5);
    std::vector<float> out(static_cast<std::size_t>(m * 640));
    walk("a product", [&] { return engine->multiply(p.weights, p.y, std::span<float>(out)); });
    const GroupedProduct g = grouped(m, 640, 1024, 128, 6, 1);
    walk("packing by group", [&] { return pack(g.problem, 4); });
    walk("a product by group",
         [&] { return engine->multiply(g.weights, g.y, std::span<float>(out)); });
  }
}

// ---- fork() -------------------------------------------------------------------------------------

// What a forked process comes to within 20 s: 0 when everything is right.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void forks() {
  std::optional<CpuEngine> engine(std::move(*CpuEngine::create({{}, false, 4})));
  const Product one = product(1, 640, 1024, 21), many = product(40, 300, 500, 22);
  const auto right = [&](const CpuEngine& by, const Product& p) {
    std::vector<std::int32_t> out(static_cast<std::size_t>(p.problem.m * p.problem.n));
    return by.multiply(p.weights, p.y, out) &&
           std::equal(out.begin(), out.end(), p.problem.sums.begin());
  };
  std::atomic<bool> stop{false};
  std::thread busy([&] {            // so that threads work and locks are held whenever fork() comes
#if !defined(__SANITIZE_ADDRESS__)  // whose allocator does not survive that itself
    while (!stop) (void)right(*engine, many);
#endif
  });
  for (int round = 0; round < 12 && failures == 0; ++round) {
    const int status = in_child([&] {
      if (!right(*engine, one) || !right(*engine, many)) return false;
      std::thread other([&] { (void)right(*engine, many); });
      const bool good = right(*engine, many);
      other.join();
      engine.reset();
      const auto made = CpuEngine::create({{}, false, 3});
      return good && made && right(*made, one) && right(*made, many);
    });
    expect(status == 0, "a forked process ends with status " + std::to_string(status));
  }
  stop = true;
  busy.join();
  expect(right(*engine, many), "the parent's engine after fork()");
}

}  // namespace

int main(int argc, char** argv) {
  struct Part {
    const char* name;
    void (*run)();
  };
  for (const Part& part :
       {Part{"threads", threads}, {"rounding", rounding}, {"memory", memory}, {"fork", forks}}) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted |= std::strcmp(argv[i], part.name) == 0;
    if (!wanted) continue;
    const int before = failures;
    part.run();
    std::printf("%-10s %s\n", part.name, failures == before ? "held" : "WRONG");
    std::fflush(stdout);
  }
  return failures == 0 ? 0 : 1;
}
