// Products with ternary weights on this CPU: every tier and both forms, against the machine's read
// bandwidth and, where given, against other libraries' kernels in the same run.
//   bench_ternary_cpu [--peer LIBRARY.so]... [--threads N]... [--cold-mib N] [--rows M] [--quick]
//                     [--only cache|cold|matrix] [--tier NAME] [--seconds S] [--gap-us N]
//                     [--shape NxK]... [--groups] [--layers N]
// Repetitions are interleaved, for --seconds each. Times in the cache are the least. "cold" evicts
// all caches before each repetition by reading --cold-mib of other memory (four times the last
// cache if more), and its times are medians, for what a last cache keeps all the same differs from
// repetition to repetition; an engine's threads are awake when its time begins, as those of the
// peers and of the reading are. Every product is timed from quantised activations and "from f32",
// with each library's own quantising. --gap-us: between products the caller's thread is busy for so
// long.
// --groups adds weights with scales by group. --layers: instead of all that, the products of one
// token of N layers of bitnet-b1.58-2B-4T (it has 30), in medians.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gpuready/ternary.h"
#include "ternary/packed.h"
#include "ternary/workers.h"
#include "ternary_peer.h"

namespace {

using namespace gpuready::ternary;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Memory {
  AlignedArray<std::uint64_t> words;
  std::size_t count = 0;
  explicit Memory(std::size_t bytes)
      : words(static_cast<std::uint64_t*>(allocate_aligned(bytes))), count(bytes / 8) {}
};

volatile std::uint64_t sink;

// As fast as loads alone can be asked for: wide ones, `ahead` words prefetched.
#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
void read_words(const std::uint64_t* words, std::size_t count, std::size_t ahead,
                std::size_t streams = 1) {
  typedef std::uint64_t Wide __attribute__((vector_size(32), aligned(8)));
  Wide sums[4] = {};
  const std::size_t part = count / streams / 16 * 16;
  for (std::size_t i = 0; i + 16 <= part; i += 16) {
    for (std::size_t s = 0; s < streams; ++s) {
      const std::uint64_t* at = words + s * part + i;
      __builtin_prefetch(at + ahead);
      __builtin_prefetch(at + ahead + 8);
      for (std::size_t j = 0; j < 4; ++j) sums[j] |= *reinterpret_cast<const Wide*>(at + 4 * j);
    }
  }
  for (const Wide& sum : sums) sink = sink + (sum[0] | sum[1] | sum[2] | sum[3]);
}

struct Candidate {
  std::string name;
  std::size_t bytes;  // read by one product
  std::function<void()> run;
  bool ours = false, from_f32 = false;
  std::function<void()> wake = {};  // its threads
  double time = 0;                  // s
  std::vector<double> times = {};
};

// Interleaved repetitions until `budget_s` is spent on each.
void measure(std::vector<Candidate>& candidates, double budget_s, double gap_s,
             const std::function<void()>& evict) {
  double least = 1e9;
  for (Candidate& c : candidates) {
    c.run();
    const auto start = Clock::now();
    c.run();
    least = std::min(least, seconds_since(start));
  }
  for (double spent = 0; spent < budget_s * static_cast<double>(candidates.size());) {
    const auto round = Clock::now();
    for (Candidate& c : candidates) {
      // In the cache, some in a row: the first finds what the candidate before has left there.
      const int runs = evict ? 1 : std::clamp(static_cast<int>(2e-3 / least), 2, 64);
      for (int i = 0; i < runs; ++i) {
        if (evict) evict();
        if (evict) c.wake();
        for (const auto gap = Clock::now(); gap_s > 0 && seconds_since(gap) < gap_s;) {
        }
        const auto start = Clock::now();
        c.run();
        c.times.push_back(seconds_since(start));
      }
    }
    spent += seconds_since(round);
  }
  for (Candidate& c : candidates) {
    std::sort(c.times.begin(), c.times.end());
    c.time = c.times[evict ? c.times.size() / 2 : 0];
  }
}

struct Options {
  std::vector<Peer> peers;
  std::vector<unsigned> threads;
  std::size_t cold_mib = 0;
  long rows = 512;
  double budget_s = 0, gap_s = 0;
  std::string only, tier;
  std::vector<std::pair<long, long>> shapes;
  bool groups = false;
  int layers = 0;
};

// For peers: never freed, as what they make of codes themselves.
void* encode_for_peer(const char* name, const std::int8_t* codes, long n, long k) {
  const auto format = find_format(name);
  if (!format) return nullptr;
  const auto encoded = encode({{n, k}, {codes, codes + n * k}, 0, {1.0f}}, *format);
  if (!encoded) return nullptr;
  void* bytes = allocate_aligned(encoded->bytes.size());
  std::memcpy(bytes, encoded->bytes.data(), encoded->bytes.size());
  return bytes;
}

struct Case {
  long m, n, k;
  bool cold;
};

// One product of a peer's kernel, in as many parts as there are workers.
struct PeerProduct {
  const Peer* peer = nullptr;
  const void* weights = nullptr;
  char* rows = nullptr;  // quantised activations
  std::size_t row_bytes = 0;
  long m = 0, n = 0, k = 0;

