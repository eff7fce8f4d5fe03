#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/statistics.h"
#include "base/text.h"
#include "ternary/cpu/tiers.h"
#include "ternary/packed.h"
#include "ternary/suite/bench.h"
#include "ternary/suite/verify_problems.h"
#include "ternary/workers.h"

namespace gpuready::ternary {
namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::atomic<std::uint64_t> sink;

// As fast as loads can be asked for without other work: wide ones, with a distance of prefetch that
// suits most.
#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
void read_words(const std::uint64_t* words, std::size_t count, std::size_t ahead) {
  typedef std::uint64_t Wide __attribute__((vector_size(32), aligned(8)));
  Wide sums[4] = {};
  for (std::size_t i = 0; i + 16 <= count; i += 16) {
    __builtin_prefetch(words + i + ahead);
    __builtin_prefetch(words + i + ahead + 8);
    for (std::size_t j = 0; j < 4; ++j)
      sums[j] ^= *reinterpret_cast<const Wide*>(words + i + 4 * j);
  }
  std::uint64_t all = 0;
  for (const Wide& sum : sums) all ^= sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
  sink.fetch_xor(all, std::memory_order_relaxed);
}

void read_plainly(const std::uint64_t* words, std::size_t count) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all ^= words[i];
  sink.fetch_xor(all, std::memory_order_relaxed);
}

bool wide_loads() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

struct Candidate {
  BenchRow row;
  std::function<bool()> run;
  std::vector<double> us;
};

// Interleaved, so that all candidates see the same neighbours and clocks.
void measure(std::vector<Candidate>& candidates, const BenchOptions& options) {
  for (Candidate& candidate : candidates)
    if (!candidate.run()) candidate.row.status = CheckStatus::failed;
  const auto start = Clock::now();
  const double budget_us = options.budget_s * 1e6 * static_cast<double>(candidates.size());
  for (int round = 0; round < 3 || us_since(start) < budget_us; ++round) {
    if (options.stopped()) return;
    for (Candidate& candidate : candidates) {
      if (candidate.row.status == CheckStatus::failed) continue;
      // Some in a row: the first finds what the candidate before has left in the caches.
      const auto turn = Clock::now();
      for (int i = 0; i < 32 && (i < 2 || us_since(turn) < 2000); ++i) {
        const auto one = Clock::now();
        if (!candidate.run()) candidate.row.status = CheckStatus::failed;
        candidate.us.push_back(us_since(one));
      }
    }
  }
  for (Candidate& candidate : candidates) {
    if (candidate.row.status == CheckStatus::failed) continue;
    const auto& us = candidate.us;
    candidate.row.status = CheckStatus::passed;
    candidate.row.least_us = std::ranges::min(us);
    candidate.row.median_us = median(us);
    candidate.row.samples = us.size();
  }
}

}  // namespace

std::optional<BenchShape> parse_bench_shape(std::string_view text) {
  const auto parts = split(text, "x*");
  const auto separators = static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return c == 'x' || c == '*'; }));
  if (parts.size() < 2 || parts.size() > 3 || separators != parts.size() - 1) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : parts) {
    const auto number = parse_int(part);
    if (!number || *number < 1 || *number > 1 << 22) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() == 2) numbers.insert(numbers.begin(), 1);
  return BenchShape{numbers[0], numbers[1], numbers[2]};
}

double BenchRow::operations_per_s() const {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k) / least_us * 1e6;
}

std::optional<double> BenchRow::read_share() const {
  if (!read_bytes_per_s || *read_bytes_per_s <= 0) return std::nullopt;
  return bytes_per_s() / *read_bytes_per_s;
}

std::span<const BenchShape> default_bench_shapes() {
  // Layers of BitNet b1.58 2B, and one of a 70B model: beyond most caches.
  static constexpr BenchShape kShapes[] = {
      {1, 2560, 2560}, {1, 13824, 2560}, {1, 28672, 8192}, {512, 2560, 2560}};
  return kShapes;
}

