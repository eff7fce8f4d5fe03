// Keeps the first and the last few items of each kind, and counts those between. A flood of one
// kind therefore never costs an item of another, and memory stays bounded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpuready {

struct KeepOfEach {
  std::size_t first = 8, last = 8;  // of each kind
  std::size_t kinds = 2000;         // further kinds share one place
};

// Item has a member `left_out`: how many items of its kind were left out right before it.
template <class Item>
class FirstAndLast {
 public:
  explicit FirstAndLast(const KeepOfEach& keep) : keep_(keep) {}

  void add(const std::string& kind, Item item) {
    auto found = kinds_.find(kind);
    if (found == kinds_.end())
      found = kinds_.try_emplace(kinds_.size() < keep_.kinds ? kind : std::string()).first;
    auto& place = found->second;
    Numbered numbered{next_++, std::move(item)};
    if (place.first.size() < keep_.first) {
      place.first.push_back(std::move(numbered));
      return;
    }
    place.last.push_back(std::move(numbered));
    if (place.last.size() <= keep_.last) return;
    place.last.pop_front();
    ++place.left_out;
  }

  // What was kept, in the order in which it came. Empties this.
  std::vector<Item> take() {
    std::vector<Numbered> all;
    for (auto& [kind, place] : kinds_) {
      if (!place.last.empty()) place.last.front().item.left_out = place.left_out;
      std::move(place.first.begin(), place.first.end(), std::back_inserter(all));
      std::move(place.last.begin(), place.last.end(), std::back_inserter(all));
    }
    kinds_.clear();
    std::sort(all.begin(), all.end(),
              [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
    std::vector<Item> items;
    items.reserve(all.size());
    for (auto& numbered : all) items.push_back(std::move(numbered.item));
    return items;
  }

 private:
  struct Numbered {
    std::size_t number = 0;
    Item item;
  };
  struct Place {
    std::vector<Numbered> first;
    std::deque<Numbered> last;
    std::size_t left_out = 0;
  };
  KeepOfEach keep_;
  std::size_t next_ = 0;
  std::unordered_map<std::string, Place> kinds_;
};

}  // namespace gpuready