  void quantise(Workers& workers, const float* x) const {
    const auto by_peer =
        peer->function<void(int, const float*, long, long, long, void*)>("ternary_peer_quantise");
    const unsigned parts = std::min(workers.count(), static_cast<unsigned>(m));
    workers.run(parts, [&](unsigned part) {
      const long first = m * part / parts, last = m * (part + 1) / parts;
      by_peer(peer->index, x + first * k, last - first, n, k,
              rows + static_cast<std::size_t>(first) * row_bytes);
    });
  }
  void multiply(Workers& workers, float* out) const {
    const auto by_peer =
        peer->function<void(int, const void*, const void*, long, long, long, long, long, float*)>(
            "ternary_peer_multiply");
    const unsigned parts = workers.count();
    workers.run(parts, [&](unsigned part) {
      const long groups = n / 16;
      by_peer(peer->index, weights, rows, m, n, k, groups * part / parts * 16,
              groups * (part + 1) / parts * 16, out);
    });
  }
};

// Nothing where the kernel does not serve the product.
std::optional<PeerProduct> product_of(const Peer& peer, const std::vector<std::int8_t>& codes,
                                      long m, long n, long k) {
  if ((peer.use & (m == 1 ? 1 : 2)) == 0) return std::nullopt;
  using Encoder = void*(const char*, const std::int8_t*, long, long);
  if (const auto take = peer.function<void(Encoder*)>("ternary_peer_encoder"))
    take(encode_for_peer);
  PeerProduct made{&peer, nullptr, nullptr, 0, m, n, k};
  made.weights = peer.function<void*(int, const std::int8_t*, long, long)>("ternary_peer_weights")(
      peer.index, codes.data(), n, k);
  if (made.weights == nullptr) return std::nullopt;
  made.row_bytes = static_cast<std::size_t>(
      peer.function<long(int, long, long)>("ternary_peer_row_bytes")(peer.index, n, k));
  made.rows = static_cast<char*>(allocate_aligned(static_cast<std::size_t>(m) * made.row_bytes));
  return made;
}

std::vector<std::int8_t> random_codes(std::size_t count) {
  std::vector<std::int8_t> codes(count);
  std::minstd_rand random(7);
  for (std::int8_t& w : codes) w = static_cast<std::int8_t>(static_cast<int>(random() % 3) - 1);
  return codes;
}

// So that quantising them gives themselves.
std::vector<std::int8_t> random_rows(std::size_t m, std::size_t k) {
  std::vector<std::int8_t> y(m * k);
  std::minstd_rand random(11);
  for (std::int8_t& q : y) q = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  for (std::size_t i = 0; i < m; ++i) y[i * k] = 127;
  return y;
}

// Each has a rule of its own for rounding activations.
void compare(const std::string& name, const std::vector<float>& out,
             const std::vector<float>& expected) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double right = static_cast<double>(expected[i]);
    error += (static_cast<double>(out[i]) - right) * (static_cast<double>(out[i]) - right);
    power += right * right;
  }
  if (!(error <= 1e-3 * power)) std::printf("  WRONG: %s, NMSE %g\n", name.c_str(), error / power);
}

