// Ternary (1.58-bit) weights: their file formats, quantisation, and exact products with int8
// activations. docs/ternary.md tells the formats with their sources and the exactness rule.
//
// Codes: a weight is w in {-1, 0, +1} times a scale. Matrices are row-major: `rows` output features
// (N) by `cols` input features (K); activations are M rows of K.
//
// Nothing here exits, and nothing prints unless GPUREADY_TERNARY_LOG asks for a line a call
// (docs/fakes-and-variables.md). Every failure is an Error with a kind, also where memory runs out
// or an enum has a value that does not exist. What returns no Result can throw std::bad_alloc.
// Results do not depend on the caller's rounding mode or flush to zero, which are left as they
// were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/result.h"

namespace gpuready::ternary {
namespace detail {
struct CpuWeights;
struct CpuEngine;
struct ActivationRows;
}  // namespace detail

inline namespace v0 {

using gpuready::Error;
using gpuready::ErrorKind;
using gpuready::Result;

// ---- Ending calls early -------------------------------------------------------------------------

// While it lives, calls of this thread return ErrorKind::cancelled when `token` is asked to stop,
// by any thread: a call that begins later at once, one that is under way between two pieces of its
// work, and one that waits for an engine when its turn comes. What it writes to is then undefined;
// engines work on. A GPU ends the product, or the part of one, that it has begun. Scopes nest; the
// innermost counts.
class StopScope {
 public:
  explicit StopScope(std::stop_token token);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  std::stop_token token_;
  const std::stop_token* before_;
};

// ---- Formats ------------------------------------------------------------------------------------

enum class FormatId {
  i2s_x86,        // bitnet.cpp, x86: 128 weights planar in 32 bytes
  i2s_arm,        // bitnet.cpp, ARM: 64 weights planar in 16 bytes
  i2s_four_row,   // bitnet.cpp, x86 without ACT_PARALLEL: a byte holds one column of four rows
  i2s_bitnet_rs,  // BitNet.rs, kernels: blocks of 32, a scale each
  tl1_bitnet_cpp,
  tl2_bitnet_cpp,
  tl1_bitnet_rs,         // four levels: shares only the name
  tl2_bitnet_rs,         // four levels: shares only the name
  tq1_0,                 // ggml: 256 weights in 54 bytes
  tq2_0,                 // ggml: 256 weights in 66 bytes
  w2a8_gpu,              // bitnet.cpp's GPU kernels
  i2s_bitnet_rs_split,   // BitNet.rs, GGUF files: blocks of 32, scales in another tensor
  i2s_bitnet_rs_inline,  // BitNet.rs, GGUF files: 32 weights and their f16 scale in 10 bytes
  i2s_qk256,             // BitNet.rs, GGUF files: four levels, no scales
  bitnet_hf,             // transformers, safetensors: a byte holds a column of four rows
  tl1_bitnet_cpp_setup,  // tl1_bitnet_cpp in the tilings of bitnet.cpp's setup_env.py
};

enum class ScaleGranularity { tensor, block };
enum class ScaleType { f32, f16 };

struct Format {
  FormatId id = FormatId::i2s_x86;
  std::string_view name;    // "i2_s-x86"
  std::string_view family;  // what files call it, "I2_S"; several formats can share it
  std::int64_t block = 0;   // weights that are packed together
  ScaleGranularity scales = ScaleGranularity::tensor;
  std::int64_t scale_block =
      0;  // weights, counted over the whole tensor, that share a scale; 0: all
  ScaleType scale_type = ScaleType::f32;
  bool scales_inside = false;  // among the bytes; otherwise beside them
  // Not a ternary format: only quantise() and dequantise(). i2_s-qk256, which has no scales, cannot
  // be quantised to, and converts if all its weights have one magnitude.
  bool four_levels = false;
  bool needs_tiling = false;   // the layout depends on a Tiling
  double bits_per_weight = 0;  // for whole blocks, scales inside counted per block, not per tensor
  std::string_view layout;     // one line
  std::string_view source;     // where the layout is defined
};

std::span<const Format> formats();
const Format& format(FormatId id);  // "unknown format" for a number that no format has
// By name; a family that several formats share is an ambiguous_format that lists them.
Result<FormatId> find_format(std::string_view name);

struct Shape {
  std::int64_t rows = 0, cols = 0;
  bool operator==(const Shape&) const = default;
};

// bitnet.cpp's look-up kernels are generated for a matrix shape; their layout has its tile sizes
// (kernel_config.ini: bm, bk and bmm).
struct Tiling {
  int bm = 0, bk = 0, bmm = 0;
  bool operator==(const Tiling&) const = default;
};
// The tiling that bitnet.cpp's presets publish for this shape, for tl1_bitnet_cpp_setup the one of
// its setup_env.py; nothing for any other shape.
std::optional<Tiling> published_tiling(FormatId id, Shape shape);

struct Encoded {
  FormatId format = FormatId::i2s_x86;
  Shape shape;
  Tiling tiling;  // for formats that need one
  std::vector<std::uint8_t> bytes;
  std::vector<float> scales;  // of formats that keep them beside the bytes
};
struct EncodedView {
  FormatId format = FormatId::i2s_x86;
  Shape shape;
  Tiling tiling;
  std::span<const std::uint8_t> bytes;  // any alignment
  std::span<const float> scales;
  EncodedView() = default;
  EncodedView(FormatId f, Shape s, Tiling t, std::span<const std::uint8_t> b,
              std::span<const float> c)
      : format(f), shape(s), tiling(t), bytes(b), scales(c) {}
  EncodedView(const Encoded& e)
      : format(e.format), shape(e.shape), tiling(e.tiling), bytes(e.bytes), scales(e.scales) {}
};
// Bytes that a tensor of this shape takes; wrong_size where the format cannot hold the shape.
Result<std::size_t> encoded_bytes(FormatId id, Shape shape, Tiling tiling = {});

// The plain form that every format is read into and written from.
struct Codes {
  Shape shape;
  std::vector<std::int8_t> values;  // rows x cols of -1, 0, +1
  std::int64_t scale_block = 0;     // weights, over the whole tensor, that share a scale; 0: all
  std::vector<float> scales;        // 1, or ceil(rows * cols / scale_block)
};

// More than this many threads are a bad_input error, here and in EngineOptions.
inline constexpr unsigned kMostThreads = 1024;

struct EncodeOptions {
  std::optional<Tiling> tiling;  // default: published_tiling(), else the first tiling that fits
  // Scales that the target's type cannot hold are rounded to nearest even instead of refused.
  bool round_scales = false;
  // For large tensors, and only for the call; 0: as many as this process has CPUs.
  unsigned threads = 0;
};
Result<Codes> decode(const EncodedView& from, unsigned threads = 0);
Result<Encoded> encode(const Codes& codes, FormatId to, const EncodeOptions& options = {});
// decode() and encode(): keeps every weight, or says not_representable. Where the target has one
// scale for several blocks, blocks of zeros take that of the others.
Result<Encoded> convert(const EncodedView& from, FormatId to, const EncodeOptions& options = {});
Result<std::vector<float>> dequantise(const EncodedView& from);

// ---- Quantising weights -------------------------------------------------------------------------

enum class FloatType { f32, f16, bf16 };
struct FloatView {
  FloatType type = FloatType::f32;
  std::span<const std::byte> bytes;  // any alignment
  FloatView() = default;
  FloatView(FloatType t, std::span<const std::byte> b) : type(t), bytes(b) {}
  FloatView(std::span<const float> values) : type(FloatType::f32), bytes(std::as_bytes(values)) {}
};

enum class Rule {
  // Each format's own rule (docs/ternary.md): bitnet.cpp's sign rule with the greatest magnitude as
  // scale, BitNet.rs' absmax/1.5 a block, ggml's absmax a block.
  of_format,
  // BitNet b1.58: scale = max(1e-5, mean |w|), code = clamp(round-half-even(w / scale), -1, 1).
  absmean,
};
struct QuantiseOptions {
  Rule rule = Rule::of_format;
  EncodeOptions encode;
};
Result<Encoded> quantise(const FloatView& weights, Shape shape, FormatId to,
                         const QuantiseOptions& options = {});
// The same into memory of the caller's, encoded_bytes() of it, which spares making that of the
// result: its own `bytes` stay empty. After an error what is in `bytes` is undefined.
Result<Encoded> quantise_into(std::span<std::uint8_t> bytes, const FloatView& weights, Shape shape,
                              FormatId to, const QuantiseOptions& options = {});
// Codes with one scale, by the absmean rule.
Result<Codes> quantise_absmean(const FloatView& weights, Shape shape, unsigned threads = 0);

// ---- Products -----------------------------------------------------------------------------------

enum class Form {
  two_bit,      // 2 bits a weight
  three_trits,  // 3 weights in 5 bits: smaller; docs/performance-ternary.md: where quicker
};
std::string_view to_string(Form form);

// What is believed of a saved form; see PackedWeights::view().
enum class Contents { check, trust };

// Where packed weights live. Further kinds of device pack the same Codes behind the same handle.
enum class Place { cpu };

// One scale a row (`group` 0), or one for each `group` weights of a row: 32, 64, 128 or 256;
// a row's last group may have fewer. Row-major: rows x ceil(cols / group).
struct RowScales {
  FloatView values;
  std::int64_t group = 0;
};

// Weights in the layout that the kernels read; immutable, cheap to copy, shared between threads.
// A row's products depend on no other row (CpuEngine::multiply). Codes and encoded weights whose
// rows have one scale each, in all their blocks, and at most 131072 weights are packed with a scale
// a row; others with a scale a group, and then Form::three_trits is not_representable.
class PackedWeights {
 public:
  // Blocks of scales that are not groups of a row's weights are not_representable. `threads` as in
  // EncodeOptions.
  static Result<PackedWeights> pack(const Codes& codes, Form form = Form::two_bit,
                                    unsigned threads = 0);
  static Result<PackedWeights> pack(const EncodedView& from, Form form = Form::two_bit,
                                    unsigned threads = 0);
  // Codes of -1, 0 and +1. Scales that are not finite, or that differ within a row and are so large
  // that a sum of this many codes could leave the range of f32, are not_finite. These are groups
  // even where scales are the same.
  static Result<PackedWeights> pack(std::span<const std::int8_t> codes, Shape shape,
                                    const RowScales& scales, Form form = Form::two_bit,
                                    unsigned threads = 0);

  // The saved form: a header of 64 bytes (magic, version, form, shape and group), the packed
  // weights as they lie in memory, the rows' sums and their scales; little endian, the same on
  // every CPU. save() fills exactly saved_bytes().
  std::size_t saved_bytes() const;
  Result<void> save(std::span<std::byte> to) const;
  // Weights in a saved form (a mapped file, say), without a copy of them. `saved` begins at a
  // multiple of 64 and is not written to while any copy of the weights lives, which keep `keeper`;
  // without one the caller keeps it. Contents::check reads all once, so that no file can hold other
  // weights than -1, 0 and +1 or sums that are not theirs; Contents::trust reads only the header,
  // sums and scales. Errors: bad_input for another format or version, truncated, wrong_size,
  // bad_code, not_finite.
  static Result<PackedWeights> view(std::span<const std::byte> saved,
                                    std::shared_ptr<const void> keeper = nullptr,
                                    Contents contents = Contents::check, unsigned threads = 0);

  Shape shape() const;
  Form form() const;
  Place place() const { return Place::cpu; }
  std::size_t bytes() const;                  // of only the packed weights
  std::int64_t scale_group() const;           // weights that share a scale; 0: a row
  std::span<const float> row_scales() const;  // `rows` of them; none where there are groups
  // Row-major, `rows` times the groups of a row; none where there are none.
  std::vector<float> group_scales() const;
  // What was packed, with a scale a row, or for each run of weights that divides a row and a group.
  Codes unpack() const;

  const detail::CpuWeights& cpu() const { return *cpu_; }

 private:
  explicit PackedWeights(std::shared_ptr<const detail::CpuWeights> cpu) : cpu_(std::move(cpu)) {}
  std::shared_ptr<const detail::CpuWeights> cpu_;
};

// M rows of int8 activations in the padded layout that the kernels read.
class Activations {
 public:
  // Per row: a = max(1e-5, absmax) and s = 127 / a in f32, q = clamp(round-half-even(x * s), -128,
  // 127); the row's step, a / 127 in f32, turns sums back into values. NaN or infinity: not_finite.
  static Result<Activations> quantise(const FloatView& values, std::int64_t rows,
                                      std::int64_t cols);
  // Given codes; `steps` has one a row, or none for 1.0.
  static Result<Activations> from_int8(std::span<const std::int8_t> values, std::int64_t rows,
                                       std::int64_t cols, std::span<const float> steps = {});
  std::int64_t rows() const;
  std::int64_t cols() const;
  std::span<const std::int8_t> row(std::int64_t index) const;
  std::span<const float> steps() const;        // value of one unit, a row each
  std::span<const std::int32_t> sums() const;  // of each row's codes

  const detail::ActivationRows& detail() const { return *rows_; }

 private:
  friend class CpuEngine;
  explicit Activations(std::shared_ptr<const detail::ActivationRows> rows)
      : rows_(std::move(rows)) {}
  std::shared_ptr<const detail::ActivationRows> rows_;
};

// Instruction sets, slowest first within an architecture.
enum class Tier { scalar, avx2, avx_vnni, avx512_vnni, amx, neon, dotprod, i8mm };
std::string_view to_string(Tier tier);

struct TierStatus {
  Tier tier = Tier::scalar;
  bool available = false;
  std::string reason;  // why not
};
// All tiers, also those of other architectures. Asks for no permission: a CPU that has AMX is
// listed as available, and the kernel's answer is known when an engine takes that tier.
std::vector<TierStatus> tiers();

// Threads of the caller's, in place of the engine's own.
struct ThreadPool {
  // Calls task(argument, index) once for each index below `count` (at most `threads`), on any
  // threads, the caller's own included, at once or one after the other, and returns when all are
  // done. Must not throw. May be called by several engines at once. While it waits, neither it nor
  // its threads may begin or wait for another call on the same engine.
  void (*run)(void* context, unsigned count, void (*task)(void* argument, unsigned index),
              void* argument) = nullptr;
  void* context = nullptr;
  unsigned threads = 0;  // that work at once; at least 1
};

// What is added to products before they are rounded to the type of the output.
struct Addends {
  FloatView bias;      // N values; none where it is empty
  FloatView residual;  // M x N values, perhaps the output itself; none where it is empty
};

struct EngineOptions {
  // Default: GPUREADY_TERNARY_TIER where set, else the best that this CPU has.
  std::optional<Tier> tier;
  bool strict = false;  // a tier that is not to be had is an error, not a recorded fallback
  // The caller's own included; 0: as many as this process may use, by its affinity and by the CPU
  // quota of its cgroups. Of no meaning with a pool.
  unsigned threads = 0;
  std::optional<ThreadPool> pool = std::nullopt;
};

// Multiplies on the CPU. Its threads persist, as many of them work on a call as help it, and none
// spins for longer than 50 us after it. Any thread may call. Calls on one engine are made one after
// the other; calls on two engines run at the same time, by the same threads where both have one
// EngineOptions::pool. In a process that was forked later the engine has lost its threads, and each
// call works only on its caller's thread.
class CpuEngine {
 public:
  static Result<CpuEngine> create(const EngineOptions& options = {});
  CpuEngine(CpuEngine&&) noexcept;
  CpuEngine& operator=(CpuEngine&&) noexcept;
  ~CpuEngine();

  Tier tier() const;
  unsigned threads() const;
  // Why a better or demanded tier was not taken, one sentence each; empty when it was.
  const std::vector<std::string>& fallbacks() const;

  // Activations::quantise() by the engine's threads: the same bits, and sooner where there are
  // many.
  Result<Activations> quantise(const FloatView& values, std::int64_t rows, std::int64_t cols) const;

  // out[m * N + n] = sum over k of code(n, k) * q(m, k), exactly: K is at most 2^22. Weights with
  // scales by group have no such product (not_representable).
  Result<void> multiply(const PackedWeights& weights, const Activations& activations,
                        std::span<std::int32_t> out) const;
  // out[m * N + n] = float(acc) *rn (step[m] *rn row_scale[n]); each a single rounded f32 operation
  // (no FMA), so that every tier and device gives the same bits. With scales by group this holds
  // for a row of at most 131072 weights that has one scale, to the bit; for any other row v = 0,
  // then v = v +rn (float(acc of group g) *rn scale[n][g]) for g = 0, 1, ..., then v *rn step[m].
  Result<void> multiply(const PackedWeights& weights, const Activations& activations,
                        std::span<float> out) const;
  // The same, rounded to bf16 (nearest even); out holds the bf16 bits.
  Result<void> multiply_bf16(const PackedWeights& weights, const Activations& activations,
                             std::span<std::uint16_t> out) const;
  // In each type, and with what is added: v is the f32 product, then v = v +rn bias[n], then
  // v = v +rn residual[m * N + n], and v is rounded to the type (nearest even; beyond 65504 f16 is
  // infinite). A NaN among what is added gives 0x7FFFFFFF or 0x7FFF. `out` is M x N elements,
  // aligned as the type wants; it may be the residual where both have one type, and overlaps
  // nothing else.
  Result<void> multiply(const PackedWeights& weights, const Activations& activations,
                        FloatType type, std::span<std::byte> out,
                        const Addends& addends = {}) const;

 private:
  explicit CpuEngine(std::unique_ptr<detail::CpuEngine> engine);
  std::unique_ptr<detail::CpuEngine> engine_;
};

}  // namespace v0
}  // namespace gpuready::ternary
