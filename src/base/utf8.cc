#include "base/utf8.h"

#include <algorithm>

namespace gpuready {
namespace {

struct Range {
  char32_t first, last;
};
// Invisible, or turning the direction of what follows: they could make a line read as another
// (Unicode's Bidi_Control, fillers, zero-width joiners, separators, tags and notes). And the two of
// the noncharacters that XML refuses.
constexpr Range kDeceptive[] = {
    {0x7F, 0x9F},     {0xAD, 0xAD},       {0x34F, 0x34F},    {0x61C, 0x61C},   {0x115F, 0x1160},
    {0x17B4, 0x17B5}, {0x180E, 0x180E},   {0x200B, 0x200F},  {0x2028, 0x202E}, {0x2060, 0x206F},
    {0x2800, 0x2800}, {0x3164, 0x3164},   {0xFEFF, 0xFEFF},  {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB},
    {0xFFFE, 0xFFFF}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

constexpr char32_t kFirstOfLength[] = {0, 0, 0x80, 0x800, 0x10000};  // a smaller one is overlong
constexpr char32_t kLast = 0x10FFFF, kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

}  // namespace

Utf8Character read_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC0 || lead >= 0xF8 || bytes > text.size() - at) return {};
  char32_t code = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  const bool surrogate = kFirstSurrogate <= code && code <= kLastSurrogate;
  if (code < kFirstOfLength[bytes] || code > kLast || surrogate) return {};
  return {code, bytes};
}

bool is_deceptive(char32_t code) {
  return code >= kDeceptive[0].first && std::ranges::any_of(kDeceptive, [&](const Range& range) {
           return range.first <= code && code <= range.last;
         });
}

}  // namespace gpuready
