// DevicePool on a borrowed context.
#include "gpuready/cuda_pool.h"

#include <bit>
#include <new>

#include "base/forks.h"
#include "base/result.h"
#include "device/cuda/cuda_device.h"
#include "device/memory_pool.h"

namespace gpuready {
namespace detail {

struct CudaPoolState {
  std::unique_ptr<Device> device;  // outlives what is below
  std::unique_ptr<DevicePool> pool;
  unsigned made_at_fork = fork_count();

  bool forked() const { return made_at_fork != fork_count(); }
  ~CudaPoolState() {
    if (!forked()) return;
    (void)pool.release();  // a driver does not work in a forked process
    (void)device.release();
  }
};

struct CudaPoolBlock {
  std::shared_ptr<CudaPoolState> state;  // the device, until the block has ended
  PoolBlock block;

  CudaPoolBlock(std::shared_ptr<CudaPoolState> s, PoolBlock b)
      : state(std::move(s)), block(std::move(b)) {}
  CudaPoolBlock(const CudaPoolBlock&) = delete;
  CudaPoolBlock& operator=(const CudaPoolBlock&) = delete;
  ~CudaPoolBlock() {
    if (state->forked()) (void)new (std::nothrow) PoolBlock(std::move(block));
  }
};

}  // namespace detail

namespace {

StreamId id_of(void* stream) { return {std::bit_cast<std::uintptr_t>(stream)}; }

Result<void> usable(const detail::CudaPoolState& state) {
  if (!state.forked()) return {};
  return fail(ErrorKind::unsupported,
              "this pool was made before the process forked; make one in the new process");
}

}  // namespace

CudaBlock::CudaBlock() = default;
CudaBlock::CudaBlock(CudaBlock&&) noexcept = default;
CudaBlock& CudaBlock::operator=(CudaBlock&&) noexcept = default;
CudaBlock::~CudaBlock() = default;

void* CudaBlock::address() const {
  return block_ ? std::bit_cast<void*>(block_->block.address()) : nullptr;
}
std::size_t CudaBlock::bytes() const { return block_ ? block_->block.bytes() : 0; }
void CudaBlock::used_on(void* stream) {
  if (block_ && !block_->state->forked()) block_->block.used_on(id_of(stream));
}
void CudaBlock::reset() { block_.reset(); }

Result<CudaPool> CudaPool::create(void* context, const PoolOptions& options) {
  auto state = std::make_shared<detail::CudaPoolState>();
  state->device = TRY(borrow_cuda_context(context));
  state->pool = std::make_unique<DevicePool>(*state->device, options);
  return CudaPool(std::move(state));
}

Result<CudaBlock> CudaPool::allocate(std::size_t bytes, void* stream, CallSite site) const {
  TRY(usable(*state_));
  auto taken = TRY(state_->pool->allocate(bytes, id_of(stream), site));
  CudaBlock block;
  block.block_ = std::make_unique<detail::CudaPoolBlock>(state_, std::move(taken));
  return block;
}

Result<void> CudaPool::synchronize(void* stream) const {
  TRY(usable(*state_));
  return state_->pool->synchronize(id_of(stream));
}

Result<std::uint64_t> CudaPool::trim(std::uint64_t keep_bytes) const {
  TRY(usable(*state_));
  return state_->pool->trim(keep_bytes);
}

// Their locks may be held for ever in a forked process.
PoolStats CudaPool::stats() const { return state_->forked() ? PoolStats{} : state_->pool->stats(); }
std::vector<PoolLeak> CudaPool::leaks() const {
  return state_->forked() ? std::vector<PoolLeak>{} : state_->pool->leaks();
}

}  // namespace gpuready
