#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>

#include "base/cpuid.h"
#endif

namespace gpuready {
namespace {

constexpr std::size_t kBlockBytes = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

void add_block(State& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t k = 0; k < 4; ++k) w[i] = w[i] << 8 | block[4 * i + k];
  for (std::size_t i = 16; i < 64; ++i) {
    const auto a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const auto one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                     ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const auto two =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  const State add = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += add[i];
}

#if defined(__x86_64__)
bool has_sha_instructions() {
  static const bool has = [] {
    const auto leaf = cpuid(7, 0), basic = cpuid(1, 0);
    return (leaf.b >> 29 & 1) != 0 && (basic.c >> 19 & 1) != 0;  // SHA, SSE4.1
  }();
  return has;
}

// Two rounds an instruction. The state is kept as ABEF and CDGH, as these instructions want it.
__attribute__((target("sha,sse4.1,ssse3"))) void add_blocks_by_instruction(
    State& state, const std::uint8_t* blocks, std::size_t count) {
  const auto load = [](const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i cdab = _mm_shuffle_epi32(load(state.data()), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; count > 0; --count, blocks += kBlockBytes) {
    const __m128i old_abef = abef, old_cdgh = cdgh;
    __m128i w[4];
    for (int i = 0; i < 16; ++i) {
      __m128i& now = w[i % 4];
      if (i < 4) {
        now = _mm_shuffle_epi8(load(blocks + 16 * i), big_endian);
      } else {  // w[t] from w[t-16], w[t-15], w[t-7] and w[t-2], four at a time
        const __m128i last = w[(i + 3) % 4];
        now = _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]),
                            _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
        now = _mm_sha256msg2_epu32(now, last);
      }
      const __m128i keyed = _mm_add_epi32(now, load(&kRound[static_cast<std::size_t>(4 * i)]));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, keyed);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(keyed, 0x0E));
    }
    abef = _mm_add_epi32(abef, old_abef);
    cdgh = _mm_add_epi32(cdgh, old_cdgh);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

}  // namespace

void Sha256Stream::add_blocks(const std::uint8_t* blocks, std::size_t count) {
#if defined(__x86_64__)
  if (!portable_ && has_sha_instructions()) return add_blocks_by_instruction(state_, blocks, count);
#endif
  for (; count > 0; --count, blocks += kBlockBytes) add_block(state_, blocks);
}

void Sha256Stream::add(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  const std::size_t held = length_ % kBlockBytes;
  length_ += bytes.size();
  if (held > 0) {
    const std::size_t taken = std::min(bytes.size(), kBlockBytes - held);
    std::memcpy(partial_.data() + held, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    if (held + taken < kBlockBytes) return;
    add_blocks(partial_.data(), 1);
  }
  add_blocks(bytes.data(), bytes.size() / kBlockBytes);
  const auto rest = bytes.last(bytes.size() % kBlockBytes);
  if (!rest.empty()) std::memcpy(partial_.data(), rest.data(), rest.size());
}

Sha256 Sha256Stream::finish() {
  const std::uint64_t bits = length_ * 8;
  const std::size_t held = length_ % kBlockBytes;
  std::array<std::uint8_t, 2 * kBlockBytes> end{0x80};
  const std::size_t zeros = (held < kBlockBytes - 8 ? kBlockBytes : 2 * kBlockBytes) - 8 - held;
  for (std::size_t i = 0; i < 8; ++i)
    end[zeros + i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  add(std::span(end).first(zeros + 8));
  Sha256 out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

Sha256 sha256(std::span<const std::uint8_t> bytes) {
  Sha256Stream stream;
  stream.add(bytes);
  return stream.finish();
}

Sha256 sha256(std::string_view text) {
  return sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

namespace {
constexpr std::string_view kDigits = "0123456789abcdef";
}

bool is_sha256(std::string_view hex) {
  return hex.size() == 2 * sizeof(Sha256) && hex.find_first_not_of(kDigits) == hex.npos;
}

std::string to_hex(const Sha256& hash) {
  std::string text;
  for (const auto byte : hash) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Sha256 hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> bytes) {
  std::array<std::uint8_t, kBlockBytes> block{};
  if (key.size() > kBlockBytes)
    std::ranges::copy(sha256(key), block.begin());
  else
    std::ranges::copy(key, block.begin());
  const auto keyed = [&](std::uint8_t pad, std::span<const std::uint8_t> message) {
    std::vector<std::uint8_t> all;
    for (const auto byte : block) all.push_back(byte ^ pad);
    all.insert(all.end(), message.begin(), message.end());
    return sha256(all);
  };
  return keyed(0x5c, keyed(0x36, bytes));
}

}  // namespace gpuready
