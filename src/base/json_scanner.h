// Reads JSON in less than half of the instructions that nlohmann-json's own lexer needs, which
// takes a character at a time. It takes no document that the library refuses. What is rare is left
// to the library: errors and their messages, characters beyond ASCII, surrogates, integers of more
// than 18 digits.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include "base/characters.h"

namespace gpuready {

// `Handler` has the functions of the library's SAX interface; it limits the depth.
template <class Handler>
class JsonScanner {
 public:
  JsonScanner(std::string_view text, Handler& handler)
      : at_(text.data()), end_(text.data() + text.size()), handler_(handler) {}

  // False: the library has to read this document, with a handler of its own.
  bool scan() {
    if (!value()) return false;
    skip_space();
    return at_ == end_;
  }

 private:
  char peek() const { return at_ == end_ ? '\0' : *at_; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool word(std::string_view text) {
    if (!std::string_view(at_, end_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  bool value() {
    skip_space();
    switch (peek()) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return string() && handler_.string(text_);
      case 't':
        return word("true") && handler_.boolean(true);
      case 'f':
        return word("false") && handler_.boolean(false);
      case 'n':
        return word("null") && handler_.null();
      default:
        return number();
    }
  }

  bool object() {
    ++at_;
    if (!handler_.start_object(static_cast<std::size_t>(-1))) return false;
    skip_space();
    if (take('}')) return handler_.end_object();
    while (true) {
      skip_space();
      if (peek() != '"' || !string() || !handler_.key(text_)) return false;
      skip_space();
      if (!take(':') || !value()) return false;
      skip_space();
      if (take('}')) return handler_.end_object();
      if (!take(',')) return false;
    }
  }

  bool array() {
    ++at_;
    if (!handler_.start_array(static_cast<std::size_t>(-1))) return false;
    skip_space();
    if (take(']')) return handler_.end_array();
    while (true) {
      if (!value()) return false;
      skip_space();
      if (take(']')) return handler_.end_array();
      if (!take(',')) return false;
    }
  }

  static bool is_plain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

  // Eight at once: the lowest other one sets the highest bit of its byte; plain ones set none.
  static bool are_plain(const char* text) {
    constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x80 * kOnes;
    std::uint64_t bytes;
    std::memcpy(&bytes, text, sizeof bytes);
    const std::uint64_t quotes = bytes ^ ('"' * kOnes), escapes = bytes ^ ('\\' * kOnes);
    const std::uint64_t others =
        bytes | (bytes - 0x20 * kOnes) | (bytes + kOnes) | (quotes - kOnes) | (escapes - kOnes);
    return (others & kHigh) == 0;
  }

  // Into text_, without the quotes.
  bool string() {
    ++at_;
    text_.clear();
    while (true) {
      const char* start = at_;
      while (end_ - at_ >= 8 && are_plain(at_)) at_ += 8;
      while (at_ != end_ && is_plain(*at_)) ++at_;
      text_.append(start, static_cast<std::size_t>(at_ - start));
      if (take('"')) return true;
      if (!take('\\') || !escape()) return false;
    }
  }

  bool escape() {
    if (at_ == end_) return false;
    switch (*at_++) {
      case '"':
        return put('"');
      case '\\':
        return put('\\');
      case '/':
        return put('/');
      case 'b':
        return put('\b');
      case 'f':
        return put('\f');
      case 'n':
        return put('\n');
      case 'r':
        return put('\r');
      case 't':
        return put('\t');
      case 'u':
        return code_point();
      default:
        return false;
    }
  }
  bool put(char c) {
    text_ += c;
    return true;
  }

  bool code_point() {
    if (end_ - at_ < 4) return false;
    unsigned code = 0;
    const auto [stop, error] = std::from_chars(at_, at_ + 4, code, 16);
    if (error != std::errc() || stop != at_ + 4) return false;
    at_ += 4;
    if (code >= 0xD800 && code < 0xE000) return false;
    if (code < 0x80) return put(static_cast<char>(code));
    if (code >= 0x800) {
      put(static_cast<char>(0xE0 | code >> 12));
      put(static_cast<char>(0x80 | (code >> 6 & 0x3F)));
    } else {
      put(static_cast<char>(0xC0 | code >> 6));
    }
    return put(static_cast<char>(0x80 | (code & 0x3F)));
  }

  void skip_digits() {
    while (at_ != end_ && is_digit(*at_)) ++at_;
  }
  // At least one.
  bool digits() {
    const char* start = at_;
    skip_digits();
    return at_ != start;
  }

  bool number() {
    constexpr std::ptrdiff_t kMostDigits = 18;  // fit into 64 bits whatever they are
    const char* start = at_;
    const bool negative = take('-');
    const char* first = at_;
    if (!take('0') && !digits()) return false;
    const char* last = at_;
    bool whole = true;
    if (take('.')) {
      whole = false;
      if (!digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      whole = false;
      ++at_;
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    if (!whole) {
      double real = 0;
      const auto [stop, error] = std::from_chars(start, at_, real);
      return error == std::errc() && stop == at_ && handler_.number_float(real, {});
    }
    if (last - first > kMostDigits) return false;
    std::int64_t integer = 0;
    std::from_chars(start, at_, integer);
    return negative ? handler_.number_integer(integer)
                    : handler_.number_unsigned(static_cast<std::uint64_t>(integer));
  }

  const char* at_;
  const char* end_;
  Handler& handler_;
  std::string text_;
};

}  // namespace gpuready
