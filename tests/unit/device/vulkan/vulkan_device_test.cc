// The Vulkan executor itself.
#include "device/vulkan/vulkan_device.h"

#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "device/vulkan/vulkan_pipeline.h"
#include "kernels/memory_kernels.h"
#include "vulkan_fixture.h"

namespace gpuready {
namespace {

using VulkanDeviceTest = VulkanTest;

std::vector<unsigned char> counted(std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  std::iota(data.begin(), data.end(), static_cast<unsigned char>(7));
  return data;
}

TEST(VulkanLibrary, AUuidIsWrittenAsRfc9562Has) {
  std::uint8_t bytes[VK_UUID_SIZE];
  std::iota(std::begin(bytes), std::end(bytes), std::uint8_t{0xf0});
  bytes[0] = 0x0a;
  EXPECT_EQ(format_vulkan_uuid(bytes), "0af1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
}

TEST_F(VulkanDeviceTest, TellsWhatItIs) {
  const auto device = open();
  ASSERT_TRUE(device);
  const DeviceInfo& info = device->info();
  EXPECT_EQ(info.executor, "vulkan");
  EXPECT_EQ(info.uuid, uuid_);
  EXPECT_GT(info.memory_total_bytes, 0u);
  EXPECT_GE(info.units, 1u);
  EXPECT_GE(info.max_threads_per_block.value_or(0), 128u);
  if (info.name.starts_with("llvmpipe")) {
    EXPECT_EQ(info.software, true);
    EXPECT_FALSE(info.pci_address);
  }
}

TEST_F(VulkanDeviceTest, AUuidThatIsNotHereIsNotFound) {
  const auto device = open_vulkan_device("01234567-89ab-cdef-0123-456789abcdef");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::not_found);
  EXPECT_NE(device.error().message.find(uuid_), std::string::npos) << device.error().message;
  EXPECT_EQ(vulkan_fault_of(device.error()), DeviceFault::unavailable);
  EXPECT_FALSE(open_vulkan_device(""));
}

TEST_F(VulkanDeviceTest, ADeviceWithoutInt64IsUnsupported) {
  const FakeVulkan fake("no_int64");
  const auto device = open_vulkan_device(uuid_);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::unsupported);
  EXPECT_NE(device.error().message.find("shaderInt64"), std::string::npos);
}

TEST_F(VulkanDeviceTest, CopiesThereAndBackAreExact) {
  const auto device = open();
  ASSERT_TRUE(device);
  // More than the stage holds, odd sizes and odd offsets.
  const auto data = counted(35 * MiB + 13);
  auto memory = DeviceBuffer::make(*device, data.size() + 64);
  auto other = DeviceBuffer::make(*device, data.size());
  ASSERT_TRUE(memory && other);
  EXPECT_EQ(memory->address() % 256, 0u);
  ASSERT_TRUE(device->copy_to_device({}, memory->address() + 3, data.data(), data.size()));
  ASSERT_TRUE(device->copy_on_device({}, other->address(), memory->address() + 3, data.size()));
  std::vector<unsigned char> back(data.size());
  ASSERT_TRUE(device->copy_to_host({}, back.data(), other->address(), back.size()));
  ASSERT_TRUE(device->synchronize({}));
  EXPECT_EQ(back, data);
}

TEST_F(VulkanDeviceTest, PinnedMemoryIsCopiedWithoutAStage) {
  const auto device = open();
  ASSERT_TRUE(device);
  auto pinned = device->allocate_pinned(MiB);
  auto memory = DeviceBuffer::make(*device, MiB);
  ASSERT_TRUE(pinned && memory);
  auto* bytes = static_cast<unsigned char*>(*pinned);
  const auto data = counted(MiB / 2);
  std::memcpy(bytes, data.data(), data.size());
  ASSERT_TRUE(device->copy_to_device({}, memory->address(), bytes, MiB / 2));
  ASSERT_TRUE(device->copy_to_host({}, bytes + MiB / 2, memory->address(), MiB / 2));
  ASSERT_TRUE(device->synchronize({}));
  EXPECT_EQ(std::memcmp(bytes + MiB / 2, data.data(), data.size()), 0);
  EXPECT_TRUE(device->release_pinned(*pinned));
  EXPECT_FALSE(device->release_pinned(*pinned));
}

TEST_F(VulkanDeviceTest, CopiesOutsideAnAllocationAreRefused) {
  const auto device = open();
  ASSERT_TRUE(device);
  auto memory = DeviceBuffer::make(*device, 4096);
  ASSERT_TRUE(memory);
  std::vector<char> data(8192);
  for (const auto& [offset, bytes] : {std::pair{0u, 4097u}, {4096u, 1u}, {4000u, 97u}}) {
    const auto done = device->copy_to_device({}, memory->address() + offset, data.data(), bytes);
    ASSERT_FALSE(done) << offset;
    EXPECT_EQ(done.error().kind, ErrorKind::bad_input);
  }
  EXPECT_FALSE(device->copy_to_host({}, data.data(), 16, 16));
  EXPECT_FALSE(device->release(memory->address() + 256));
  EXPECT_FALSE(device->lost());
}

TEST_F(VulkanDeviceTest, TooMuchMemoryIsOutOfMemory) {
  const auto device = open();
  ASSERT_TRUE(device);
  const auto memory = device->allocate(std::uint64_t{1} << 50);
  ASSERT_FALSE(memory);
  EXPECT_EQ(device->fault_of(memory.error()), DeviceFault::out_of_memory);
  const FakeVulkan fake("max_alloc=1048576");
  const auto refused = device->allocate(8 * MiB);
  ASSERT_FALSE(refused);
  EXPECT_EQ(device->fault_of(refused.error()), DeviceFault::out_of_memory)
      << refused.error().message;
  EXPECT_FALSE(device->lost());
  EXPECT_FALSE(device->allocate(0));
}

TEST_F(VulkanDeviceTest, FreeMemoryFallsByWhatIsAllocated) {
  const auto device = open();
  ASSERT_TRUE(device);
  const auto before = device->memory();
  auto memory = DeviceBuffer::make(*device, 64 * MiB);
  ASSERT_TRUE(before && memory);
  const auto after = device->memory();
  ASSERT_TRUE(after);
  EXPECT_LE(after->free_bytes + 64 * MiB, before->free_bytes + MiB);
  EXPECT_EQ(after->total_bytes, before->total_bytes);
}

TEST_F(VulkanDeviceTest, LaunchesOfAnotherShapeAreRefused) {
  const auto device = open();
  ASSERT_TRUE(device);
  const MemoryCopyParams nothing{};
  const auto launch = [&](LaunchShape shape) {
    return device->launch({}, kMemoryCopy, shape, &nothing, sizeof nothing);
  };
  EXPECT_TRUE(launch({.blocks = 2, .threads = kMemoryKernelThreads}));
  EXPECT_FALSE(launch({.blocks = 2, .threads = 128}));
  EXPECT_FALSE(launch({.blocks = 0, .threads = kMemoryKernelThreads}));
  EXPECT_FALSE(launch({.blocks = 1, .threads = kMemoryKernelThreads, .shared_bytes = 64}));
  const auto cooperative =
      launch({.blocks = 1, .threads = kMemoryKernelThreads, .cooperative = true});
  ASSERT_FALSE(cooperative);
  EXPECT_EQ(cooperative.error().kind, ErrorKind::unsupported);
  const std::vector<char> large(132);
  EXPECT_FALSE(device->launch({}, kMemoryCopy, {.blocks = 1, .threads = 256}, large.data(), 132));
  EXPECT_TRUE(device->synchronize({}));
}

// docs/vulkan.md: an estimate of 1024 threads on a unit.
TEST_F(VulkanDeviceTest, AUnitHoldsBlocksOf1024ThreadsTogether) {
  const auto blocks = [&](unsigned threads) {
    const auto device = open();
    return device ? device->resident_blocks(kMemoryCopy, threads, 0).value_or(0) : 0;
  };
  {
    const FakeVulkan fake("discrete");
    for (const auto& [threads, expected] :
         {std::pair(256u, 4u), {205u, 4u}, {512u, 2u}, {1024u, 1u}, {2048u, 1u}})
      EXPECT_EQ(blocks(threads), expected) << threads;
  }
  const auto device = open();
  ASSERT_TRUE(device);
  if (device->info().software == true) {
    EXPECT_EQ(blocks(256), 1u);
  }
}

TEST_F(VulkanDeviceTest, AKernelWithoutCodeForVulkanIsUnsupported) {
  const auto device = open();
  ASSERT_TRUE(device);
  const Kernel none{.name = "none", .cuda = {}};
  const auto done = device->prepare(none);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::unsupported);
}

