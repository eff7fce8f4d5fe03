#include "device/vulkan/vulkan_queue.h"

#include <limits>
#include <utility>

namespace gpuready {
namespace {

constexpr std::uint32_t kTimestamps = 4096;
constexpr std::size_t kMaxRunning = 64;  // submissions made and not yet waited for
// A submission costs tens of microseconds.
constexpr unsigned kBatchOperations = 32;

void barrier(const VulkanLibrary& vulkan, VkCommandBuffer commands, VkAccessFlags target,
             VkPipelineStageFlags stage) {
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  memory.dstAccessMask = target;
  vulkan.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, stage, 0, 1, &memory, 0,
                            nullptr, 0, nullptr);
}

}  // namespace

VulkanQueue::~VulkanQueue() {
  const VulkanLibrary& vulkan = *context_.vulkan;
  if (queries_) vulkan.DestroyQueryPool(context_.device, queries_, nullptr);
  if (timeline_) vulkan.DestroySemaphore(context_.device, timeline_, nullptr);
  if (pool_) vulkan.DestroyCommandPool(context_.device, pool_, nullptr);
}

Result<void> VulkanQueue::open() {
  const VulkanLibrary& vulkan = *context_.vulkan;
  vulkan.GetDeviceQueue(context_.device, context_.facts.queue_family, 0, &queue_);
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags =
      VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT | VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  pool.queueFamilyIndex = context_.facts.queue_family;
  if (auto done = vulkan_checked("vkCreateCommandPool",
                                 vulkan.CreateCommandPool(context_.device, &pool, nullptr, &pool_));
      !done)
    return done;
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{};
  semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  semaphore.pNext = &type;
  if (auto done =
          vulkan_checked("vkCreateSemaphore",
                         vulkan.CreateSemaphore(context_.device, &semaphore, nullptr, &timeline_));
      !done)
    return done;
  for (std::uint64_t id = kTimestamps; id > 0; --id) free_timestamps_.push_back(id);
  if (!keeps_time()) return {};
  VkQueryPoolCreateInfo queries{};
  queries.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
  queries.queryCount = kTimestamps;
  return vulkan_checked("vkCreateQueryPool",
                        vulkan.CreateQueryPool(context_.device, &queries, nullptr, &queries_));
}

// An idle command buffer: a new one while none has come back.
Result<VkCommandBuffer> VulkanQueue::take_commands() {
  const VulkanLibrary& vulkan = *context_.vulkan;
  if (running_.size() >= kMaxRunning)
    if (auto done = wait_for(running_.front().value); !done) return std::unexpected(done.error());
  std::uint64_t reached = 0;
  if (auto done =
          vulkan_checked("vkGetSemaphoreCounterValue",
                         vulkan.GetSemaphoreCounterValue(context_.device, timeline_, &reached));
      !done)
    return std::unexpected(done.error());
  while (!running_.empty() && running_.front().value <= reached) {
    idle_.push_back(running_.front().commands);
    running_.pop_front();
  }
  if (idle_.empty()) {
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer made = VK_NULL_HANDLE;
    if (auto done = vulkan_checked("vkAllocateCommandBuffers",
                                   vulkan.AllocateCommandBuffers(context_.device, &info, &made));
        !done)
      return std::unexpected(done.error());
    idle_.push_back(made);
  }
  const VkCommandBuffer commands = idle_.back();
  idle_.pop_back();
  return commands;
}

Result<void> VulkanQueue::begin_batch() {
  auto commands = TRY(take_commands());
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  TRY(vulkan_checked("vkBeginCommandBuffer",
                     context_.vulkan->BeginCommandBuffer(commands, &begin)));
  batch_ = commands;
  batch_operations_ = 0;
  batch_writes_host_ = false;
  return {};
}

