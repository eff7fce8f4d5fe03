// The launch formula of gpu_info.h.
#include <algorithm>

#include "base/result.h"
#include "gpuready/gpu_info.h"

namespace gpuready {
namespace {
constexpr int kThreadsWanted = 256;  // full occupancy from 2048 threads on every generation
constexpr std::uint64_t kTileDepth = 32, kFloatBytes = 4;
constexpr std::int64_t kMaxGridY = 65535;  // CUDA programming guide: every compute capability

std::int64_t blocks_for(std::int64_t elements, int block) {
  return elements / block + (elements % block != 0 ? 1 : 0);
}

std::uint64_t tiles_bytes(int block_x, int block_y) {
  return static_cast<std::uint64_t>(block_x + block_y) * kTileDepth * kFloatBytes;
}

// blocks_x * blocks_y < limit, without overflow.
bool fewer_than(std::int64_t blocks_x, std::int64_t blocks_y, std::int64_t limit) {
  return blocks_x < limit && blocks_y < limit && blocks_x * blocks_y < limit;
}
}  // namespace

Result<LaunchParams> v0::optimal_launch_params(std::int64_t rows, std::int64_t cols,
                                               const CudaDeviceInfo& device) {
  if (rows <= 0 || cols <= 0) return fail(ErrorKind::bad_input, "rows and cols must be positive");
  if (device.warp_size <= 0 || device.max_threads_per_block < device.warp_size ||
      device.multiprocessor_count <= 0 || device.max_shared_memory_per_block_bytes == 0 ||
      device.max_grid_x <= 0)
    return fail(ErrorKind::unsupported, "the driver did not report the device's limits");
  LaunchParams params;
  params.block_x = device.warp_size;
  if (tiles_bytes(params.block_x, 1) > device.max_shared_memory_per_block_bytes)
    return fail(ErrorKind::unsupported,
                "a tile of one row does not fit the device's shared memory");
  const int threads = std::min(kThreadsWanted, device.max_threads_per_block);
  params.block_y = 1;
  while (params.block_x * params.block_y * 2 <= threads &&
         tiles_bytes(params.block_x, params.block_y * 2) <=
             device.max_shared_memory_per_block_bytes)
    params.block_y *= 2;
  const auto blocks_x = blocks_for(cols, params.block_x);
  while (params.block_y > 1 &&
         fewer_than(blocks_x, blocks_for(rows, params.block_y), device.multiprocessor_count))
    params.block_y /= 2;
  params.grid_x = std::min(blocks_x, device.max_grid_x);
  params.grid_y = std::min(blocks_for(rows, params.block_y), kMaxGridY);
  params.shared_memory_bytes = tiles_bytes(params.block_x, params.block_y);

  std::int64_t resident = device.max_threads_per_multiprocessor / (params.block_x * params.block_y);
  if (device.max_blocks_per_multiprocessor > 0)
    resident = std::min<std::int64_t>(resident, device.max_blocks_per_multiprocessor);
  if (device.shared_memory_per_multiprocessor_bytes > 0)
    resident =
        std::min(resident, static_cast<std::int64_t>(device.shared_memory_per_multiprocessor_bytes /
                                                     params.shared_memory_bytes));
  params.blocks_per_multiprocessor = static_cast<int>(std::max<std::int64_t>(resident, 1));
  return params;
}

}  // namespace gpuready
