#include "device/vulkan/vulkan_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "device/vulkan/vulkan_memory.h"
#include "device/vulkan/vulkan_pipeline.h"
#include "device/vulkan/vulkan_queue.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kStagingBytes = 4 * MiB;
constexpr std::uint64_t kInlineBytes = 4096;
// Vulkan does not tell how many blocks a unit holds. This many threads fit on a unit of every
// vendor's GPUs of the last ten years.
constexpr unsigned kResidentThreads = 1024;

class VulkanDevice final : public Device {
 public:
  VulkanDevice(const VulkanLibrary& vulkan, VkPhysicalDevice physical, VulkanFacts facts) {
    context_.vulkan = &vulkan;
    context_.physical = physical;
    context_.facts = std::move(facts);
  }
  ~VulkanDevice() override {
    if (queue_) (void)queue_->wait();  // a lost device answers at once
    pipelines_.reset();
    queue_.reset();
    memory_.reset();
    if (context_.device) context_.vulkan->DestroyDevice(context_.device, nullptr);
  }
  Result<void> open();

  const DeviceInfo& info() const override { return context_.facts.info; }
  Result<DeviceMemory> memory() override {
    if (lost_) return std::unexpected(*lost_);
    return memory_->budget();
  }
  DeviceFault fault_of(const Error& error) const override { return vulkan_fault_of(error); }

  Result<DeviceAddress> allocate(std::uint64_t bytes) override {
    if (lost_) return std::unexpected(*lost_);
    return note(memory_->allocate(bytes));
  }
  // What still runs may use the memory.
  Result<void> release(DeviceAddress address) override {
    TRY(synchronize({}));
    return memory_->release(address);
  }
  Result<void*> allocate_pinned(std::uint64_t bytes) override {
    if (lost_) return std::unexpected(*lost_);
    return note(memory_->allocate_host(bytes));
  }
  Result<void> release_pinned(void* memory) override {
    TRY(synchronize({}));
    return memory_->release_host(memory);
  }

  Result<void> copy_to_device(StreamId stream, DeviceAddress target, const void* source,
                              std::uint64_t bytes) override;
  Result<void> copy_to_host(StreamId stream, void* target, DeviceAddress source,
                            std::uint64_t bytes) override;
  Result<void> copy_on_device(StreamId stream, DeviceAddress target, DeviceAddress source,
                              std::uint64_t bytes) override;

  // All streams are the one queue: what they are given runs in the order given.
  Result<StreamId> create_stream() override {
    if (lost_) return std::unexpected(*lost_);
    return StreamId{++last_stream_};
  }
  Result<void> destroy_stream(StreamId stream) override { return synchronize(stream); }
  Result<void> synchronize(StreamId) override {
    if (lost_) return std::unexpected(*lost_);
    return note(queue_->wait());
  }
  Result<EventId> create_event() override {
    if (lost_) return std::unexpected(*lost_);
    auto id = TRY(queue_->create_timestamp());
    return EventId{id};
  }
  Result<void> destroy_event(EventId event) override {
    TRY(synchronize({}));
    queue_->destroy_timestamp(event.value);
    return {};
  }
  Result<void> record(EventId event, StreamId) override {
    if (lost_) return std::unexpected(*lost_);
    return note(queue_->record_timestamp(event.value));
  }
  Result<double> elapsed_ms(EventId start, EventId stop) override {
    if (lost_) return std::unexpected(*lost_);
    return note(queue_->elapsed_ms(start.value, stop.value));
  }

  Result<void> prepare(const Kernel& kernel) override {
    if (lost_) return std::unexpected(*lost_);
    TRY(note(pipelines_->find(kernel)));
    return {};
  }
  Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                      const void* params, std::size_t params_bytes) override;
  Result<unsigned> resident_blocks(const Kernel& kernel, unsigned threads,
                                   unsigned shared_bytes) override {
    TRY(prepare(kernel));
    if (info().software.value_or(false)) return 1u;
    unsigned blocks = kResidentThreads / std::max(threads, 1u);
    if (shared_bytes > 0)
      blocks = std::min<unsigned>(
          blocks,
          static_cast<unsigned>(info().max_shared_bytes_per_block.value_or(0) / shared_bytes));
    return std::max(blocks, 1u);
  }

  const std::optional<Error>& lost() const override { return lost_; }

 private:
  template <class T>
  Result<T> note(Result<T> result) {
    if (!result && !lost_ && result.error().kind == ErrorKind::device &&
        result.error().code == VK_ERROR_DEVICE_LOST)
      lost_ = result.error();
    return result;
  }
  Result<void> copy(VulkanSpan target, VulkanSpan source, std::uint64_t bytes,
                    bool to_host = false);
  Result<VulkanSpan> staging();

  VulkanContext context_;
  std::optional<VulkanMemory> memory_;
  std::optional<VulkanQueue> queue_;
  std::optional<VulkanPipelines> pipelines_;
  void* staging_ = nullptr;  // for host memory that is not pinned
  std::uint64_t last_stream_ = 0;
  std::optional<Error> lost_;
};

Result<void> VulkanDevice::open() {
  const float priority = 0.5F;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = context_.facts.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDeviceVulkan12Features features12{};
  features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features12.bufferDeviceAddress = VK_TRUE;
  features12.timelineSemaphore = VK_TRUE;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &features12;
  features.features.shaderInt64 = VK_TRUE;
  features.features.shaderFloat64 = context_.facts.float64 ? VK_TRUE : VK_FALSE;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  if (auto done = vulkan_checked(
          "vkCreateDevice",
          context_.vulkan->CreateDevice(context_.physical, &info, nullptr, &context_.device));
      !done)
    return done;
  memory_.emplace(context_);
  memory_->open();
  queue_.emplace(context_);
  if (auto done = queue_->open(); !done) return done;
  pipelines_.emplace(context_);
  return pipelines_->open();
}