Result<void> VulkanQueue::run(const Record& record, bool to_host) {
  if (!batch_)
    if (auto begun = begin_batch(); !begun) return begun;
  barrier(*context_.vulkan, batch_, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  record(batch_);
  batch_writes_host_ |= to_host;
  return ++batch_operations_ >= kBatchOperations ? submit_batch() : Result<void>();
}

Result<void> VulkanQueue::submit_batch() {
  if (!batch_) return {};
  const VulkanLibrary& vulkan = *context_.vulkan;
  const VkCommandBuffer commands = std::exchange(batch_, VK_NULL_HANDLE);
  // A semaphore makes nothing visible to the host.
  if (batch_writes_host_)
    barrier(vulkan, commands, VK_ACCESS_HOST_READ_BIT, VK_PIPELINE_STAGE_HOST_BIT);
  TRY(vulkan_checked("vkEndCommandBuffer", vulkan.EndCommandBuffer(commands)));

  const std::uint64_t value = submitted_ + 1;
  VkTimelineSemaphoreSubmitInfo timeline{};
  timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &value;
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.pNext = &timeline;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  submit.signalSemaphoreCount = 1;
  submit.pSignalSemaphores = &timeline_;
  if (auto done =
          vulkan_checked("vkQueueSubmit", vulkan.QueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE));
      !done)
    return done;
  submitted_ = value;
  running_.push_back({value, commands});
  return {};
}

Result<void> VulkanQueue::wait() {
  TRY(submit_batch());
  return wait_for(submitted_);
}

// Without a limit: who hangs here is ended by the parent, which sees that no progress comes.
Result<void> VulkanQueue::wait_for(std::uint64_t value) {
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &value;
  return vulkan_checked("vkWaitSemaphores",
                        context_.vulkan->WaitSemaphores(context_.device, &info,
                                                        std::numeric_limits<std::uint64_t>::max()));
}

Result<std::uint64_t> VulkanQueue::create_timestamp() {
  if (free_timestamps_.empty())
    return fail(ErrorKind::too_large, "all timestamps of the Vulkan queue are in use");
  const std::uint64_t id = free_timestamps_.back();
  free_timestamps_.pop_back();
  return id;
}

void VulkanQueue::destroy_timestamp(std::uint64_t id) {
  if (id == 0 || id > kTimestamps) return;
  host_times_.erase(id);
  free_timestamps_.push_back(id);
}

Result<void> VulkanQueue::record_timestamp(std::uint64_t id) {
  if (id == 0 || id > kTimestamps) return fail(ErrorKind::bad_input, "no such event");
  const auto query = static_cast<std::uint32_t>(id - 1);
  if (!keeps_time()) {
    TRY(wait());
    host_times_[id] = std::chrono::steady_clock::now();
    return {};
  }
  return run([&](VkCommandBuffer commands) {
    context_.vulkan->CmdResetQueryPool(commands, queries_, query, 1);
    context_.vulkan->CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_,
                                       query);
  });
}

Result<std::uint64_t> VulkanQueue::read_timestamp(std::uint64_t id) {
  std::uint64_t ticks = 0;
  if (id == 0 || id > kTimestamps) return fail(ErrorKind::bad_input, "no such event");
  TRY(vulkan_checked("vkGetQueryPoolResults",
                     context_.vulkan->GetQueryPoolResults(
                         context_.device, queries_, static_cast<std::uint32_t>(id - 1), 1,
                         sizeof ticks, &ticks, sizeof ticks, VK_QUERY_RESULT_64_BIT)));
  return ticks;
}

Result<double> VulkanQueue::elapsed_ms(std::uint64_t start, std::uint64_t stop) {
  if (!keeps_time()) {
    const auto from = host_times_.find(start), to = host_times_.find(stop);
    if (from == host_times_.end() || to == host_times_.end())
      return fail(ErrorKind::bad_input, "an event that was never recorded");
    return std::chrono::duration<double, std::milli>(to->second - from->second).count();
  }
  auto from = TRY(read_timestamp(start));
  auto to = TRY(read_timestamp(stop));
  const std::uint32_t bits = context_.facts.timestamp_valid_bits;
  const std::uint64_t mask = bits >= 64 ? ~0ull : (1ull << bits) - 1;  // the counter wraps there
  return static_cast<double>((to - from) & mask) * context_.facts.timestamp_period_ns / 1e6;
}

}  // namespace gpuready
