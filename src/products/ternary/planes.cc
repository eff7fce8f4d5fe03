// Codes to and from bytes for the formats of planes, in pieces that stay in the cache.
#include <algorithm>
#include <atomic>

#include "ternary/cpu/tiers.h"
#include "ternary/layout.h"
#include "ternary/levels.h"
#include "ternary/share.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace gpuready::ternary {
namespace {

constexpr std::size_t kAtOnce = 4096;  // codes between their making and their joining
constexpr std::size_t kGrain = std::size_t{1} << 18;

}  // namespace

void write_planes(std::size_t width, std::size_t count, unsigned threads, std::uint8_t* bytes,
                  const FillCodes& fill) {
  const std::size_t group = 4 * width;
  const std::size_t groups_at_once = std::max<std::size_t>(1, kAtOnce / group);
  const std::size_t grain =
      std::max<std::size_t>(1, kGrain / group / groups_at_once) * groups_at_once;
  share(count / group, grain, threads, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint8_t> codes(groups_at_once * group);
    for (std::size_t first = begin; first < end; first += groups_at_once) {
      const std::size_t now = std::min(groups_at_once, end - first);
      fill(first * group, now * group, codes.data());
      weight_table().join(codes.data(), now, width, bytes + first * width);
    }
  });
}

bool read_planes(std::size_t width, std::size_t count, unsigned threads, const std::uint8_t* bytes,
                 std::int8_t* codes) {
  const std::size_t group = 4 * width;
  std::atomic<bool> good{true};
  share(count / group, std::max<std::size_t>(1, kGrain / group), threads,
        [&](std::size_t begin, std::size_t end) {
          if (!weight_table().split(bytes + begin * width, end - begin, width,
                                    codes + begin * group)) {
            good = false;
          }
        });
  return good;
}

std::vector<std::uint8_t> make_bytes(std::size_t count, unsigned threads) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(count);
#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
  // A page that is first touched is a call into the system: all threads make those of large arrays.
  constexpr std::size_t kLarge = std::size_t{8} << 20, kStep = std::size_t{2} << 20;
  if (count >= kLarge) {
    const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(bytes.data()) + page - 1) / page;
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(bytes.data()) + count) / page;
    const auto at = [&](std::size_t index) {
      return reinterpret_cast<void*>((begin + index) * page);
    };
    (void)madvise(at(0), (end - begin) * page, MADV_HUGEPAGE);
    share(end - begin, kStep / page, threads, [&](std::size_t first, std::size_t last) {
      (void)madvise(at(first), (last - first) * page, MADV_POPULATE_WRITE);
    });
  }
#else
  (void)threads;
#endif
  bytes.resize(count);
  return bytes;
}

}  // namespace gpuready::ternary
