#include "value/toml_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/characters.h"

namespace gpuready {
namespace {

bool begins_key(char c) {
  return is_letter_or_digit(c) || c == '_' || c == '-' || c == '"' || c == '\'';
}

class Scanner {
 public:
  Scanner(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<void> run() {
    bool line_begins = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) >= 0x80)
        return wrong("a character that is not ASCII stands outside a string");
      if ((c == 'T' || c == 't') && date_ends_here() && !is_digit(next()))
        return wrong("a date is followed by no time");
      if (c == '[' && line_begins && open_.empty()) {
        TRY(header());
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '"' || c == '\'') {
        TRY(string(c));
      } else {
        if (!fits(c)) return wrong("a bracket closes another than the one that was opened last");
        ++at_;
      }
      if (c == '\n')
        line_begins = true;
      else if (c != ' ' && c != '\t')
        line_begins = false;
    }
    return {};
  }

 private:
  Result<void> wrong(std::string_view what) const {
    return fail(
        ErrorKind::bad_input,
        fmt::format("{}: line {}: {}", name_,
                    1 + std::count(text_.begin(), text_.begin() + static_cast<long>(at_), '\n'),
                    what));
  }

  // A header's own bracket closes nothing.
  bool fits(char c) {
    if (c == '[' || c == '{') open_ += c == '[' ? ']' : '}';
    if ((c != ']' && c != '}') || open_.empty()) return true;
    if (open_.back() != c) return false;
    open_.pop_back();
    return true;
  }

  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\n'; }
  bool date_ends_here() const {  // 2026-11-22
    constexpr std::string_view kDate = "0000-00-00";
    if (at_ < kDate.size()) return false;
    const auto date = text_.substr(at_ - kDate.size(), kDate.size());
    return std::ranges::equal(
        date, kDate, [](char c, char form) { return form == '0' ? is_digit(c) : c == form; });
  }

  char here() const { return at_ < text_.size() ? text_[at_] : '\n'; }
  void skip_blanks() {
    while (here() == ' ' || here() == '\t') ++at_;
  }

  // Up to its key; what follows holds no header.
  Result<void> header() {
    ++at_;
    skip_blanks();
    if (here() == '[') {
      ++at_;
      skip_blanks();
    }
    if (here() != ']' && !begins_key(here())) return wrong("a table's header has no key");
    while (here() != '\n' && here() != '#' && here() != '"' && here() != '\'' &&
           static_cast<unsigned char>(here()) < 0x80)
      ++at_;
    return {};
  }

  // The parser takes a quote within a word for a part of it, and what follows for no string.
  Result<void> string(char quote) {
    if (at_ > 0 && std::string_view(" \t\r\n=,[{.").find(text_[at_ - 1]) == std::string_view::npos)
      return wrong("a quote stands within a word");
    const std::string_view three(quote == '"' ? "\"\"\"" : "'''");
    const bool lines = text_.substr(at_).starts_with(three);
    at_ += lines ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (quote == '"' && text_[at_] == '\\') {
        ++at_;
      } else if (!lines && text_[at_] == '\n') {
        return wrong("a string has no end");
      } else if (lines ? text_.substr(at_).starts_with(three) : text_[at_] == quote) {
        at_ += lines ? 3 : 1;
        return {};
      }
    }
    at_ = text_.size();
    return wrong("a string has no end");
  }

  std::string_view text_, name_;
  std::size_t at_ = 0;
  std::string open_;  // the brackets that close what is open: of arrays and inline tables
};

}  // namespace

Result<void> check_toml_text(std::string_view text, std::string_view name) {
  return Scanner(text, name).run();
}

}  // namespace gpuready
