#include "base/closest.h"

#include <algorithm>
#include <numeric>

namespace gpuready {
namespace {

// Letters to insert, remove or replace; two neighbours that are swapped count as one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      const std::size_t replaced = last[k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1);
      now[k] = std::min({last[k] + 1, now[k - 1] + 1, replaced});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        now[k] = std::min(now[k], before[k - 2] + 1);
    }
    before = last;
    last = now;
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> closest(std::string_view typed, const std::vector<std::string>& words) {
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(typed.size() / 3, 1) + 1;
  for (const std::string& word : words)
    if (const auto letters = distance(typed, word); letters < least) {
      least = letters;
      best = word;
    }
  return best;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& words) {
  const auto meant = closest(typed, words);
  return meant ? "; did you mean " + *meant + "?" : "";
}

}  // namespace gpuready
