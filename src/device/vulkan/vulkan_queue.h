// One queue: operations run one after the other in the order given, with a full memory barrier
// before each. They are collected and submitted some at a time, at the latest when they are waited
// for; each submission raises a timeline semaphore by one.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "device/vulkan/vulkan_context.h"

namespace gpuready {

class VulkanQueue {
 public:
  using Record = std::function<void(VkCommandBuffer)>;

  explicit VulkanQueue(const VulkanContext& context) : context_(context) {}
  VulkanQueue(const VulkanQueue&) = delete;
  ~VulkanQueue();
  Result<void> open();

  // `to_host`: it writes memory that the host reads.
  Result<void> run(const Record& record, bool to_host = false);
  Result<void> wait();

  Result<std::uint64_t> create_timestamp();
  void destroy_timestamp(std::uint64_t id);
  // The time at which everything given so far is done.
  Result<void> record_timestamp(std::uint64_t id);
  // Between two that have happened.
  Result<double> elapsed_ms(std::uint64_t start, std::uint64_t stop);

 private:
  struct Submitted {
    std::uint64_t value;
    VkCommandBuffer commands;
  };
  Result<VkCommandBuffer> take_commands();
  Result<void> begin_batch();
  Result<void> submit_batch();
  Result<void> wait_for(std::uint64_t value);
  Result<std::uint64_t> read_timestamp(std::uint64_t id);
  bool keeps_time() const { return context_.facts.timestamp_valid_bits > 0; }

  const VulkanContext& context_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  VkCommandBuffer batch_ = VK_NULL_HANDLE;  // being recorded; none when no operation is pending
  unsigned batch_operations_ = 0;
  bool batch_writes_host_ = false;
  std::uint64_t submitted_ = 0;  // the last value that the timeline will reach
  std::deque<Submitted> running_;
  std::vector<VkCommandBuffer> idle_;
  std::vector<std::uint64_t> free_timestamps_;
  std::map<std::uint64_t, std::chrono::steady_clock::time_point> host_times_;
};

}  // namespace gpuready