TEST(Spirv, SomethingElseIsNoModule) {
  const std::vector<unsigned char> bytes(64, 1);
  EXPECT_FALSE(read_spirv({bytes.data(), bytes.data() + bytes.size()}));
  EXPECT_FALSE(read_spirv({bytes.data(), bytes.data() + 3}));
  const SpirvImage packed = kMemoryCopy.vulkan;
  ASSERT_TRUE(read_spirv(packed));
  EXPECT_EQ(read_spirv(packed)->threads, kMemoryKernelThreads);
  EXPECT_FALSE(read_spirv({packed.begin, packed.end - 1})) << "the packed module cut short";
  const auto module = unpack_image(packed.begin, packed.end);
  ASSERT_TRUE(module);
  const auto* whole = reinterpret_cast<const unsigned char*>(module->data());
  EXPECT_FALSE(read_spirv({whole, whole + 24})) << "the first instruction cut short";
  EXPECT_FALSE(read_spirv({whole, whole + 28})) << "nothing tells the block's threads";
}

// SPIR-V specification, 2.3: a header of 5 words, then instructions, each of its length and opcode.
TEST(Spirv, TellsWhatAModuleNeedsAndItsThreads) {
  const auto instruction = [](std::uint32_t opcode, std::initializer_list<std::uint32_t> operands) {
    std::vector<std::uint32_t> words = {opcode | static_cast<std::uint32_t>(operands.size() + 1)
                                                     << 16};
    words.insert(words.end(), operands);
    return words;
  };
  constexpr std::uint32_t kSource = 3, kOpExecutionMode = 16, kOpCapability = 17, kLocalSize = 17;
  const auto read = [&](std::initializer_list<std::vector<std::uint32_t>> instructions) {
    std::vector<std::uint32_t> words = {0x07230203, 0x00010000, 0, 1, 0};
    for (const auto& each : instructions) words.insert(words.end(), each.begin(), each.end());
    const auto* bytes = reinterpret_cast<const unsigned char*>(words.data());
    return read_spirv({bytes, bytes + words.size() * 4});
  };
  const auto threads = instruction(kOpExecutionMode, {4, kLocalSize, 128, 1, 1});
  const auto facts =
      read({instruction(kOpCapability, {1}), instruction(kSource, {2, 450}),
            instruction(kOpCapability, {11}), instruction(kOpExecutionMode, {4, 7}), threads});
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->capabilities, (std::vector<std::uint32_t>{1, 11}));
  EXPECT_EQ(facts->threads, 128u);
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({threads, {kSource}})) << "an instruction of no words";
  EXPECT_FALSE(read({threads, {kSource | 2u << 16}})) << "an instruction behind the end";
  EXPECT_TRUE(read({threads, {kSource | 1u << 16}}));
  EXPECT_FALSE(read({instruction(kOpExecutionMode, {4, kLocalSize}), instruction(kSource, {1, 1})}))
      << "a block without its threads";
  for (const std::uint32_t y : {1, 2})
    EXPECT_EQ(read({instruction(kOpExecutionMode, {4, kLocalSize, 64, y, 3 - y})}).has_value(),
              false);
}

