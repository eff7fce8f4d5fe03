#include "report/text_layout.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace gpuready {
namespace {

struct Range {
  char32_t first, last;
};
// Combining marks that take no column (Unicode's categories Mn and Me, the blocks made of them).
constexpr std::array kZeroWidth{Range{0x300, 0x36F},   Range{0x483, 0x489},   Range{0x591, 0x5BD},
                                Range{0x610, 0x61A},   Range{0x64B, 0x65F},   Range{0x1AB0, 0x1AFF},
                                Range{0x1DC0, 0x1DFF}, Range{0x20D0, 0x20F0}, Range{0xFE00, 0xFE0F},
                                Range{0xFE20, 0xFE2F}};
// Unicode's East Asian Width W and F, by block.
constexpr std::array kWide{
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2E80, 0x303E},
    Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},
    Range{0xA000, 0xA4CF},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1FAFF},
    Range{0x20000, 0x3FFFD}};
template <std::size_t N>
bool within(const std::array<Range, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](Range range) { return c >= range.first && c <= range.last; });
}

// A byte that is not of valid UTF-8 counts as a character of its own.
Utf8Character character_at(std::string_view text, std::size_t at) {
  const auto character = read_utf8(text, at);
  return character.bytes > 0 ? character : Utf8Character{0, 1};
}

std::size_t width_of(char32_t code) {
  if (code < 0x300) return 1;
  if (within(kZeroWidth, code)) return 0;
  return within(kWide, code) ? 2 : 1;
}

// The longest start of the text that fits, in bytes; combining marks stay with their character.
std::size_t bytes_that_fit(std::string_view text, std::size_t columns) {
  std::size_t used = 0, at = 0;
  while (at < text.size()) {
    const auto c = character_at(text, at);
    used += width_of(c.code);
    if (used > columns) break;
    at += c.bytes;
  }
  return at;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string out = printable(text);
  std::ranges::replace_if(out, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return out;
}

std::string to_ascii(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = character_at(text, at);
    out += c.code < 0x80 ? static_cast<char>(c.code) : '?';
    at += c.bytes;
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = character_at(text, at);
    width += width_of(c.code);
    at += c.bytes;
  }
  return width;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns <= 3) return std::string(columns, '.');
  std::string out(text.substr(0, bytes_that_fit(text, columns - 3)));
  while (out.ends_with(' ')) out.pop_back();
  return out + "...";
}

std::string pad(std::string_view text, std::size_t columns, Align align) {
  const std::size_t width = display_width(text);
  const std::string blanks(columns > width ? columns - width : 0, ' ');
  return align == Align::left ? std::string(text) + blanks : blanks + std::string(text);
}

// Where a word that is too long is best broken.
constexpr std::string_view kBreakAfter = "./-_,";

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  columns = std::max<std::size_t>(columns, 4);
  std::vector<std::string> out;
  std::string line;
  for (std::string_view word : split(text, " ")) {
    const std::size_t width = display_width(word);
    const std::size_t used = display_width(line);
    if (!line.empty() && used + 1 + width > columns) out.push_back(std::exchange(line, {}));
    while (display_width(word) > columns) {
      std::size_t fits = std::max<std::size_t>(bytes_that_fit(word, columns), 1);
      const std::size_t mark = word.substr(0, fits).find_last_of(kBreakAfter);
      if (mark != std::string_view::npos && 2 * mark >= fits) fits = mark + 1;
      out.emplace_back(word.substr(0, fits));
      word.remove_prefix(fits);
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || out.empty()) out.push_back(line);
  return out;
}

namespace {

// The blanks between the words of a shell command: outside quotes, not escaped, before a comment.
std::vector<std::size_t> word_breaks(std::string_view command) {
  std::vector<std::size_t> breaks;
  char quote = 0;
  for (std::size_t at = 0; at < command.size(); ++at) {
    const char c = command[at];
    if (quote != 0) {
      if (c == '\\' && quote == '"')
        ++at;
      else if (c == quote)
        quote = 0;
    } else if (c == '\\') {
      ++at;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '#' && (at == 0 || command[at - 1] == ' ')) {
      if (!breaks.empty() && breaks.back() + 1 == at) breaks.pop_back();
      break;
    } else if (c == ' ') {
      breaks.push_back(at);
    }
  }
  return breaks;
}

}  // namespace

std::vector<std::string> wrap_command(std::string_view command, std::size_t columns) {
  constexpr std::string_view kIndent = "  ";
  std::vector<std::string> out;
  std::size_t start = 0;
  const auto breaks = word_breaks(command);
  const auto indent = [&] { return out.empty() ? std::string_view() : kIndent; };
  std::size_t last = std::string_view::npos;
  for (const std::size_t at : breaks) {
    // 2 columns for " \"
    const auto width = display_width(command.substr(start, at - start)) + indent().size() + 2;
    if (width > columns && last != std::string_view::npos && last > start) {
      out.push_back(std::string(indent()) + std::string(command.substr(start, last - start)) +
                    " \\");
      start = last + 1;
    }
    last = at;
  }
  if (last != std::string_view::npos && last > start &&
      display_width(command.substr(start)) + indent().size() > columns) {
    out.push_back(std::string(indent()) + std::string(command.substr(start, last - start)) + " \\");
    start = last + 1;
  }
  out.push_back(std::string(indent()) + std::string(command.substr(start)));
  return out;
}

std::string counted(std::size_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

}  // namespace gpuready