// The engines that the options and the CPU leave.
std::vector<CpuEngine> engines_of(unsigned threads, const Options& options, bool vectors) {
  std::vector<CpuEngine> engines;
  for (const TierStatus& status : tiers()) {
    const bool same_as_avx512 = status.tier == Tier::amx && vectors;
    if (!status.available || status.tier == Tier::scalar || same_as_avx512) continue;
    if (!options.tier.empty() && options.tier != to_string(status.tier)) continue;
    auto engine = CpuEngine::create({status.tier, true, threads});
    if (engine) engines.push_back(std::move(*engine));
  }
  return engines;
}

// The best of several prefetch distances and numbers of streams is the machine's rate.
void add_readings(std::vector<Candidate>& candidates, const Memory& plain, Workers& workers) {
  constexpr std::size_t kReadings[][2] = {{128, 1}, {512, 1}, {1024, 1}, {256, 4}};
  for (const auto& [ahead, streams] : kReadings) {
    const std::string name =
        "reading, " + std::to_string(8 * ahead) + " B ahead, " + std::to_string(streams);
    candidates.push_back({name, plain.count * 8, [&, ahead, streams] {
                            const unsigned parts = workers.count();
                            workers.run(parts, [&](unsigned part) {
                              const std::size_t begin = plain.count * part / parts;
                              read_words(plain.words.get() + begin,
                                         plain.count * (part + 1) / parts - begin, ahead, streams);
                            });
                          }});
  }
}

// What the candidates took; the last ones, from `first_reading` on, are readings.
void print_table(const std::string& title, const std::vector<Candidate>& candidates,
                 std::size_t first_reading, double products) {
  double best_peer[2] = {1e9, 1e9};  // from f32 or not
  for (std::size_t i = 0; i < first_reading; ++i) {
    double& best = best_peer[candidates[i].from_f32];
    if (!candidates[i].ours) best = std::min(best, candidates[i].time);
  }
  const auto rate_of = [](const Candidate& c) { return static_cast<double>(c.bytes) / c.time; };
  double bytes_per_s = 0;
  for (std::size_t i = first_reading; i < candidates.size(); ++i)
    bytes_per_s = std::max(bytes_per_s, rate_of(candidates[i]));
  std::printf("\n%s: read bandwidth %.1f GB/s\n", title.c_str(), bytes_per_s * 1e-9);
  std::printf("  %-34s %10s %9s %9s %11s %11s\n", "", "us", "G mul/s", "GB/s", "of reading",
              "best peer/it");
  for (const Candidate& candidate : candidates) {
    const double rate = rate_of(candidate);
    std::printf("  %-34s %10.1f %9.1f %9.2f %10.0f%%", candidate.name.c_str(), candidate.time * 1e6,
                products / candidate.time * 1e-9, rate * 1e-9, 100 * rate / bytes_per_s);
    const double best = best_peer[candidate.from_f32];
    if (best < 1e9) std::printf(" %11.2f", best / candidate.time);
    std::printf("\n");
  }
  std::fflush(stdout);
}