// The time between two events holds the work between them, and no more than the host saw.
void expect_true_times(Device& device) {
  auto memory = DeviceBuffer::make(device, 64 * MiB);
  auto timer = StreamTimer::make(device, {});
  ASSERT_TRUE(memory && timer);
  const MemoryCopyParams params{memory->address(), memory->address() + 32 * MiB, 2 * MiB};
  const LaunchShape shape{.blocks = 64, .threads = kMemoryKernelThreads};
  ASSERT_TRUE(device.launch({}, kMemoryCopy, shape, &params, sizeof params));
  ASSERT_TRUE(device.synchronize({}));
  // Until there is work enough that what surrounds it is little.
  double ms = 0, host_ms = 0;
  for (int launches = 4; host_ms < 20 && launches < 10'000; launches *= 4) {
    const auto start = Clock::now();
    ASSERT_TRUE(timer->start());
    for (int i = 0; i < launches; ++i)
      ASSERT_TRUE(device.launch({}, kMemoryCopy, shape, &params, sizeof params));
    const auto measured = timer->stop_ms();
    host_ms = elapsed_ms(start);
    ASSERT_TRUE(measured) << measured.error().message;
    ms = *measured;
    EXPECT_LE(ms, host_ms * 1.01 + 0.1);
  }
  EXPECT_GE(ms, host_ms * 0.5) << "of " << host_ms;
}

