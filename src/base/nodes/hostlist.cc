#include "base/nodes/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/characters.h"
#include "base/text.h"

namespace gpuready {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kMostDigits = 18;  // of a number that 64 bits hold

std::unexpected<Error> bad_list(std::string_view word, std::string_view why) {
  return fail(ErrorKind::bad_input,
              fmt::format("the list of nodes has \"{}\": {}", printable(word), why));
}

Result<void> append_range(std::string_view range, std::string_view word,
                          std::vector<std::string>& numbers) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == range.npos ? first : range.substr(dash + 1);
  for (const std::string_view end : {first, last})
    if (end.empty() || end.size() > kMostDigits || end.find_first_not_of(kDigits) != end.npos)
      return bad_list(word, "brackets hold numbers and ranges such as 01-16");
  const std::uint64_t from = *parse_uint(first), to = *parse_uint(last);
  if (from > to) return bad_list(word, "a range ends before it begins");
  if (to - from >= kMostHosts - std::min(numbers.size(), kMostHosts))
    return bad_list(word, fmt::format("it names more than {} nodes", kMostHosts));
  for (std::uint64_t number = from; number <= to; ++number)
    numbers.push_back(fmt::format("{:0{}}", number, first.size()));
  return {};
}

// One word without commas outside brackets, which may have several brackets.
Result<std::vector<std::string>> expand(std::string_view word) {
  std::vector<std::string> names = {""};
  for (std::string_view rest = word; !rest.empty();) {
    const std::size_t open = rest.find_first_of("[]");
    for (std::string& name : names) name += rest.substr(0, open);
    if (open == rest.npos) break;
    const std::size_t close = rest.find(']', open);
    if (rest[open] == ']' || close == rest.npos) return bad_list(word, "its brackets do not match");
    std::vector<std::string> numbers, longer;
    for (const std::string_view range : split(rest.substr(open + 1, close - open - 1), ","))
      TRY(append_range(range, word, numbers));
    if (numbers.empty()) return bad_list(word, "its brackets are empty");
    if (names.size() > kMostHosts / numbers.size())
      return bad_list(word, fmt::format("it names more than {} nodes", kMostHosts));
    for (const std::string& name : names)
      for (const std::string& number : numbers) longer.push_back(name + number);
    names = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  return names;
}

// A name around its last number; without one, `digits` is empty.
struct Parts {
  std::string_view before, after = {}, digits = {};
  std::uint64_t number = 0;

  auto key() const { return std::tuple(before, after, digits.size(), number); }
};

Parts parts_of(std::string_view name) {
  const std::size_t end = name.find_last_of(kDigits);
  if (end == name.npos) return {.before = name};
  const std::size_t start = name.find_last_not_of(kDigits, end) + 1;
  const std::string_view digits = name.substr(start, end + 1 - start);
  if (digits.size() > kMostDigits) return {.before = name};
  return {name.substr(0, start), name.substr(end + 1), digits, *parse_uint(digits)};
}

// `b` is not before `a` in the order of keys.
bool of_one_bracket(const Parts& a, const Parts& b) {
  return a.before == b.before && a.after == b.after && !a.digits.empty();
}

// Whether a range that holds `a` goes on with `b`: 09, 10 and 9, 10, but not 09, 010.
bool follows(const Parts& a, const Parts& b) {
  return b.number == a.number + 1 &&
         (a.digits.size() == b.digits.size() || (a.digits[0] != '0' && b.digits[0] != '0'));
}

}  // namespace

Result<std::vector<std::string>> parse_hostlist(std::string_view text) {
  std::vector<std::string> names;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : '\n';
    if (c == '[' || c == ']') inside = c == '[';
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!blank && (c != ',' || inside)) continue;
    const auto more = TRY(expand(text.substr(start, at - start)));
    if (at > start) names.insert(names.end(), more.begin(), more.end());
    if (names.size() > kMostHosts)
      return fail(ErrorKind::bad_input,
                  fmt::format("the list names more than {} nodes", kMostHosts));
    start = at + 1;
  }
  return names;
}

Result<std::vector<std::string>> parse_nodes(std::string_view text) {
  auto names = TRY(parse_hostlist(text));
  const auto of_a_name = [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
  };
  for (const std::string& name : names)
    if (name.starts_with('-') || !std::ranges::all_of(name, of_a_name))
      return bad_list(name, "a name has letters, digits, '.', '-' and '_', and begins with no '-'");
  if (names.empty())
    return fail(ErrorKind::bad_input, "the list names no node: write it such as n[01-64],login1");
  return names;
}

std::string fold_hostlist(const std::vector<std::string>& names) {
  std::vector<Parts> all;
  for (const std::string& name : names) all.push_back(parts_of(name));
  std::ranges::sort(all, {}, &Parts::key);
  const auto same = std::ranges::unique(all, {}, &Parts::key);
  all.erase(same.begin(), same.end());
  std::vector<std::string> words;
  for (std::size_t i = 0; i < all.size();) {
    const Parts& first = all[i];
    std::vector<std::string> ranges;
    std::size_t next = i;
    do {
      const std::size_t from = next++;
      while (next < all.size() && of_one_bracket(first, all[next]) &&
             follows(all[next - 1], all[next]))
        ++next;
      ranges.push_back(next - from == 1
                           ? std::string(all[from].digits)
                           : fmt::format("{}-{}", all[from].digits, all[next - 1].digits));
    } while (next < all.size() && of_one_bracket(first, all[next]));
    const std::string inner = join(ranges, ",");
    words.push_back(next - i == 1 ? fmt::format("{}{}{}", first.before, inner, first.after)
                                  : fmt::format("{}[{}]{}", first.before, inner, first.after));
    i = next;
  }
  return join(words, ",");
}

}  // namespace gpuready
