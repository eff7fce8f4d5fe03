// Quantising and packing ternary weights, against the machine's read bandwidth in the same run.
//   bench_ternary_weights [--threads N]... [--rows N] [--cols K] [--budget SECONDS]
// Times are the least of interleaved repetitions over arrays much larger than the caches. "GB/s" is
// of the bytes that must be moved: inputs as often as they must be read, and outputs once.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "gpuready/ternary.h"
#include "ternary/packed.h"
#include "ternary/share.h"
#include "ternary/workers.h"

namespace {

using namespace gpuready::ternary;
using Clock = std::chrono::steady_clock;

struct Candidate {
  std::string name;
  double bytes;  // moved
  std::function<void()> run;
  double best = 1e9;  // s
};

volatile std::uint64_t sink;

#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
void read_bytes(const std::byte* bytes, std::size_t count) {
  typedef std::uint64_t Wide __attribute__((vector_size(32), aligned(1)));
  Wide sums[4] = {};
  for (std::size_t i = 0; i + 128 <= count; i += 128) {
    __builtin_prefetch(bytes + i + 4096);
    __builtin_prefetch(bytes + i + 4096 + 64);
    for (std::size_t j = 0; j < 4; ++j) {
      sums[j] |= *reinterpret_cast<const Wide*>(bytes + i + 32 * j);
    }
  }
  for (const Wide& sum : sums) sink = sink + (sum[0] | sum[1] | sum[2] | sum[3]);
}

void run(Shape shape, unsigned threads, double budget_s) {
  const std::size_t count = static_cast<std::size_t>(shape.rows * shape.cols);
  AlignedArray<float> values(static_cast<float*>(allocate_aligned(4 * count, false)));
  AlignedArray<std::uint16_t> halves(
      static_cast<std::uint16_t*>(allocate_aligned(2 * count, false)));
  share(count, 1 << 20, threads, [&](std::size_t begin, std::size_t end) {
    std::minstd_rand random(static_cast<unsigned>(begin + 1));
    for (std::size_t i = begin; i < end; ++i) {
      values[i] = (static_cast<float>(random() % 20001) - 10000.0f) * 3e-6f;
      if (i % 3 == 0) values[i] = 0;
      std::uint32_t bits;
      std::memcpy(&bits, &values[i], 4);
      halves[i] = static_cast<std::uint16_t>(bits >> 16 & 0xBFFF);  // finite as f16 too
    }
  });
  const std::span all(values.get(), count);
  const std::span<const std::byte> words = std::as_bytes(std::span(halves.get(), count));
  std::vector<std::uint8_t> bytes(*encoded_bytes(FormatId::i2s_x86, shape));
  QuantiseOptions sign, absmean;
  sign.encode.threads = absmean.encode.threads = threads;
  absmean.rule = Rule::absmean;
  const auto encoded = quantise(FloatView(all), shape, FormatId::i2s_x86, sign);
  const auto codes = decode(*encoded, threads);

  const double n = static_cast<double>(count);
  std::vector<Candidate> candidates;
  candidates.push_back({"reading", 4 * n, [&] {
                          share(4 * count, 1 << 20, threads, [&](std::size_t b, std::size_t e) {
                            read_bytes(std::as_bytes(all).data() + b, e - b);
                          });
                        }});
  const auto into = [&](const FloatView& view, const QuantiseOptions& options) {
    return [&, view, options] {
      if (!quantise_into(bytes, view, shape, FormatId::i2s_x86, options)) std::abort();
    };
  };
  candidates.push_back({"f32 to i2_s, sign, into", 4.25 * n, into(FloatView(all), sign)});
  candidates.push_back(
      {"bf16 to i2_s, sign, into", 2.25 * n, into({FloatType::bf16, words}, sign)});
  candidates.push_back({"f32 to i2_s, absmean, into", 8.25 * n, into(FloatView(all), absmean)});
  candidates.push_back(
      {"bf16 to i2_s, absmean, into", 4.25 * n, into({FloatType::bf16, words}, absmean)});
  candidates.push_back(
      {"f16 to i2_s, absmean, into", 4.25 * n, into({FloatType::f16, words}, absmean)});
  candidates.push_back({"f32 to i2_s, sign, new bytes", 4.25 * n,
                        [&] { (void)quantise(FloatView(all), shape, FormatId::i2s_x86, sign); }});
  candidates.push_back({"codes to i2_s, new bytes", 1.25 * n,
                        [&] { (void)encode(*codes, FormatId::i2s_x86, sign.encode); }});
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    const double packed = form == Form::two_bit ? 0.25 * n : n / 4.8;
    const std::string name(to_string(form));
    candidates.push_back({"pack codes, " + name, n + packed,
                          [&, form] { (void)PackedWeights::pack(*codes, form, threads); }});
    candidates.push_back({"pack i2_s, " + name, n / 4 + packed,
                          [&, form] { (void)PackedWeights::pack(*encoded, form, threads); }});
  }
  for (double spent = 0; spent < budget_s;) {
    const auto round = Clock::now();
    for (Candidate& c : candidates) {
      const auto start = Clock::now();
      c.run();
      c.best = std::min(c.best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    spent += std::chrono::duration<double>(Clock::now() - round).count();
  }
  std::printf("\n%ld x %ld, %u thread%s\n  %-32s %10s %9s %11s\n", static_cast<long>(shape.rows),
              static_cast<long>(shape.cols), threads, threads == 1 ? "" : "s", "", "ms", "GB/s",
              "of reading");
  const double rate = candidates[0].bytes / candidates[0].best;
  for (const Candidate& c : candidates) {
    std::printf("  %-32s %10.2f %9.2f %10.0f%%\n", c.name.c_str(), c.best * 1e3,
                c.bytes / c.best * 1e-9, 100 * c.bytes / c.best / rate);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<unsigned> threads;
  Shape shape{16384, 8192};
  double budget_s = 3;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (i + 1 < argc && option == "--threads") {
      threads.push_back(static_cast<unsigned>(std::max(1, std::atoi(argv[++i]))));
    } else if (i + 1 < argc && option == "--rows") {
      shape.rows = std::max(1, std::atoi(argv[++i]));
    } else if (i + 1 < argc && option == "--cols") {
      shape.cols = std::max(128, std::atoi(argv[++i])) / 128 * 128;
    } else if (i + 1 < argc && option == "--budget") {
      budget_s = std::atof(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: %s [--threads N]... [--rows N] [--cols K] [--budget SECONDS]\n",
                   argv[0]);
      return 2;
    }
  }
  if (threads.empty()) threads = {1, usable_cpus()};
  for (const unsigned count : threads) run(shape, count, budget_s);
}