TEST_F(VulkanDeviceTest, EventsTellTheTimeOfTheWorkBetweenThem) {
  const auto device = open();
  ASSERT_TRUE(device);
  expect_true_times(*device);
}

TEST_F(VulkanDeviceTest, TheHostsClockServesWhereTheQueueKeepsNoTime) {
  const FakeVulkan fake("no_time");
  const auto device = open();
  ASSERT_TRUE(device);
  expect_true_times(*device);
}

TEST_F(VulkanDeviceTest, AnEventThatIsNotTheQueuesIsNotRecorded) {
  const auto device = open();
  ASSERT_TRUE(device);
  const auto event = device->create_event();
  ASSERT_TRUE(event);
  EXPECT_TRUE(device->record(*event, {}));
  constexpr std::uint64_t kBeyondAll = std::uint64_t{1} << 32;
  for (const std::uint64_t other : {std::uint64_t{0}, kBeyondAll}) {
    const auto recorded = device->record({other}, {});
    ASSERT_FALSE(recorded) << other;
    EXPECT_EQ(recorded.error().kind, ErrorKind::bad_input);
    EXPECT_FALSE(device->elapsed_ms({other}, *event)) << other;
  }
  EXPECT_FALSE(device->lost());
}

TEST_F(VulkanDeviceTest, ManyOperationsNeedNoSynchronization) {
  const auto device = open();
  ASSERT_TRUE(device);
  auto memory = DeviceBuffer::make(*device, 8192);
  ASSERT_TRUE(memory);
  const unsigned char first = 42;
  ASSERT_TRUE(device->copy_to_device({}, memory->address(), &first, 1));
  // Each byte is the copy of the one before.
  for (unsigned i = 0; i < 1000; ++i)
    ASSERT_TRUE(device->copy_on_device({}, memory->address() + i + 1, memory->address() + i, 1));
  unsigned char last = 0;
  ASSERT_TRUE(device->copy_to_host({}, &last, memory->address() + 1000, 1));
  ASSERT_TRUE(device->synchronize({}));
  EXPECT_EQ(last, 42);
}

TEST_F(VulkanDeviceTest, ALostDeviceStaysLost) {
  const auto device = open();
  ASSERT_TRUE(device);
  auto memory = device->allocate(4096);
  ASSERT_TRUE(memory);
  {
    const FakeVulkan fake("lose=1");
    const auto copied = device->copy_on_device({}, *memory, *memory + 2048, 16);
    const auto done = copied ? device->synchronize({}) : copied;
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, VK_ERROR_DEVICE_LOST);
  }
  // The driver would answer again; the executor does not ask.
  ASSERT_TRUE(device->lost());
  for (const auto& error :
       {device->synchronize({}), device->release(*memory), device->prepare(kMemoryWrite)}) {
    ASSERT_FALSE(error);
    EXPECT_EQ(error.error().code, VK_ERROR_DEVICE_LOST);
  }
  EXPECT_FALSE(device->allocate(4096));
  EXPECT_FALSE(device->memory());
  EXPECT_EQ(device->fault_of(*device->lost()), DeviceFault::unclear);
}

}  // namespace
}  // namespace gpuready
