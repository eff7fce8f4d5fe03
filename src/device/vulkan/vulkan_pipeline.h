// Kernels as SPIR-V: what a module says of itself, and the pipelines made of them.
#pragma once

#include <map>
#include <vector>

#include "device/kernel.h"
#include "device/vulkan/vulkan_context.h"

namespace gpuready {

// What the executor must know of a module before a driver may see it.
struct SpirvFacts {
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t> capabilities;  // as the SPIR-V specification numbers them
  unsigned threads = 0;                     // of a work group, in x; y and z are 1
};
Result<SpirvFacts> read_spirv(const SpirvImage& image);

struct VulkanPipeline {
  VkPipeline pipeline = VK_NULL_HANDLE;
  unsigned threads = 0;
};

class VulkanPipelines {
 public:
  explicit VulkanPipelines(const VulkanContext& context) : context_(context) {}
  VulkanPipelines(const VulkanPipelines&) = delete;
  ~VulkanPipelines();
  Result<void> open();

  // Made at the first call, and kept.
  Result<VulkanPipeline> find(const Kernel& kernel);
  VkPipelineLayout layout() const { return layout_; }

 private:
  Result<VulkanPipeline> make(const Kernel& kernel);
  // Why this device cannot run the module, if so.
  std::optional<std::string> lacking(const SpirvFacts& facts) const;

  const VulkanContext& context_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::map<const unsigned char*, VulkanPipeline> pipelines_;  // by module
};

}  // namespace gpuready
