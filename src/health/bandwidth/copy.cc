#include "health/bandwidth/copy.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "kernels/memory_kernels.h"

namespace gpuready {
namespace {

constexpr unsigned kCopyBlocksPerUnit = 16;

// Linux, include/uapi/linux/mempolicy.h.
constexpr int kPolicyBind = 2;
constexpr unsigned long kGetNode = 1, kGetByAddress = 2;
constexpr int kMostNodes = 1024;

std::optional<int> node_of(void* page) {
  int node = -1;
  if (::syscall(SYS_get_mempolicy, &node, nullptr, 0ul, page, kGetNode | kGetByAddress) != 0)
    return std::nullopt;
  return node;
}

Result<void*> map_pages(std::uint64_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fail_errno(fmt::format("{} of host memory", format_bytes(bytes)), errno);
  return memory;
}

}  // namespace

Result<void> prepare_copy_kernel(Device& device) { return device.prepare(kMemoryCopy); }

Result<void> copy_by_kernel(Device& device, StreamId stream, DeviceAddress target,
                            DeviceAddress source, std::uint64_t bytes, std::uint64_t piece_bytes) {
  LaunchShape shape;
  shape.threads = kMemoryKernelThreads;
  for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
    const MemoryCopyParams params{target + at, source + at, std::min(piece_bytes, bytes - at)};
    shape.blocks = static_cast<unsigned>(
        std::clamp<std::uint64_t>(params.bytes / 16 / kMemoryKernelThreads / 4, 1,
                                  std::uint64_t{device.info().units} * kCopyBlocksPerUnit));
    TRY(device.launch(stream, kMemoryCopy, shape, &params, sizeof params));
  }
  return {};
}

Result<HostBuffer> HostBuffer::pinned(Device& device, std::uint64_t bytes) {
  auto memory = TRY(device.allocate_pinned(bytes));
  return HostBuffer(&device, memory, bytes, Kind::pinned);
}

Result<HostBuffer> HostBuffer::pageable(std::uint64_t bytes) {
  auto memory = TRY(map_pages(bytes));
  std::memset(memory, 0, bytes);  // page faults belong into no timed copy
  return HostBuffer(nullptr, memory, bytes, Kind::mapped);
}

Result<HostBuffer> HostBuffer::on_node(Device& device, int node, std::uint64_t bytes) {
  if (node < 0 || node >= kMostNodes) return fail(ErrorKind::bad_input, "no such NUMA node");
  auto memory = map_pages(bytes);
  if (!memory) return std::unexpected(memory.error());
  HostBuffer buffer(&device, *memory, bytes, Kind::mapped);
  unsigned long mask[kMostNodes / (8 * sizeof(unsigned long))] = {};
  mask[static_cast<unsigned>(node) / 64] = 1ul << node % 64;
  if (::syscall(SYS_mbind, *memory, bytes, kPolicyBind, mask,
                static_cast<unsigned long>(kMostNodes), 0u) != 0)
    return fail_errno(fmt::format("binding memory to NUMA node {}", node), errno);
  std::memset(*memory, 0, bytes);
  for (std::uint64_t at : {std::uint64_t{0}, bytes - 1})
    if (node_of(static_cast<char*>(*memory) + at) != node)
      return fail(ErrorKind::unsupported,
                  fmt::format("memory bound to NUMA node {} is elsewhere", node));
  TRY(device.pin(*memory, bytes));
  buffer.kind_ = Kind::mapped_and_pinned;
  return buffer;
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : device_(other.device_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      kind_(other.kind_) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(kind_, other.kind_);
  return *this;
}

HostBuffer::~HostBuffer() {
  if (!data_) return;
  if (kind_ == Kind::pinned) {
    (void)device_->release_pinned(data_);
    return;
  }
  if (kind_ == Kind::mapped_and_pinned) (void)device_->unpin(data_);
  ::munmap(data_, bytes_);
}

namespace {
// Of a list such as "0-1,8"; nothing where the file is not there.
std::optional<std::vector<int>> nodes_in(Host& host, std::string_view file) {
  const auto list = host.read_text(fmt::format("/sys/devices/system/node/{}", file));
  if (!list) return std::nullopt;
  std::vector<int> nodes;
  for (const auto range : split(*list, ",")) {
    const auto dash = range.find('-');
    const auto first = parse_int(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last >= kMostNodes) continue;
    for (auto node = *first; node <= *last; ++node) nodes.push_back(static_cast<int>(node));
  }
  return nodes;
}
}  // namespace

std::vector<int> memory_nodes(Host& host) {
  auto nodes = nodes_in(host, "has_memory");
  if (!nodes) nodes = nodes_in(host, "online");
  if (!nodes) return {};
  // A node without a processor is the memory of a GPU (GH200) or behind CXL.
  if (const auto with_cpu = nodes_in(host, "has_cpu"); with_cpu && !with_cpu->empty())
    std::erase_if(*nodes,
                  [&](int node) { return std::ranges::find(*with_cpu, node) == with_cpu->end(); });
  return std::move(*nodes);
}

}  // namespace gpuready
