#include "device/vulkan/vulkan_pipeline.h"

#include <fmt/format.h>

#include <cstring>

namespace gpuready {
namespace {

// SPIR-V specification, sections 2.3, 3.6, 3.31 and 3.42.
constexpr std::uint32_t kMagic = 0x07230203;
constexpr std::size_t kHeaderWords = 5;
constexpr std::uint32_t kOpExecutionMode = 16, kOpCapability = 17, kLocalSize = 17;
enum Capability : std::uint32_t {
  kShader = 1,
  kFloat64 = 10,
  kInt64 = 11,
  kRoundingModeRte = 4467,
  kPhysicalStorageBufferAddresses = 5347,
};

}  // namespace

Result<SpirvFacts> read_spirv(const SpirvImage& image) {
  SpirvFacts facts;
  const auto broken = [] {
    return fail(ErrorKind::bad_input, "a kernel that is not a SPIR-V module");
  };
  const auto module = TRY(unpack_image(image.begin, image.end));
  if (module.size() % 4 != 0 || module.size() < kHeaderWords * 4) return broken();
  facts.words.resize(module.size() / 4);
  std::memcpy(facts.words.data(), module.data(), module.size());
  if (facts.words[0] != kMagic) return broken();
  for (std::size_t at = kHeaderWords; at < facts.words.size();) {
    const std::uint32_t opcode = facts.words[at] & 0xffff, length = facts.words[at] >> 16;
    if (length == 0 || length > facts.words.size() - at) return broken();
    if (opcode == kOpCapability && length == 2) facts.capabilities.push_back(facts.words[at + 1]);
    if (opcode == kOpExecutionMode && length == 6 && facts.words[at + 2] == kLocalSize) {
      if (facts.words[at + 4] != 1 || facts.words[at + 5] != 1) return broken();
      facts.threads = facts.words[at + 3];
    }
    at += length;
  }
  if (facts.threads == 0) return broken();
  return facts;
}

VulkanPipelines::~VulkanPipelines() {
  const VulkanLibrary& vulkan = *context_.vulkan;
  for (const auto& [module, pipeline] : pipelines_)
    vulkan.DestroyPipeline(context_.device, pipeline.pipeline, nullptr);
  if (layout_) vulkan.DestroyPipelineLayout(context_.device, layout_, nullptr);
}

Result<void> VulkanPipelines::open() {
  VkPushConstantRange params{};
  params.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  params.size = kMaxKernelParameterBytes;  // every Vulkan device has these 128
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &params;
  return vulkan_checked("vkCreatePipelineLayout", context_.vulkan->CreatePipelineLayout(
                                                      context_.device, &info, nullptr, &layout_));
}

std::optional<std::string> VulkanPipelines::lacking(const SpirvFacts& facts) const {
  for (const std::uint32_t capability : facts.capabilities) {
    switch (capability) {
      case kShader:
      case kInt64:
      case kPhysicalStorageBufferAddresses:
        break;
      case kFloat64:
        if (!context_.facts.float64) return "double precision";
        break;
      case kRoundingModeRte:
        if (!context_.facts.round_to_nearest_fp32) return "a promise to round fp32 to nearest even";
        break;
      default:
        return fmt::format("SPIR-V capability {}", capability);
    }
  }
  const auto most = context_.facts.info.max_threads_per_block;
  if (most && facts.threads > *most) return fmt::format("work groups of {}", facts.threads);
  return std::nullopt;
}

Result<VulkanPipeline> VulkanPipelines::make(const Kernel& kernel) {
  const VulkanLibrary& vulkan = *context_.vulkan;
  if (!kernel.vulkan.begin)
    return fail(ErrorKind::unsupported,
                fmt::format("kernel {} has no code for Vulkan", kernel.name));
  auto facts = TRY(read_spirv(kernel.vulkan));
  if (const auto lacks = lacking(facts))
    return fail(ErrorKind::unsupported, fmt::format("kernel {} needs {}, which {} lacks",
                                                    kernel.name, *lacks, context_.facts.info.name));
  VkShaderModuleCreateInfo code{};
  code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  code.codeSize = facts.words.size() * 4;
  code.pCode = facts.words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  if (auto done =
          vulkan_checked("vkCreateShaderModule",
                         vulkan.CreateShaderModule(context_.device, &code, nullptr, &module));
      !done)
    return std::unexpected(done.error());
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.layout = layout_;
  VulkanPipeline made;
  made.threads = facts.threads;
  auto done = vulkan_checked("vkCreateComputePipelines",
                             vulkan.CreateComputePipelines(context_.device, VK_NULL_HANDLE, 1,
                                                           &info, nullptr, &made.pipeline));
  vulkan.DestroyShaderModule(context_.device, module, nullptr);
  if (!done) return std::unexpected(done.error());
  return made;
}

Result<VulkanPipeline> VulkanPipelines::find(const Kernel& kernel) {
  if (auto found = pipelines_.find(kernel.vulkan.begin); found != pipelines_.end())
    return found->second;
  auto made = make(kernel);
  if (made) pipelines_[kernel.vulkan.begin] = *made;
  return made;
}

}  // namespace gpuready
