#include "health/memory/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "health/memory/hints.h"

namespace gpuready {
namespace {

// A word that was written for another address, or earlier, tells more than its bits.
std::string told_by(const MemoryBadWord& word, const MemoryPattern& expected,
                    const std::optional<MemoryPattern>& before) {
  // Any offset that a range can have: a word is hardly ever one by chance.
  constexpr std::uint64_t kMostWords = std::uint64_t{1} << 44;
  std::uint64_t offset = 0;
  if (names_offset(expected, word.actual, kMostWords, offset))
    return fmt::format("that is the word of offset {:#x}: two addresses share one cell",
                       offset * 8);
  if (before && pattern_word(*before, word.index) == word.actual)
    return "that is what was there before: the write was lost";
  return {};
}

}  // namespace

void MemoryFindings::add(const std::string& pattern, const VerifyResult& result,
                         std::span<const std::uint64_t> again, const MemoryPattern& expected,
                         const std::optional<MemoryPattern>& before) {
  most_in_a_pass_ = std::max(most_in_a_pass_, result.bad_words);
  for (std::size_t i = 0; i < result.lowest.size(); ++i) {
    const MemoryBadWord& word = result.lowest[i];
    BadWord bad{word.index * 8, word.expected, word.actual, pattern, {}};
    if (i < again.size()) bad.repeats = again[i] != word.expected;
    by_offset_.emplace(bad.offset_bytes, Found{bad, told_by(word, expected, before)});
  }
}

std::uint64_t MemoryFindings::total() const {
  return std::max<std::uint64_t>(most_in_a_pass_, by_offset_.size());
}

std::string MemoryFindings::describe(std::uint64_t words) const {
  std::string text = fmt::format("{} of {} words did not read back as written", total(), words);
  if (by_offset_.empty()) return text;
  const auto& [word, told] = by_offset_.begin()->second;
  text += fmt::format("; the first at offset {:#x}: {:#018x} instead of {:#018x} (bits {:#x})",
                      word.offset_bytes, word.actual, word.expected, word.bits());
  if (!told.empty()) text += "; " + told;
  std::vector<BadWord> all;
  for (const auto& [offset, found] : by_offset_) all.push_back(found.word);
  if (const std::string relation = describe_relation(all, total()); !relation.empty())
    text += "; " + relation;
  return text;
}

void MemoryFindings::add_to(Verdict& verdict, std::size_t max_reported) const {
  verdict.bad_words_total = total();
  verdict.bad_words.clear();
  for (const auto& [offset, found] : by_offset_) {
    if (verdict.bad_words.size() == max_reported) break;
    verdict.bad_words.push_back(found.word);
  }
}

}  // namespace gpuready
