#include "device/memory_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "base/units.h"

namespace gpuready {
namespace detail {

struct PoolState {
  struct Used {
    std::uint64_t block_bytes = 0, asked_bytes = 0, number = 0;
    StreamId stream;
    std::vector<std::uint64_t> also_on;  // other streams
    CallSite site;
  };
  struct Cached {
    DeviceAddress address = 0;
    std::uint64_t block_bytes = 0;
    // Streams whose work may use it still; the first is the one that it was given back on.
    std::vector<std::uint64_t> pending;
  };

  Device* device;
  PoolOptions options;
  mutable std::mutex mutex;
  bool closed = false;
  std::map<DeviceAddress, Used> used;
  std::vector<Cached> cached;  // a few dozen at most; searched from end to end
  PoolStats stats;
  std::uint64_t next_number = 0;

  std::uint64_t held() const { return stats.in_use_bytes + stats.cached_bytes; }
  void give_back(DeviceAddress address);
  Result<DeviceAddress> take(std::uint64_t block, StreamId stream, std::uint64_t& got);
  Result<void> wait_for(std::uint64_t stream);
  Result<std::uint64_t> trim(std::uint64_t keep_bytes);
  void drop(std::size_t index);
};

namespace {

// A cached block may be this much larger than what is needed.
bool close_enough(std::uint64_t have, std::uint64_t need) {
  return have >= need && have - need <= need / 4;
}

}  // namespace

Result<void> PoolState::wait_for(std::uint64_t stream) {
  TRY(device->synchronize(StreamId{stream}));
  for (Cached& block : cached) std::erase(block.pending, stream);
  return {};
}

void PoolState::drop(std::size_t index) {
  (void)device->release(cached[index].address);  // a lost device has nothing left to release
  stats.cached_bytes -= cached[index].block_bytes;
  --stats.cached_blocks;
  cached.erase(cached.begin() + static_cast<std::ptrdiff_t>(index));
}

Result<std::uint64_t> PoolState::trim(std::uint64_t keep_bytes) {
  std::uint64_t released = 0;
  while (stats.cached_bytes > keep_bytes) {
    const auto largest = std::max_element(
        cached.begin(), cached.end(),
        [](const Cached& a, const Cached& b) { return a.block_bytes < b.block_bytes; });
    // Not every executor's release waits for the work that uses the memory.
    while (!largest->pending.empty() && !device->lost()) {
      TRY(wait_for(largest->pending.back()));
      ++stats.waits;
    }
    released += largest->block_bytes;
    drop(static_cast<std::size_t>(largest - cached.begin()));
  }
  return released;
}

void PoolState::give_back(DeviceAddress address) {
  const std::lock_guard lock(mutex);
  const auto found = used.find(address);
  if (found == used.end()) return;
  Used block = std::move(found->second);
  used.erase(found);
  stats.in_use_bytes -= block.block_bytes;
  stats.requested_bytes -= block.asked_bytes;
  --stats.in_use_blocks;
  block.also_on.insert(block.also_on.begin(), block.stream.value);
  cached.push_back({address, block.block_bytes, std::move(block.also_on)});
  stats.cached_bytes += block.block_bytes;
  ++stats.cached_blocks;
  if (closed || device->lost()) {
    (void)trim(0);
  } else if (options.most_cached_bytes > 0) {
    (void)trim(options.most_cached_bytes);
  }
}

// A cached block for this stream, the smallest that serves; 0 when there is none.
Result<DeviceAddress> PoolState::take(std::uint64_t block, StreamId stream, std::uint64_t& got) {
  const auto free_for = [&](const Cached& c, bool wait) {
    return close_enough(c.block_bytes, block) &&
           (wait || std::all_of(c.pending.begin(), c.pending.end(),
                                [&](std::uint64_t s) { return s == stream.value; }));
  };
  const auto find = [&](bool wait) {
    auto best = cached.end();
    for (auto c = cached.begin(); c != cached.end(); ++c)
      if (free_for(*c, wait) && (best == cached.end() || c->block_bytes < best->block_bytes))
        best = c;
    return best;
  };
  auto best = find(false);
  // The driver would have to be asked, and beyond the limit in vain: waiting is the lesser evil.
  if (best == cached.end() && options.limit_bytes > 0 && held() + block > options.limit_bytes) {
    best = find(true);
    if (best != cached.end()) {
      const auto pending = best->pending;
      for (const std::uint64_t s : pending) {
        if (s == stream.value) continue;
        TRY(wait_for(s));
        ++stats.waits;
      }
    }
  }
  if (best == cached.end()) return DeviceAddress{0};
  const DeviceAddress address = best->address;
  got = best->block_bytes;
  stats.cached_bytes -= got;
  --stats.cached_blocks;
  cached.erase(best);
  ++stats.hits;
  return address;
}

}  // namespace detail

using detail::PoolState;

std::uint64_t pool_block_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kLeast = 256, kLarge = 2 * MiB;
  if (bytes <= kLeast) return kLeast;
  // Beyond this no device has memory, and the next multiple could not be reported.
  if (bytes > UINT64_MAX / 2) return bytes;
  const std::uint64_t step = bytes > kLarge ? kLarge : std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

std::string v0::to_string(const PoolLeak& leak) {
  return fmt::format("{} at {} from {}:{} ({})", format_bytes(leak.bytes), format_hex(leak.address),
                     leak.file, leak.line, leak.function);
}

PoolBlock::PoolBlock(PoolBlock&& other) noexcept
    : pool_(std::move(other.pool_)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)),
      stream_(other.stream_) {}

