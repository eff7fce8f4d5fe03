// A Vulkan loader that passes everything on to the real one, but for what FAKE_VULKAN asks, which
// is looked at in each call:
//   lose=N        the N-th submission from the start of the device on, and all after, lose the
//   device max_alloc=N   no more than N bytes are granted in one allocation total=N       no more
//   than N bytes are granted in all skip=N        dispatches of the N-th pipeline that a device
//   made do nothing no_time       the queues keep no time no_int64      the devices lack
//   shaderInt64 discrete      the devices are discrete GPUs vulkan_1_0    the devices are of Vulkan
//   1.0, which has no UUIDs    without=NAME   the loader lacks this function
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name) ((PFN_##name)g_get(g_instance, #name))

static PFN_vkGetInstanceProcAddr g_get;
static VkInstance g_instance;
static unsigned long long g_submissions, g_granted_bytes;
static VkPipeline g_pipelines[64], g_bound;
static unsigned g_pipeline_count;

static const char* asked(const char* name) {
  const char* fake = getenv("FAKE_VULKAN");
  const char* found = fake ? strstr(fake, name) : NULL;
  return found ? found + strlen(name) : NULL;
}
static unsigned long long number(const char* name, unsigned long long otherwise) {
  const char* value = asked(name);
  return value ? strtoull(value, NULL, 0) : otherwise;
}

static VkResult create_instance(const VkInstanceCreateInfo* info,
                                const VkAllocationCallbacks* allocator, VkInstance* instance) {
  const VkResult result =
      ((PFN_vkCreateInstance)g_get(NULL, "vkCreateInstance"))(info, allocator, instance);
  g_instance = *instance;
  return result;
}
static VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                              const VkAllocationCallbacks* allocator, VkDevice* device) {
  g_submissions = g_granted_bytes = g_pipeline_count = 0;
  return REAL(vkCreateDevice)(physical, info, allocator, device);
}
static VkResult allocate(VkDevice device, const VkMemoryAllocateInfo* info,
                         const VkAllocationCallbacks* allocator, VkDeviceMemory* memory) {
  if (info->allocationSize > number("max_alloc=", ~0ull) ||
      g_granted_bytes + info->allocationSize > number("total=", ~0ull))
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  g_granted_bytes += info->allocationSize;
  return REAL(vkAllocateMemory)(device, info, allocator, memory);
}
static VkResult submit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  if (++g_submissions >= number("lose=", ~0ull)) return VK_ERROR_DEVICE_LOST;
  return REAL(vkQueueSubmit)(queue, count, submits, fence);
}
static VkResult create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                 const VkComputePipelineCreateInfo* infos,
                                 const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  const VkResult result =
      REAL(vkCreateComputePipelines)(device, cache, count, infos, allocator, pipelines);
  if (g_pipeline_count < 64) g_pipelines[g_pipeline_count++] = pipelines[0];
  return result;
}
static void bind(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
  g_bound = pipeline;
  REAL(vkCmdBindPipeline)(commands, point, pipeline);
}
static void dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  const unsigned long long skipped = number("skip=", 0);
  if (skipped > 0 && skipped <= g_pipeline_count && g_pipelines[skipped - 1] == g_bound) return;
  REAL(vkCmdDispatch)(commands, x, y, z);
}
static void queue_families(VkPhysicalDevice device, uint32_t* count,
                           VkQueueFamilyProperties* families) {
  REAL(vkGetPhysicalDeviceQueueFamilyProperties)(device, count, families);
  if (families && asked("no_time"))
    for (uint32_t i = 0; i < *count; ++i) families[i].timestampValidBits = 0;
}
static void features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* all) {
  REAL(vkGetPhysicalDeviceFeatures2)(device, all);
  if (asked("no_int64")) all->features.shaderInt64 = VK_FALSE;
}
static void properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* all) {
  REAL(vkGetPhysicalDeviceProperties)(device, all);
  if (asked("discrete")) all->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  if (asked("vulkan_1_0")) all->apiVersion = VK_API_VERSION_1_0;
}

EXPORT PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  static const struct {
    const char* name;
    PFN_vkVoidFunction function;
  } kOurs[] = {
      {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
      {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
      {"vkAllocateMemory", (PFN_vkVoidFunction)allocate},
      {"vkQueueSubmit", (PFN_vkVoidFunction)submit},
      {"vkCreateComputePipelines", (PFN_vkVoidFunction)create_pipelines},
      {"vkCmdBindPipeline", (PFN_vkVoidFunction)bind},
      {"vkCmdDispatch", (PFN_vkVoidFunction)dispatch},
      {"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)queue_families},
      {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)features},
      {"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)properties},
  };
  if (!g_get) {
    void* real = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (real) g_get = (PFN_vkGetInstanceProcAddr)dlsym(real, "vkGetInstanceProcAddr");
    if (!g_get) return NULL;
  }
  const char* lacking = asked("without=");
  if (lacking && strcmp(lacking, name) == 0) return NULL;
  for (size_t i = 0; i < sizeof kOurs / sizeof kOurs[0]; ++i)
    if (strcmp(name, kOurs[i].name) == 0) return kOurs[i].function;
  return g_get(instance, name);
}
