// The parsers of NVIDIA's files and of the loader's cache, by the input's first byte. Each must
// accept any bytes; what can be said about every answer is checked.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "machine/nvidia/architectures.h"
#include "machine/nvidia/cuda_visibility.h"
#include "machine/nvidia/nvidia_parse.h"
#include "machine/system/loader_cache.h"

namespace {
using namespace gpuready;

void require(bool holds) {
  if (!holds) std::abort();
}

void fuzz_version(std::string_view text) {
  const auto file = parse_nvidia_version(text);
  require(!file.flavour || *file.flavour == "open" || *file.flavour == "proprietary");
  require(!file.version || parse_version(*file.version));
}

void fuzz_fields(std::string_view text) {
  const auto fields = parse_nvidia_fields(text);
  for (const auto& [name, value] : fields) {
    require(printable(name) == name && printable(value) == value);
    const auto known = known_value(fields, name.c_str());
    require(!known || *known == value);
  }
}

void fuzz_loader_cache(std::string_view bytes) {
  const auto entries = parse_loader_cache(bytes);
  if (!entries) return;
  require(entries->size() * 24 <= bytes.size());
  for (const auto& entry : *entries) require(!entry.name.empty() && !entry.path.empty());
}

void fuzz_names(std::string_view text) {
  if (const auto version = library_version(text)) require(parse_version(*version).has_value());
  (void)nvidia_architecture_name(text);
}

void fuzz_visibility(std::string_view text) {
  const std::vector<CudaCandidate> gpus{
      {"GPU-aa11", false, {}, {}},
      {"GPU-aa22", true, {"MIG-c1", "MIG-c2"}, {"1/0", "2/0"}},
      {"", false, {}, {}},
  };
  const auto result = cuda_visibility(std::string(text), std::nullopt, gpus, false);
  require(result.visible.size() <= gpus.size());
  for (const int position : result.visible)
    require(position >= 0 && position < static_cast<int>(gpus.size()));
}

constexpr void (*kParsers[])(std::string_view) = {fuzz_version, fuzz_fields, fuzz_loader_cache,
                                                  fuzz_names, fuzz_visibility};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  kParsers[data[0] % std::size(kParsers)](text);
  return 0;
}
