#include "vm/diagnose/console_lines.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <map>
#include <vector>

#include "base/text.h"

namespace gpuready::vm {
namespace {

constexpr std::size_t kMostLine = 2000;
constexpr std::size_t kMostCauses = 256;
constexpr std::size_t kGram = 4;
constexpr std::size_t kMostKept = 200'000;  // lines; of more the last count

// Words of lines that code reads. console.cc, bar_lines.cc, hypeman_steps.cc, steps.cc and
// parse_xid() look for these.
struct Word {
  std::string_view text;
  unsigned kinds;
};
constexpr Word kWords[] = {
    {"Linux version ", kBootLine},
    {"Command line: ", kBootLine},
    {"Booting Linux on physical CPU", kBootLine},
    {"gpuready-guest: ", kStepLine},
    {"overlay-init: ", kStepLine | kProgramLine},
    {"Z [INFO] [", kStepLine | kProgramLine},
    {"Z [ERROR] [", kStepLine | kProgramLine},
    {kDriverLoads, kDriverLine},
    {"systemd[1]: ", kProgramLine},
    {"[  OK  ] ", kProgramLine},
    {"NVIDIA-SMI ", kVersionsLine},
    {": BAR ", kBarLine},
    {"Xid (", kXidLine},
};

using Gram = std::uint32_t;  // four bytes of text
Gram gram_at(const char* text) {
  Gram gram = 0;
  std::memcpy(&gram, text, kGram);
  return gram;
}

struct Seen {
  unsigned kinds = 0;
  std::bitset<kMostCauses> causes;
  bool any() const { return kinds != 0 || causes.any(); }
};

// For each pattern the four bytes of it that fewest other patterns have. A line without them does
// not fit, so one look at each byte tells which few patterns are to be tried.
class Filter {
 public:
  Filter() {
    std::vector<std::pair<std::string_view, Seen>> patterns;
    for (const Word& word : kWords) patterns.push_back({word.text, {word.kinds, {}}});
    const auto causes = console_causes();
    for (std::size_t i = 0; i < std::min(causes.size(), kMostCauses); ++i)
      for (const auto pattern : causes[i].patterns) {
        patterns.push_back({pattern, {}});
        patterns.back().second.causes.set(i);
      }
    std::map<Gram, std::size_t> count;
    for (const auto& [pattern, seen] : patterns)
      for (const Gram gram : grams(pattern)) ++count[gram];
    for (const auto& [pattern, seen] : patterns) {
      const auto all = grams(pattern);
      const auto rarest = std::ranges::min_element(all, {}, [&](Gram gram) { return count[gram]; });
      Seen& of_gram = rarest == all.end() ? always_ : by_gram_[*rarest];
      of_gram.kinds |= seen.kinds;
      of_gram.causes |= seen.causes;
      if (rarest != all.end()) marks_.set(place(*rarest));
    }
  }

  Seen look(std::string_view text) const {
    Seen seen = always_;
    for (std::size_t i = 0; i + kGram <= text.size(); ++i) {
      const Gram gram = gram_at(text.data() + i);
      if (!marks_.test(place(gram))) continue;
      const auto found = by_gram_.find(gram);
      if (found == by_gram_.end()) continue;
      seen.kinds |= found->second.kinds;
      seen.causes |= found->second.causes;
    }
    return seen;
  }

 private:
  static constexpr std::size_t kMarks = 1u << 14;
  static std::size_t place(Gram gram) { return (gram * 2654435761u) >> 18; }
  static std::vector<Gram> grams(std::string_view pattern) {
    std::vector<Gram> found;
    for (const auto part : split(pattern, "*"))
      for (std::size_t i = 0; i + kGram <= part.size(); ++i)
        found.push_back(gram_at(part.data() + i));
    return found;
  }

  std::map<Gram, Seen> by_gram_;
  std::bitset<kMarks> marks_;
  Seen always_;  // of patterns without four bytes in a row
};

// Without what terminals take for commands.
std::string plain(std::string_view raw) {
  std::string out;
  for (std::size_t i = 0; i < raw.size() && out.size() < kMostLine; ++i) {
    if (raw[i] != '\x1b') {
      if (raw[i] != '\r') out += raw[i];
      continue;
    }
    if (i + 1 < raw.size() && raw[i + 1] == '[')  // ECMA-48: parameters, then one letter
      for (i += 2; i < raw.size() && (raw[i] < '@' || raw[i] > '~');) ++i;
    else
      ++i;
  }
  return printable(trim(out));
}

const ConsoleCause* first_that_fits(std::string_view line,
                                    const std::bitset<kMostCauses>& candidates) {
  const auto causes = console_causes();
  if (candidates.none()) return nullptr;
  for (std::size_t i = 0; i < causes.size(); ++i)
    if (candidates.test(i) &&
        std::ranges::any_of(causes[i].patterns, [&](auto pattern) { return fits(line, pattern); }))
      return &causes[i];
  return nullptr;
}

}  // namespace

ConsoleLines lines_of_console(std::string_view console, std::size_t lines_before) {
  static const Filter filter;
  ConsoleLines out;
  for (std::size_t number = lines_before; !console.empty();) {
    ++number;
    const auto end = console.find('\n');
    auto raw = console.substr(0, end);
    console.remove_prefix(end == console.npos ? console.size() : end + 1);
    if (raw.ends_with('\r')) raw.remove_suffix(1);
    const auto beginning = raw.substr(0, kMostLine);
    // Commands to terminals may stand within a word.
    const bool as_it_is = beginning.find_first_of("\x1b\r") == beginning.npos;
    if (as_it_is && !filter.look(beginning).any()) continue;
    auto text = plain(raw);
    const auto seen = filter.look(text);
    ConsoleLine line{.number = number,
                     .text = {},
                     .kinds = static_cast<std::uint8_t>(seen.kinds),
                     .cause = first_that_fits(text, seen.causes)};
    if (line.kinds == 0 && line.cause == nullptr) continue;
    const auto same = beginning.find(text);
    line.text = same == beginning.npos ? std::string_view(out.changed.emplace_back(std::move(text)))
                                       : beginning.substr(same, text.size());
    out.lines.push_back(line);
    if (out.lines.size() <= kMostKept) continue;
    if (!out.changed.empty() && out.lines.front().text.data() == out.changed.front().data())
      out.changed.pop_front();
    out.lines.pop_front();
  }
  return out;
}

}  // namespace gpuready::vm
