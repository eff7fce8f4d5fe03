// What adapters write, and the commands that variables give: any bytes are read to an answer.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bench/run/adapters.h"
#include "bench/run/answer.h"

namespace {
using namespace gpuready::bench;

void require(bool holds) {
  if (!holds) std::abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Answer answer = read_answer(text, *complete(Request{}));
  const Repeat& repeat = answer.repeat;
  for (const double sample : repeat.samples_ns) require(std::isfinite(sample) && sample > 0);
  require(answer.sampled_at_ms.empty() || answer.sampled_at_ms.size() == repeat.samples_ns.size());
  require(repeat.status == StackStatus::ok || !repeat.reason.empty());
  require(repeat.status != StackStatus::ok || latency_of(repeat).mean_ns.has_value());
  if (const auto words = shell_words(text))
    for (const auto& word : *words) require(word.size() <= size);
  return 0;
}
