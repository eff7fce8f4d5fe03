#include "report/terminal/terminal_text.h"

#include <algorithm>

#include "base/text.h"

namespace gpuready {
namespace {

// Select Graphic Rendition (ECMA-48): the eight basic colours, which every theme maps readably.
std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "";
    case Ink::bold:
      return "\x1b[1m";
    case Ink::dim:
      return "\x1b[2m";
    case Ink::good:
      return "\x1b[32m";
    case Ink::warn:
      return "\x1b[33m";
    case Ink::bad:
      return "\x1b[1;31m";
    case Ink::command:
      return "\x1b[36m";
  }
  return "";
}

constexpr std::size_t kColumnGap = 2;  // between the columns of a table
constexpr std::size_t kLeastFlexible = 10;

std::size_t total(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (const std::size_t width : widths) sum += width + kColumnGap;
  return sum == 0 ? 0 : sum - kColumnGap;
}

}  // namespace

Ink ink_of(Tone tone) {
  switch (tone) {
    case Tone::good:
      return Ink::good;
    case Tone::warn:
      return Ink::warn;
    case Tone::bad:
      return Ink::bad;
    case Tone::neutral:
      return Ink::dim;
  }
  return Ink::plain;
}

TerminalText::TerminalText(const TerminalStyle& style)
    : style_(style), columns_(static_cast<std::size_t>(std::max(style.columns, 30))) {}

std::string TerminalText::clean(std::string_view text) const {
  std::string out = one_line(text);
  return style_.unicode ? out : to_ascii(out);
}

void TerminalText::write(std::string_view text, Ink ink) {
  if (text.empty()) return;
  const bool coloured = style_.colour && ink != Ink::plain;
  if (coloured) out_ += code_of(ink);
  out_ += text;
  if (coloured) out_ += "\x1b[0m";
}

void TerminalText::end_line() {
  while (out_.ends_with(' ')) out_.pop_back();
  out_ += '\n';
}

void TerminalText::blank() {
  if (!out_.empty() && !out_.ends_with("\n\n")) out_ += '\n';
}

void TerminalText::heading(std::string_view text) {
  blank();
  write(cut(clean(text), columns_), Ink::bold);
  end_line();
}

void TerminalText::line(std::size_t indent, const std::vector<Span>& spans) {
  std::size_t left = columns_ - std::min(indent, columns_);
  out_.append(columns_ - left, ' ');
  for (const Span& span : spans) {
    const std::string text = cut(clean(span.text), left);
    write(text, span.ink);
    left -= std::min(left, display_width(text));
  }
  end_line();
}

void TerminalText::paragraph(std::size_t indent, const Span& lead, std::string_view text, Ink ink) {
  const std::string mark = clean(lead.text);
  std::size_t hang = indent + display_width(mark);
  if (hang + 16 > columns_) hang = indent + 2;  // such a long lead takes its own line
  const bool own_line = hang != indent + display_width(mark);
  out_.append(indent, ' ');
  write(own_line ? cut(mark, columns_ - indent) : mark, lead.ink);
  if (own_line) end_line();
  bool first = !own_line;
  for (const std::string& piece : wrap(clean(text), columns_ - hang)) {
    if (!first) out_.append(hang, ' ');
    first = false;
    write(piece, ink);
    end_line();
  }
}

void TerminalText::command(std::size_t indent, std::string_view text) {
  for (const std::string_view row : lines(text))
    for (const std::string& piece : wrap_command(clean(row), columns_ - indent)) {
      out_.append(indent, ' ');
      write(piece, Ink::command);
      end_line();
    }
}

void TerminalText::table(std::size_t indent, const Table& table) {
  const std::size_t room = columns_ - std::min(indent, columns_);
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = display_width(clean(table.columns[c].title));
    bool used = false;
    for (const auto& row : table.rows) {
      used |= !row[c].text.empty();
      width = std::max(width, display_width(clean(row[c].text)));
    }
    widths.push_back(used ? width : 0);
  }
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < widths.size(); ++c)
    if (widths[c] > 0) shown.push_back(c);
  const auto sum = [&] {
    std::vector<std::size_t> now;
    for (const std::size_t c : shown) now.push_back(widths[c]);
    return total(now);
  };
  const auto natural = widths;
  for (;;) {
    widths = natural;
    for (const std::size_t c : shown)
      if (const auto now = sum(); table.columns[c].flexible && now > room)
        widths[c] = std::max(std::min(kLeastFlexible, widths[c]),
                             widths[c] - std::min(widths[c], now - room));
    if (sum() <= room) break;
    const auto worst = std::max_element(shown.begin(), shown.end(), [&](auto a, auto b) {
      return table.columns[a].drop < table.columns[b].drop;
    });
    if (worst == shown.end() || table.columns[*worst].drop == 0) break;  // line() cuts it
    shown.erase(worst);
  }
  const auto put_row = [&](auto cell) {
    std::vector<std::vector<std::string>> pieces;  // of each column that is shown, one a line
    std::size_t height = 1;
    for (const std::size_t c : shown) {
      pieces.push_back(wrap(clean(cell(c).text), widths[c]));
      if (!table.columns[c].flexible) pieces.back() = {cut(clean(cell(c).text), widths[c])};
      height = std::max(height, pieces.back().size());
    }
    for (std::size_t row = 0; row < height; ++row) {
      std::vector<Span> spans;
      for (std::size_t i = 0; i < shown.size(); ++i) {
        const std::size_t c = shown[i];
        const std::string text = row < pieces[i].size() ? pieces[i][row] : "";
        spans.push_back({pad(text, widths[c], table.columns[c].align), cell(c).ink});
        if (i + 1 < shown.size()) spans.back().text += std::string(kColumnGap, ' ');
      }
      line(indent, spans);
    }
  };
  put_row([&](std::size_t c) { return Span{table.columns[c].title, Ink::dim}; });
  for (const auto& row : table.rows) put_row([&](std::size_t c) { return row[c]; });
}

std::string TerminalText::mark(Tone tone) const {
  switch (tone) {
    case Tone::good:
      return style_.unicode ? "\u2713" : "[ok]";
    case Tone::warn:
      return style_.unicode ? "!" : "[!]";
    case Tone::bad:
      return style_.unicode ? "\u2717" : "[x]";
    case Tone::neutral:
      return style_.unicode ? "\u00b7" : "[-]";
  }
  return "-";
}

}  // namespace gpuready
