// Writes lines that fit a terminal: inks, indents, wrapped paragraphs, tables. Nothing but what
// passes through here reaches the terminal, so colour, ASCII and width are kept in one place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"
#include "report/summary.h"
#include "report/text_layout.h"

namespace gpuready {

enum class Ink { plain, bold, dim, good, warn, bad, command };
Ink ink_of(Tone tone);

struct Span {
  std::string text;
  Ink ink = Ink::plain;
};

struct Column {
  std::string title;
  Align align = Align::left;
  bool flexible = false;  // takes several lines when the table is too wide
  int drop = 0;           // then columns are left out, the highest first; 0: never
};
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Span>> rows;  // one span a column
};

class TerminalText {
 public:
  explicit TerminalText(const TerminalStyle& style);
  std::size_t columns() const { return columns_; }
  bool unicode() const { return style_.unicode; }

  void blank();  // never two in a row, never first
  void heading(std::string_view text);
  // Spans beside each other on one line, cut at the right edge.
  void line(std::size_t indent, const std::vector<Span>& spans);
  // `lead` stands before the first line; the others are indented by as much.
  void paragraph(std::size_t indent, const Span& lead, std::string_view text, Ink ink = Ink::plain);
  // Lines without mark or indent beyond `indent`, to be copied.
  void command(std::size_t indent, std::string_view text);
  void table(std::size_t indent, const Table& table);
  std::string mark(Tone tone) const;  // "✓" or "[ok]"

  std::string take() { return std::move(out_); }

 private:
  std::string clean(std::string_view text) const;
  void write(std::string_view text, Ink ink);
  void end_line();
  TerminalStyle style_;
  std::size_t columns_;
  std::string out_;
};

}  // namespace gpuready