std::string with_threads(const std::string& what, unsigned threads) {
  return what + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

void run_case(const Case& c, unsigned threads, const Options& options) {
  const std::size_t m = static_cast<std::size_t>(c.m), n = static_cast<std::size_t>(c.n);
  const std::size_t k = static_cast<std::size_t>(c.k);
  Codes codes;
  codes.shape = {c.n, c.k};
  codes.scales = {1.0f};
  codes.values = random_codes(n * k);
  const std::vector<std::int8_t> y = random_rows(m, k);
  const std::vector<float> x(y.begin(), y.end());
  const auto activations = Activations::from_int8(y, c.m, c.k);
  std::vector<float> out(m * n), expected(m * n);

  Workers workers(threads), everybody(c.cold ? usable_cpus() : 1);
  std::vector<Candidate> candidates;
  const std::vector<CpuEngine> engines = engines_of(threads, options, c.m == 1);
  std::vector<PackedWeights> packed;
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    packed.push_back(*PackedWeights::pack(codes, form));
  }
  // The same products by groups that have a scale each.
  for (const std::int64_t group : {256, 128, 64, 32}) {
    if (!options.groups) break;
    const std::vector<float> scales(
        n * ((k + static_cast<std::size_t>(group) - 1) / static_cast<std::size_t>(group)), 1.0f);
    packed.push_back(
        *PackedWeights::pack(codes.values, codes.shape, {std::span<const float>(scales), group}));
  }
  // Enough work for each thread to be woken: the first product wakes some, the second all.
  const std::int64_t small_rows_n = static_cast<std::int64_t>(256 * threads);
  Codes small_codes{{small_rows_n, 4096}, {}, 0, {1.0f}};
  small_codes.values.resize(static_cast<std::size_t>(small_rows_n) * 4096);
  const auto small = PackedWeights::pack(small_codes);
  const auto small_rows = Activations::from_int8(std::vector<std::int8_t>(4096), 1, 4096);
  std::vector<float> small_out(static_cast<std::size_t>(small_rows_n));
  Memory plain(std::max(packed[0].bytes(), std::size_t{1} << 20));
  for (const CpuEngine& engine : engines) {
    for (const PackedWeights& w : packed) {
      const std::string kind = w.scale_group() == 0
                                   ? std::string(to_string(w.form()))
                                   : "groups of " + std::to_string(w.scale_group());
      const std::size_t bytes = w.bytes() + w.group_scales().size() * sizeof(float);
      const std::string name = std::string(to_string(engine.tier())) + " " + kind;
      candidates.push_back(
          {name, bytes, [&] { (void)engine.multiply(w, *activations, std::span(out)); }, true});
      candidates.push_back({name + ", from f32", bytes,
                            [&] {
                              const auto rows = engine.quantise(std::span(x), c.m, c.k);
                              (void)engine.multiply(w, *rows, std::span(out));
                            },
                            true, true});
      for (std::size_t i = candidates.size() - 2; i < candidates.size(); ++i) {
        candidates[i].wake = [&] {
          for (int turn = 0; threads > 1 && turn < 2; ++turn)
            (void)engine.multiply(*small, *small_rows, std::span(small_out));
        };
        candidates[i].run();
        if (i == 0) expected = out;
        if (out != expected) std::printf("  WRONG: %s\n", candidates[i].name.c_str());
      }
    }
  }
  for (const Peer& peer : options.peers) {
    const auto product = product_of(peer, codes.values, c.m, c.n, c.k);
    if (!product) continue;
    candidates.push_back(
        {peer.name, n * k / 4, [&, product] { product->multiply(workers, out.data()); }});
    candidates.push_back({peer.name + ", from f32", n * k / 4,
                          [&, product] {
                            product->quantise(workers, x.data());
                            product->multiply(workers, out.data());
                          },
                          false, true});
    std::fill(out.begin(), out.end(), 0.0f);
    candidates.back().run();
    compare(peer.name, out, expected);
  }
  const std::size_t first_reading = candidates.size();
  add_readings(candidates, plain, workers);
  for (Candidate& candidate : candidates) {
    if (!candidate.wake) candidate.wake = [&] { workers.run(threads, [](unsigned) {}); };
  }
  std::function<void()> evict;
  Memory other(c.cold ? options.cold_mib << 20 : 8);
  if (c.cold) {
    // By reading alone: lines that were written would have to be written back while others are
    // timed.
    evict = [&] {
      everybody.run(everybody.count(), [&](unsigned part) {
        const std::size_t begin = other.count * part / everybody.count();
        read_words(other.words.get() + begin, other.count * (part + 1) / everybody.count() - begin,
                   512);
      });
    };
  }
  measure(candidates, options.budget_s, options.gap_s, evict);

  char shape[80];
  std::snprintf(shape, sizeof shape, "M %ld, N %ld, K %ld, %s", c.m, c.n, c.k,
                c.cold ? "cold" : "in cache");
  print_table(with_threads(shape, threads), candidates, first_reading,
              static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
}

// The products of one token of bitnet-b1.58-2B-4T in their order: q, k, v, o, gate, up, down of
// each layer. Each matrix has memory of its own, so all but what the last cache holds comes
// from memory.
constexpr long kLayer[][2] = {{2560, 2560}, {640, 2560},  {640, 2560}, {2560, 2560},
                              {6912, 2560}, {6912, 2560}, {2560, 6912}};

void run_layers(unsigned threads, const Options& options) {
  struct Matrix {
    long n, k;
    Codes codes;
    std::vector<std::int8_t> y;
    std::vector<float> x, out, expected;
    Activations rows;
  };
  std::vector<Matrix> matrices;
  for (const auto& [n, k] : kLayer) {
    const std::size_t count = static_cast<std::size_t>(n) * static_cast<std::size_t>(k);
    const auto y = random_rows(1, static_cast<std::size_t>(k));
    matrices.push_back({n,
                        k,
                        Codes{{n, k}, random_codes(count), 0, {1.0f}},
                        y,
                        std::vector<float>(y.begin(), y.end()),
                        std::vector<float>(static_cast<std::size_t>(n)),
                        {},
                        *Activations::from_int8(y, 1, k)});
  }
  Workers workers(threads);
  const std::vector<CpuEngine> engines = engines_of(threads, options, true);
  std::vector<Candidate> candidates;
  std::vector<std::vector<PackedWeights>> forms;
  for (const Form form : {Form::two_bit, Form::three_trits}) {
    forms.emplace_back();
    for (int layer = 0; layer < options.layers; ++layer)
      for (const Matrix& matrix : matrices)
        forms.back().push_back(*PackedWeights::pack(matrix.codes, form));
  }
  double products = 0;
  for (const Matrix& matrix : matrices)
    products += static_cast<double>(matrix.n) * static_cast<double>(matrix.k) * options.layers;
  for (const CpuEngine& engine : engines) {
    for (const auto& form : forms) {
      std::size_t bytes = 0;
      for (const PackedWeights& w : form) bytes += w.bytes();
      const auto run = [&](bool from_f32) {
        for (std::size_t i = 0; i < form.size(); ++i) {
          Matrix& matrix = matrices[i % matrices.size()];
          if (from_f32) {
            const auto rows = engine.quantise(std::span<const float>(matrix.x), 1, matrix.k);
            (void)engine.multiply(form[i], *rows, std::span(matrix.out));
          } else {
            (void)engine.multiply(form[i], matrix.rows, std::span(matrix.out));
          }
        }
      };
      const std::string name =
          std::string(to_string(engine.tier())) + " " + std::string(to_string(form.front().form()));
      candidates.push_back({name, bytes, [run] { run(false); }, true});
      candidates.push_back({name + ", from f32", bytes, [run] { run(true); }, true, true});
      candidates.back().run();
      for (Matrix& matrix : matrices) {
        if (matrix.expected.empty()) matrix.expected = matrix.out;
        if (matrix.out != matrix.expected) std::printf("  WRONG: %s\n", name.c_str());
      }
    }
  }
  for (const Peer& peer : options.peers) {
    std::vector<PeerProduct> all;
    bool serves = true;
    for (int layer = 0; serves && layer < options.layers; ++layer) {
      for (const Matrix& matrix : matrices) {
        const auto product = product_of(peer, matrix.codes.values, 1, matrix.n, matrix.k);
        if (product)
          all.push_back(*product);
        else
          serves = false;
      }
    }
    if (!serves) continue;
    const auto run = [&, all](bool from_f32) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        Matrix& matrix = matrices[i % matrices.size()];
        if (from_f32) all[i].quantise(workers, matrix.x.data());
        all[i].multiply(workers, matrix.out.data());
      }
    };
    for (const PeerProduct& product : all)  // of each one, once
      product.quantise(
          workers,
          matrices[static_cast<std::size_t>(&product - all.data()) % matrices.size()].x.data());
    const std::size_t bytes = static_cast<std::size_t>(products) / 4;
    candidates.push_back({peer.name, bytes, [run] { run(false); }});
    candidates.push_back({peer.name + ", from f32", bytes, [run] { run(true); }, false, true});
    candidates.back().run();
    for (const Matrix& matrix : matrices) compare(peer.name, matrix.out, matrix.expected);
  }
  const std::size_t first_reading = candidates.size();
  Memory plain(static_cast<std::size_t>(products) / 4);
  add_readings(candidates, plain, workers);
  for (Candidate& candidate : candidates) candidate.wake = [] {};
  measure(candidates, options.budget_s, options.gap_s, [] {});
  print_table(with_threads(std::to_string(options.layers) + " layers of 2B-4T, a token", threads),
              candidates, first_reading, products);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--quick") {
      quick = true;
    } else if (i + 1 < argc && option == "--peer") {
      for (Peer& peer : open_peer(argv[++i])) options.peers.push_back(peer);
    } else if (i + 1 < argc && option == "--threads") {
      options.threads.push_back(static_cast<unsigned>(std::max(1, std::atoi(argv[++i]))));
    } else if (i + 1 < argc && option == "--cold-mib") {
      options.cold_mib = static_cast<std::size_t>(std::max(1, std::atoi(argv[++i])));
    } else if (i + 1 < argc && option == "--rows") {
      options.rows = std::max(2, std::atoi(argv[++i]));
    } else if (i + 1 < argc && option == "--only") {
      options.only = argv[++i];
    } else if (i + 1 < argc && option == "--tier") {
      options.tier = argv[++i];
    } else if (i + 1 < argc && option == "--layers") {
      options.layers = std::max(1, std::atoi(argv[++i]));
    } else if (option == "--groups") {
      options.groups = true;
    } else if (i + 1 < argc && option == "--gap-us") {
      options.gap_s = std::atof(argv[++i]) * 1e-6;
    } else if (i + 1 < argc && option == "--shape") {
      long n = 0, k = 0;
      if (std::sscanf(argv[++i], "%ldx%ld", &n, &k) != 2 || n < 1 || k < 1) return 2;
      options.shapes.emplace_back(n, k);
    } else if (i + 1 < argc && option == "--seconds") {
      options.budget_s = std::atof(argv[++i]);
    } else {
      std::fprintf(stderr,
                   "usage: %s [--peer LIBRARY.so]... [--threads N]... [--cold-mib N] [--rows M] "
                   "[--quick] [--only cache|cold|matrix] [--tier NAME] [--seconds S] [--gap-us N] "
                   "[--shape NxK]... [--groups] [--layers N]\n",
                   argv[0]);
      return 2;
    }
  }
  if (options.cold_mib == 0) {
    options.cold_mib = 256;
#if defined(_SC_LEVEL3_CACHE_SIZE)
    const long last = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (last > 0)
      options.cold_mib = std::max<std::size_t>(256, static_cast<std::size_t>(last) >> 18);
#endif
  }
  if (options.threads.empty()) options.threads = {1, usable_cpus()};
  if (options.budget_s <= 0) options.budget_s = quick ? 0.15 : 0.6;
  if (options.layers > 0) {
    for (const unsigned threads : options.threads) run_layers(threads, options);
    return 0;
  }
  std::vector<Case> cases = {{1, 2560, 2560, false},
                             {1, 4096, 4096, false},
                             {1, 28672, 8192, true},
                             {options.rows, 2560, 2560, false}};
  if (quick) {
    cases[2].n = 16384;
  } else {
    cases.insert(cases.begin(), {1, 2048, 2048, false});
    cases.push_back({options.rows, 8192, 4096, false});
  }
  if (!options.shapes.empty()) cases.clear();
  for (const auto& [n, k] : options.shapes) {
    cases.push_back({1, n, k, false});
    cases.push_back({1, n, k, true});
    cases.push_back({options.rows, n, k, false});
  }
  for (const Case& c : cases) {
    const char* kind = c.m > 1 ? "matrix" : c.cold ? "cold" : "cache";
    if (!options.only.empty() && options.only != kind) continue;
    for (const unsigned threads : options.threads) run_case(c, threads, options);
  }
}
