// The bad words of a memory test: those of all its passes, each word once.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "gpuready/verdict.h"
#include "health/memory/pass.h"

namespace gpuready {

class MemoryFindings {
 public:
  // What a pass named `pattern` has found. `again`: the words of result.lowest as they were read
  // again; empty: they were not. `before`: what the memory held before, where that is known.
  void add(const std::string& pattern, const VerifyResult& result,
           std::span<const std::uint64_t> again, const MemoryPattern& expected,
           const std::optional<MemoryPattern>& before);
  bool any() const { return total() > 0; }
  // Different words; where more were bad than can be listed, those of the pass that had the most.
  std::uint64_t total() const;
  std::string describe(std::uint64_t words) const;
  void add_to(Verdict& verdict, std::size_t max_reported) const;

 private:
  struct Found {
    BadWord word;
    std::string told_by_it;  // what its value says
  };
  std::map<std::uint64_t, Found> by_offset_;
  std::uint64_t most_in_a_pass_ = 0;
};

}  // namespace gpuready