PoolBlock& PoolBlock::operator=(PoolBlock&& other) noexcept {
  if (this == &other) return *this;
  reset();
  pool_ = std::move(other.pool_);
  address_ = std::exchange(other.address_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  stream_ = other.stream_;
  return *this;
}

void PoolBlock::used_on(StreamId stream) {
  if (!pool_ || stream.value == stream_.value) return;
  const std::lock_guard lock(pool_->mutex);
  auto& streams = pool_->used.at(address_).also_on;
  if (std::find(streams.begin(), streams.end(), stream.value) == streams.end())
    streams.push_back(stream.value);
}

void PoolBlock::reset() {
  if (pool_) pool_->give_back(address_);
  pool_.reset();
  address_ = 0;
  bytes_ = 0;
}

DevicePool::DevicePool(Device& device, const PoolOptions& options)
    : state_(std::make_shared<PoolState>()) {
  state_->device = &device;
  state_->options = options;
}

DevicePool::~DevicePool() {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  (void)state_->trim(0);
}

Result<PoolBlock> DevicePool::allocate(std::uint64_t bytes, StreamId stream, CallSite site) {
  PoolState& pool = *state_;
  const std::lock_guard lock(pool.mutex);
  const auto refused = [&](Error error) -> Result<PoolBlock> {
    ++pool.stats.refused;
    return std::unexpected(std::move(error));
  };
  if (bytes == 0) return refused({ErrorKind::bad_input, "a block of 0 bytes was asked for"});
  if (const auto& lost = pool.device->lost()) return refused(*lost);
  std::uint64_t block = pool_block_bytes(bytes);
  const std::uint64_t limit = pool.options.limit_bytes;
  const auto over_limit = [&] {
    return limit > 0 && (block > limit || pool.held() > limit - block);
  };
  auto taken = pool.take(block, stream, block);
  if (!taken) return refused(taken.error());
  if (*taken == 0) {
    if (over_limit()) {
      const std::uint64_t others = pool.stats.in_use_bytes;
      if (limit >= block && limit - block >= others)
        if (auto trimmed = pool.trim(limit - block - others); !trimmed)
          return refused(trimmed.error());
      if (over_limit())
        return refused(
            {ErrorKind::too_large,
             fmt::format("{} in addition to {} in use exceed the pool's limit of {}",
                         format_bytes(block), format_bytes(others), format_bytes(limit))});
    }
    taken = pool.device->allocate(block);
    if (!taken && pool.device->fault_of(taken.error()) == DeviceFault::out_of_memory &&
        pool.stats.cached_bytes > 0) {
      if (auto trimmed = pool.trim(0); !trimmed) return refused(trimmed.error());
      taken = pool.device->allocate(block);
    }
    if (!taken) return refused(taken.error());
    ++pool.stats.misses;
  }
  PoolStats& stats = pool.stats;
  stats.in_use_bytes += block;
  ++stats.in_use_blocks;
  stats.requested_bytes += bytes;
  stats.peak_in_use_bytes = std::max(stats.peak_in_use_bytes, stats.in_use_bytes);
  stats.peak_held_bytes = std::max(stats.peak_held_bytes, pool.held());
  pool.used[*taken] = {block, bytes, pool.next_number++, stream, {}, site};
  PoolBlock given;
  given.pool_ = state_;
  given.address_ = *taken;
  given.bytes_ = bytes;
  given.stream_ = stream;
  return given;
}

Result<void> DevicePool::synchronize(StreamId stream) {
  const std::lock_guard lock(state_->mutex);
  return state_->wait_for(stream.value);
}

Result<std::uint64_t> DevicePool::trim(std::uint64_t keep_bytes) {
  const std::lock_guard lock(state_->mutex);
  return state_->trim(keep_bytes);
}

PoolStats DevicePool::stats() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stats;
}

std::vector<PoolLeak> DevicePool::leaks() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<const std::pair<const DeviceAddress, PoolState::Used>*> order;
  for (const auto& entry : state_->used) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->second.number < b->second.number; });
  std::vector<PoolLeak> leaks;
  for (const auto* entry : order) {
    const auto& site = entry->second.site;
    leaks.push_back({entry->first, entry->second.asked_bytes, site.file, site.function, site.line});
  }
  return leaks;
}

}  // namespace gpuready