Result<void> VulkanDevice::copy(VulkanSpan target, VulkanSpan source, std::uint64_t bytes,
                                bool to_host) {
  if (lost_) return std::unexpected(*lost_);
  if (bytes == 0) return {};
  const VkBufferCopy region{source.offset_bytes, target.offset_bytes, bytes};
  return note(queue_->run(
      [&](VkCommandBuffer commands) {
        context_.vulkan->CmdCopyBuffer(commands, source.buffer, target.buffer, 1, &region);
      },
      to_host));
}

Result<VulkanSpan> VulkanDevice::staging() {
  if (!staging_) {
    auto made = TRY(allocate_pinned(kStagingBytes));
    staging_ = made;
  }
  return *memory_->find_host(staging_, kStagingBytes);
}

Result<void> VulkanDevice::copy_to_device(StreamId, DeviceAddress target, const void* source,
                                          std::uint64_t bytes) {
  if (lost_) return std::unexpected(*lost_);
  auto to = TRY(memory_->find(target, bytes));
  if (const auto from = memory_->find_host(source, bytes)) return copy(to, *from, bytes);
  // Little goes into the command buffer itself, and nothing is waited for.
  if (bytes > 0 && bytes <= kInlineBytes && bytes % 4 == 0 && to.offset_bytes % 4 == 0)
    return note(queue_->run([&](VkCommandBuffer commands) {
      context_.vulkan->CmdUpdateBuffer(commands, to.buffer, to.offset_bytes, bytes, source);
    }));
  auto stage = staging();
  if (!stage) return std::unexpected(stage.error());
  for (std::uint64_t at = 0; at < bytes; at += kStagingBytes) {
    const std::uint64_t part = std::min(kStagingBytes, bytes - at);
    if (auto idle = synchronize({}); !idle) return idle;  // of what reads the stage
    std::memcpy(staging_, static_cast<const char*>(source) + at, part);
    if (auto done = copy({to.buffer, to.offset_bytes + at}, *stage, part); !done) return done;
  }
  return {};
}

Result<void> VulkanDevice::copy_to_host(StreamId, void* target, DeviceAddress source,
                                        std::uint64_t bytes) {
  if (lost_) return std::unexpected(*lost_);
  auto from = TRY(memory_->find(source, bytes));
  if (const auto to = memory_->find_host(target, bytes)) return copy(*to, from, bytes, true);
  auto stage = TRY(staging());
  for (std::uint64_t at = 0; at < bytes; at += kStagingBytes) {
    const std::uint64_t part = std::min(kStagingBytes, bytes - at);
    TRY(copy(stage, {from.buffer, from.offset_bytes + at}, part, true));
    TRY(synchronize({}));
    std::memcpy(static_cast<char*>(target) + at, staging_, part);
  }
  return {};
}

Result<void> VulkanDevice::copy_on_device(StreamId, DeviceAddress target, DeviceAddress source,
                                          std::uint64_t bytes) {
  if (lost_) return std::unexpected(*lost_);
  auto to = TRY(memory_->find(target, bytes));
  auto from = TRY(memory_->find(source, bytes));
  return copy(to, from, bytes);
}

Result<void> VulkanDevice::launch(StreamId, const Kernel& kernel, const LaunchShape& shape,
                                  const void* params, std::size_t params_bytes) {
  if (lost_) return std::unexpected(*lost_);
  if (params_bytes > kMaxKernelParameterBytes || params_bytes % 4 != 0)
    return fail(ErrorKind::bad_input, "kernel parameters are not whole words of at most 128 bytes");
  if (shape.cooperative || shape.shared_bytes > 0)
    return fail(ErrorKind::unsupported,
                "Vulkan has neither cooperative launches nor shared memory sized at launch");
  auto pipeline = TRY(note(pipelines_->find(kernel)));
  if (shape.threads != pipeline.threads || shape.blocks == 0 ||
      shape.blocks > context_.facts.max_blocks)
    return fail(ErrorKind::bad_input,
                fmt::format("kernel {} runs with {} threads a block and at most {} blocks, not "
                            "with {} and {}",
                            kernel.name, pipeline.threads, context_.facts.max_blocks, shape.threads,
                            shape.blocks));
  const VulkanLibrary& vulkan = *context_.vulkan;
  return note(queue_->run([&](VkCommandBuffer commands) {
    vulkan.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    if (params_bytes > 0)
      vulkan.CmdPushConstants(commands, pipelines_->layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                              static_cast<std::uint32_t>(params_bytes), params);
    vulkan.CmdDispatch(commands, shape.blocks, 1, 1);
  }));
}

}  // namespace

Result<std::unique_ptr<Device>> open_vulkan_device(std::string_view uuid) {
  auto vulkan = TRY(VulkanLibrary::start());
  auto devices = TRY(vulkan->devices());
  std::vector<std::string> seen;
  for (const VkPhysicalDevice physical : devices) {
    seen.push_back(vulkan_device_uuid(*vulkan, physical));
    if (seen.back().empty() || seen.back() != uuid) continue;
    auto facts = TRY(read_vulkan_facts(*vulkan, physical));
    auto device = std::make_unique<VulkanDevice>(*vulkan, physical, std::move(facts));
    TRY(device->open());
    return device;
  }
  return fail(ErrorKind::not_found,
              fmt::format("Vulkan does not show {} to this process (it shows: {})", printable(uuid),
                          seen.empty() ? "nothing" : join(seen, ", ")));
}

}  // namespace gpuready