std::vector<BenchRow> bench_cpu(std::span<const Tier> wanted, const BenchOptions& options) {
  std::vector<BenchRow> rows;
  const unsigned threads = options.threads > 0 ? options.threads : usable_cpus();
  std::vector<CpuEngine> engines;
  for (const TierStatus& status : tiers()) {
    const bool named = std::find(wanted.begin(), wanted.end(), status.tier) != wanted.end();
    if (wanted.empty() ? !status.available || status.tier == Tier::scalar : !named) continue;
    EngineOptions engine_options;
    engine_options.tier = status.tier;
    engine_options.strict = true;
    engine_options.threads = threads;
    auto engine = CpuEngine::create(engine_options);
    if (engine) {
      engines.push_back(std::move(*engine));
      continue;
    }
    BenchRow row;
    row.subject = "cpu/" + std::string(to_string(status.tier));
    row.reason = engine.error().message;
    rows.push_back(std::move(row));
  }
  if (engines.empty()) return rows;
  Workers workers(threads);
  const auto shapes =
      options.shapes.empty() ? default_bench_shapes() : std::span<const BenchShape>(options.shapes);
  for (const BenchShape& shape : shapes) {
    if (options.stopped()) {
      for (const CpuEngine& engine : engines) {
        BenchRow row;
        row.subject = "cpu/" + std::string(to_string(engine.tier()));
        row.shape = shape;
        row.reason = kInterrupted;
        rows.push_back(std::move(row));
      }
      continue;
    }
    options.progress("M " + std::to_string(shape.m) + ", N " + std::to_string(shape.n) + ", K " +
                     std::to_string(shape.k));
    Numbers numbers(3);
    Codes codes;
    codes.shape = {shape.n, shape.k};
    codes.scales = {1.0f};
    codes.values.resize(static_cast<std::size_t>(shape.n * shape.k));
    for (std::int8_t& code : codes.values) code = static_cast<std::int8_t>(numbers.between(-1, 1));
    std::vector<std::int8_t> y(static_cast<std::size_t>(shape.m * shape.k));
    for (std::int8_t& q : y) q = static_cast<std::int8_t>(numbers.between(-127, 127));
    const auto activations = Activations::from_int8(y, shape.m, shape.k);
    std::vector<PackedWeights> packed;
    for (const Form form : {Form::two_bit, Form::three_trits})
      if (auto weights = PackedWeights::pack(codes, form)) packed.push_back(std::move(*weights));
    std::vector<float> out(static_cast<std::size_t>(shape.m * shape.n));
    std::vector<Candidate> candidates;
    for (const CpuEngine& engine : engines)
      for (const PackedWeights& weights : packed) {
        Candidate candidate;
        candidate.row.subject = "cpu/" + std::string(to_string(engine.tier()));
        candidate.row.device = "CPU, " + std::to_string(engine.threads()) + " threads";
        candidate.row.kernel = to_string(engine.tier());
        candidate.row.form = to_string(weights.form());
        candidate.row.shape = shape;
        candidate.row.weight_bytes = weights.bytes();
        candidate.run = [&] {
          return engine.multiply(weights, *activations, std::span(out)).has_value();
        };
        candidates.push_back(std::move(candidate));
      }
    const std::size_t words = packed.empty() ? 0 : packed.front().bytes() / 8;
    const AlignedArray<std::uint64_t> plain(
        static_cast<std::uint64_t*>(allocate_aligned(words * 8)));
    const std::size_t products = candidates.size();
    for (const std::size_t ahead : {128, 512, 1024}) {
      Candidate reading;
      reading.run = [&, ahead] {
        const bool wide = wide_loads();
        const std::size_t most = words * 8 / 16384 + 1;  // as few threads as a product takes
        const auto parts = static_cast<unsigned>(std::min<std::size_t>(workers.count(), most));
        workers.run(parts, [&](unsigned part) {
          const std::size_t begin = words * part / parts, end = words * (part + 1) / parts;
          if (wide)
            read_words(plain.get() + begin, end - begin, ahead);
          else
            read_plainly(plain.get() + begin, end - begin);
        });
        return true;
      };
      candidates.push_back(std::move(reading));
    }
    measure(candidates, options);
    double least_us = HUGE_VAL;
    for (std::size_t i = products; i < candidates.size(); ++i)
      if (candidates[i].row.samples > 0) least_us = std::min(least_us, candidates[i].row.least_us);
    for (std::size_t i = 0; i < products; ++i) {
      if (std::isfinite(least_us))
        candidates[i].row.read_bytes_per_s = static_cast<double>(words * 8) / least_us * 1e6;
      if (candidates[i].row.status == CheckStatus::failed)
        candidates[i].row.reason = "the product failed";
      if (candidates[i].row.status == CheckStatus::not_tested)
        candidates[i].row.reason = kInterrupted;
      rows.push_back(std::move(candidates[i].row));
    }
  }
  return rows;
}

}  // namespace gpuready::ternary
