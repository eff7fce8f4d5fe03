#include "health/compute/launch.h"

#include <algorithm>

#include "base/random.h"
#include "base/units.h"
#include "kernels/compute_kernel.h"
#include "kernels/cpu/compute_golden.h"

namespace gpuready {
namespace {

constexpr unsigned kCpuCount = 4 * kComputeThreads;  // a thread does what 1024 do on a GPU
constexpr unsigned kCpuSharedWords = 8 * KiB / 4;    // stays in a first-level cache
constexpr unsigned kDefaultSharedBytes = 48 * KiB;   // what every block may have without asking
constexpr unsigned kMostSharedBytes = 256 * KiB;     // more than any SM has (Hopper: 227 KiB)
constexpr unsigned kStaticSharedBytes = 2 * KiB;     // the kernel's own, rounded up

constexpr unsigned kUnnamedBlocksPerUnit = 4;   // this many each fill all units without names
constexpr unsigned kHipSharedBytes = 64 * KiB;  // of a block on AMD's GPUs, without asking

bool is_cpu(const DeviceInfo& info) { return info.executor == "cpu"; }
bool is_vulkan(const DeviceInfo& info) { return info.executor == "vulkan"; }
bool is_hip(const DeviceInfo& info) { return info.executor == "hip"; }
// Of the image that is loaded: an old driver gets that of an older architecture.
int compute_code_capability(const DeviceInfo& info) {
  const auto* image =
      best_image(kCompute.cuda, info.compute_capability.value_or(0), info.driver_version);
  return image ? image->compute_capability : 0;
}
bool op_is_there(const DeviceInfo& info, unsigned op) {
  if (is_vulkan(info)) return compute_op_is_there_in_vulkan(op);
  if (is_hip(info)) return compute_op_is_there_in_hip(op);
  return compute_op_is_there(op, is_cpu(info), compute_code_capability(info));
}

// The dynamic shared memory of a block where it is reported and not found by asking.
unsigned told_shared_bytes(const DeviceInfo& info, unsigned most) {
  const auto told = info.max_shared_bytes_per_block.value_or(kDefaultSharedBytes);
  return static_cast<unsigned>(std::min<std::uint64_t>(told, most)) - kStaticSharedBytes;
}

// The most dynamic shared memory that a block gets, found by asking. Together with 1024 threads of
// 64 registers it leaves room for no second block.
unsigned most_shared_bytes(Device& device) {
  for (unsigned bytes = kMostSharedBytes; bytes > kDefaultSharedBytes; bytes -= KiB)
    if (device.resident_blocks(kCompute, kComputeThreads, bytes).value_or(0) > 0) return bytes;
  return told_shared_bytes(device.info(), kDefaultSharedBytes);
}

}  // namespace

bool units_are_unnamed(const DeviceInfo& info) { return is_vulkan(info) || is_hip(info); }

std::optional<ComputeFault> compute_fault(const Fault& fault, std::span<const unsigned> units,
                                          std::span<const unsigned> ops, const ComputeWork& work) {
  std::uint64_t drawn = fault.seed;
  const auto draw = [&](std::uint64_t below) {  // from one seed, several independent numbers
    drawn = mix_word(drawn + 0x9E3779B97F4A7C15ull, 0);
    return static_cast<unsigned>((drawn >> 32) % below);
  };
  if (units.empty() || ops.empty()) return std::nullopt;
  ComputeFault place;
  place.unit = units[draw(units.size())];
  switch (fault.kind) {
    case FaultClass::slow_sm:
      place.kind = ComputeFaultKind::slow;
      return place;
    case FaultClass::wrong_sm: {
      place.kind = ComputeFaultKind::flip;
      // What one unit of two does differently, no vote decides.
      std::vector<unsigned> wrong(ops.begin(), ops.end());
      if (units.size() < 3)
        std::erase_if(wrong, [](unsigned op) { return op >= kComputeExactOps; });
      if (wrong.empty()) return std::nullopt;
      place.op = wrong[draw(wrong.size())];
      place.index = draw(compute_results(place.op, work.count, work.shared_words));
      place.bits = std::uint64_t{1} << draw(compute_result_bits(compute_op(place.op).result));
      return place;
    }
    case FaultClass::nan: {
      place.kind = ComputeFaultKind::nan;
      std::vector<unsigned> real;
      for (unsigned op : ops)
        if (op < kComputeExactOps && compute_nan(compute_op(op).result) != 0) real.push_back(op);
      if (real.empty()) return std::nullopt;
      place.op = real[draw(real.size())];
      place.bits = compute_nan(compute_op(place.op).result);
      const auto golden = golden_results(work, place.op);
      place.index = draw(golden.size());
      while (golden[place.index] == place.bits) place.index = (place.index + 1) % golden.size();
      return place;
    }
    default:
      return std::nullopt;
  }
}

Result<ComputeLauncher> ComputeLauncher::make(Device& device) {
  const DeviceInfo& info = device.info();
  const unsigned blocks = info.units * (units_are_unnamed(info) ? kUnnamedBlocksPerUnit : 1);
  auto records = TRY(SealedResults::make(device, StreamId{}, blocks * sizeof(ComputeRecord)));
  TRY(device.prepare(kCompute));
  ComputeLauncher launcher(device, std::move(records));
  launcher.nonce_ = random_u64();
  if (is_vulkan(info)) {
    launcher.shape_ = {blocks, kComputeVulkanThreads};
    launcher.count_ = info.software.value_or(false) ? kCpuCount : kComputeCount;
    launcher.shared_words_ = kComputeVulkanSharedWords;
    return launcher;
  }
  if (is_hip(info)) {
    launcher.shape_ = {blocks, kComputeHipThreads, told_shared_bytes(info, kHipSharedBytes)};
    launcher.count_ = kComputeCount;
    launcher.shared_words_ = launcher.shape_.shared_bytes / 4;
    return launcher;
  }
  launcher.shape_ = {blocks, kComputeThreads, 0, info.cooperative_launch.value_or(false)};
  if (is_cpu(info)) {
    launcher.count_ = kCpuCount;
    launcher.shared_words_ = kCpuSharedWords;
    return launcher;
  }
  launcher.timer_.emplace(TRY(EventTimer::make(device, StreamId{})));
  launcher.shape_.shared_bytes = most_shared_bytes(device);
  launcher.count_ = kComputeCount;
  launcher.shared_words_ = launcher.shape_.shared_bytes / 4;
  return launcher;
}

ComputeWork ComputeLauncher::work(std::uint64_t seed, unsigned first_op, unsigned end_op) const {
  return {seed, first_op, end_op, count_, shared_words_};
}

std::vector<unsigned> ComputeLauncher::ops(unsigned first_op, unsigned end_op) const {
  std::vector<unsigned> found;
  for (unsigned op = first_op; op < end_op; ++op)
    if (op_is_there(device_->info(), op)) found.push_back(op);
  return found;
}

Result<std::vector<ComputeRecord>> ComputeLauncher::launch(ComputeParams params) {
  const StreamId stream;
  params.records_address = records_.address();
  params.nonce = ++nonce_;
  if (timer_) TRY(timer_->start());
  TRY(device_->launch(stream, kCompute, shape_, &params, sizeof params));
  if (timer_) ms_ = TRY(timer_->stop_ms());
  std::vector<ComputeRecord> records(shape_.blocks);
  TRY(records_.read(records.data(), records.size() * sizeof records[0]));
  launched_blocks_ += records.size();
  silent_blocks_ += static_cast<std::uint64_t>(std::ranges::count_if(
      records, [&](const ComputeRecord& record) { return record.nonce != nonce_; }));
  return records;
}

namespace {
ComputeParams params_of(const ComputeWork& work, const std::optional<ComputeFault>& fault) {
  ComputeParams params{};
  params.seed = work.seed;
  params.first_op = work.first_op;
  params.end_op = work.end_op;
  params.count = work.count;
  params.shared_words = work.shared_words;
  if (fault) {
    params.fault_kind = fault->kind;
    params.fault_unit = fault->unit + 1;
    params.fault_op = fault->op;
    params.fault_index = fault->index;
    params.fault_bits = fault->bits;
  }
  return params;
}
}  // namespace

Result<std::vector<ComputeRecord>> ComputeLauncher::run(const ComputeWork& work,
                                                        const std::optional<ComputeFault>& fault) {
  return launch(params_of(work, fault));
}

Result<std::optional<std::vector<std::uint64_t>>> ComputeLauncher::results_of(
    ComputeWork work, unsigned op, unsigned unit, const std::optional<ComputeFault>& fault) {
  work.first_op = op;
  work.end_op = op + 1;
  std::vector<std::uint64_t> results(compute_results(op, work.count, work.shared_words));
  const std::uint64_t bytes = results.size() * sizeof results[0];
  auto buffer = TRY(DeviceBuffer::make(*device_, bytes));
  ComputeParams params = params_of(work, fault);
  params.store_unit = unit + 1;
  params.store_address = buffer.address();
  constexpr int kTries = 4;  // where no launch is sure to reach every unit
  for (int i = 0; i < kTries; ++i) {
    auto records = TRY(launch(params));
    const bool came = std::any_of(records.begin(), records.end(), [&](const auto& record) {
      return record.nonce == nonce_ && record.unit_at_start == unit;
    });
    if (silent_blocks_ > 0) break;  // a failure, which no further try hides
    if (!came) continue;
    TRY(records_.read_from(results.data(), buffer.address(), bytes));
    return results;
  }
  return std::nullopt;
}

}  // namespace gpuready
