#include "health/memory/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

constexpr std::size_t kFewest = 2;  // nothing is said of fewer

void add_bits(std::span<const BadWord> words, std::vector<std::string>& hints) {
  std::uint64_t any = 0, all = ~0ull;
  bool to_one = true, to_zero = true;
  for (const BadWord& word : words) {
    any |= word.bits();
    all &= word.bits();
    to_one = to_one && (word.expected & word.bits()) == 0;
    to_zero = to_zero && (word.actual & word.bits()) == 0;
  }
  if (any == all && std::has_single_bit(any))
    hints.push_back(fmt::format("all in bit {}", std::countr_zero(any)));
  else if (std::popcount(any) <= 8)
    hints.push_back(fmt::format("all in bits {:#x}", any));
  if (any == 0 || to_one == to_zero) return;
  hints.push_back(to_one ? "all read 1 for 0" : "all read 0 for 1");
}

// The smallest block of the range that holds them all.
void add_block(std::span<const BadWord> words, std::vector<std::string>& hints) {
  for (const std::uint64_t bytes : {std::uint64_t{32}, 4 * KiB, 2 * MiB, GiB}) {
    if (words.front().offset_bytes / bytes != words.back().offset_bytes / bytes) continue;
    hints.push_back(fmt::format("all within one {} of {}", bytes == 32 ? "sector" : "page",
                                format_bytes(bytes)));
    return;
  }
}

// Offsets that differ by multiples of one number share address lines.
void add_stride(std::span<const BadWord> words, std::vector<std::string>& hints) {
  std::uint64_t stride = 0;
  for (const BadWord& word : words)
    stride = std::gcd(stride, word.offset_bytes - words.front().offset_bytes);
  if (words.size() >= 3 && stride > 8)
    hints.push_back(fmt::format("all a multiple of {:#x} bytes apart", stride));
}

}  // namespace

std::string describe_relation(std::span<const BadWord> words, std::uint64_t total) {
  if (words.size() < kFewest) return {};
  std::vector<std::string> hints;
  add_bits(words, hints);
  add_block(words, hints);
  add_stride(words, hints);
  const auto repeating =
      std::count_if(words.begin(), words.end(), [](const BadWord& w) { return w.repeats == true; });
  const auto passing = std::count_if(words.begin(), words.end(),
                                     [](const BadWord& w) { return w.repeats == false; });
  if (repeating + passing > 0)
    hints.push_back(
        fmt::format("read again, {} of {} were bad again", repeating, repeating + passing));
  if (hints.empty()) return {};
  const std::string of =
      words.size() < total ? fmt::format("of the {} listed, ", words.size()) : "";
  return of + join(hints, ", ");
}

}  // namespace gpuready
