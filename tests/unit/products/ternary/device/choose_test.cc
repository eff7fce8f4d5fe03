#include "ternary/device/choose.h"

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "fake_gpu.h"
#include "ternary/device/host_memory.h"

namespace gpuready::ternary {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

struct Seen {
  std::vector<std::string> opened;
};

GpuCandidate gpu(Seen& seen, BackendKind kind, std::string id, int index, int capability,
                 std::uint64_t free_gib, std::uint64_t total_gib = 80) {
  GpuCandidate candidate{kind, id, index, "GPU " + id, capability, false, {}};
  candidate.open = [&seen, id, kind, free_gib, total_gib]() -> Result<std::unique_ptr<Backend>> {
    seen.opened.push_back(id);
    auto control = std::make_shared<FakeGpuControl>();
    control->memory = {free_gib * kGiB, total_gib * kGiB};
    return std::make_unique<FakeGpu>(control, id, kind);
  };
  return candidate;
}

std::string chosen(const Choice& choice) { return choice.gpu ? choice.gpu->info().id : "cpu"; }

TEST(ChooseGpu, cuda_comes_before_vulkan_and_newer_kernels_before_older) {
  Seen seen;
  Discovery found;
  found.gpus.push_back(gpu(seen, BackendKind::vulkan, "v", 0, 0, 80));
  found.gpus.push_back(gpu(seen, BackendKind::cuda, "old", 0, 75, 80));
  found.gpus.push_back(gpu(seen, BackendKind::cuda, "new", 1, 90, 80));
  EXPECT_EQ(chosen(choose_gpu({}, found, 0)), "cuda:new");
  EXPECT_EQ(seen.opened, std::vector<std::string>{"new"});  // no context on the others
}

TEST(ChooseGpu, a_gpu_that_others_use_is_passed_over_for_one_with_more_room) {
  Seen seen;
  Discovery found;
  found.gpus.push_back(gpu(seen, BackendKind::cuda, "busy", 0, 90, 3));
  found.gpus.push_back(gpu(seen, BackendKind::cuda, "free", 1, 90, 79));
  found.gpus.push_back(gpu(seen, BackendKind::cuda, "third", 2, 90, 80));
  EXPECT_EQ(chosen(choose_gpu({}, found, 0)), "cuda:free");
  EXPECT_EQ(seen.opened, (std::vector<std::string>{"busy", "free"}));
}

TEST(ChooseGpu, a_gpu_of_which_three_quarters_are_free_serves_well) {
  Seen seen;
  for (const auto& [free_gib, needed_gib, opened] :
       {std::tuple(60, 0, 1u), {59, 0, 2u}, {60, 60, 1u}, {60, 61, 2u}}) {
    seen.opened.clear();
    Discovery found;
    found.gpus.push_back(
        gpu(seen, BackendKind::cuda, "first", 0, 90, static_cast<std::uint64_t>(free_gib)));
    found.gpus.push_back(gpu(seen, BackendKind::cuda, "second", 1, 90, 80));
    EXPECT_EQ(chosen(choose_gpu({}, found, static_cast<std::uint64_t>(needed_gib) * kGiB)),
              opened == 1 ? "cuda:first" : "cuda:second");
    EXPECT_EQ(seen.opened.size(), opened) << free_gib << " " << needed_gib;
  }
}

// What lies between two steps of the kernels' instructions does not count, and the index decides.
TEST(ChooseGpu, gpus_of_the_same_kernels_come_in_their_order) {
  const auto first_of = [](int first, int second) {
    Seen seen;
    Discovery found;
    found.gpus.push_back(gpu(seen, BackendKind::cuda, "a", 0, first, 80));
    found.gpus.push_back(gpu(seen, BackendKind::cuda, "b", 1, second, 80));
    return chosen(choose_gpu({}, found, 0));
  };
  for (const auto& [older, newer] : {std::pair(49, 50), {60, 61}, {75, 80}, {89, 90}})
    EXPECT_EQ(first_of(older, newer), "cuda:b") << older;
  for (const auto& [first, second] : {std::pair(50, 60), {61, 75}, {80, 89}, {90, 120}})
    EXPECT_EQ(first_of(first, second), "cuda:a") << first;
}

TEST(ChooseGpu, weights_must_fit) {
  Seen seen;
  Discovery found;
  found.gpus.push_back(gpu(seen, BackendKind::cuda, "a", 0, 90, 20, 24));
  found.gpus.push_back(gpu(seen, BackendKind::cuda, "b", 1, 80, 40, 80));
  EXPECT_EQ(chosen(choose_gpu({}, found, 30 * kGiB)), "cuda:b");
  const Choice none = choose_gpu({}, found, 50 * kGiB);
  EXPECT_EQ(chosen(none), "cpu");
  ASSERT_TRUE(none.error);
  EXPECT_EQ(none.error->kind, ErrorKind::device_memory);
  EXPECT_EQ(none.fallbacks.size(), 1u);
}

TEST(ChooseGpu, software_is_taken_only_by_its_uuid) {
  Seen seen;
  Discovery found;
  found.gpus.push_back(gpu(seen, BackendKind::vulkan, "llvmpipe", 0, 0, 80));
  found.gpus[0].software = true;
  EXPECT_EQ(chosen(choose_gpu({}, found, 0)), "cpu");
  const Choice vulkan = choose_gpu({TargetKind::vulkan, ""}, found, 0);
  EXPECT_EQ(chosen(vulkan), "cpu");
  EXPECT_EQ(vulkan.error->kind, ErrorKind::no_device);
  EXPECT_EQ(chosen(choose_gpu({TargetKind::vulkan, "0"}, found, 0)), "cpu");
  EXPECT_TRUE(seen.opened.empty());
  EXPECT_EQ(chosen(choose_gpu({TargetKind::vulkan, "llvmpipe"}, found, 0)), "vulkan:llvmpipe");
}

TEST(ChooseGpu, one_is_named_by_index_or_uuid_and_no_other_is_taken_for_it) {
  Seen seen;
  Discovery found;
  found.gpus.push_back(gpu(seen, BackendKind::cuda, "GPU-aa", 0, 90, 80));
  found.gpus.push_back(gpu(seen, BackendKind::cuda, "GPU-bb", 1, 50, 1));
  EXPECT_EQ(chosen(choose_gpu({TargetKind::cuda, "1"}, found, 0)), "cuda:GPU-bb");
  EXPECT_EQ(chosen(choose_gpu({TargetKind::cuda, "gpu-BB"}, found, 0)), "cuda:GPU-bb");
  const Choice missing = choose_gpu({TargetKind::cuda, "2"}, found, 0);
  EXPECT_EQ(chosen(missing), "cpu");
  EXPECT_EQ(missing.error->kind, ErrorKind::no_device);
}

TEST(ChooseGpu, one_that_does_not_open_is_passed_over_and_told) {
  Seen seen;
  Discovery found;
  found.gpus.push_back(gpu(seen, BackendKind::cuda, "broken", 0, 90, 80));
  found.gpus[0].open = [] { return std::unexpected(Error{ErrorKind::device, "no context"}); };
  const Choice none = choose_gpu({}, found, 0);
  EXPECT_EQ(chosen(none), "cpu");
  EXPECT_EQ(none.error->kind, ErrorKind::device);
  found.gpus.push_back(gpu(seen, BackendKind::vulkan, "v", 0, 0, 80));
  const Choice other = choose_gpu({}, found, 0);
  EXPECT_EQ(chosen(other), "vulkan:v");
  EXPECT_FALSE(other.error);
  EXPECT_EQ(other.fallbacks, std::vector<std::string>{"cuda:broken: no context"});
}

TEST(ChooseGpu, a_driver_that_fails_is_told_by_an_automatic_choice_too) {
  Seen seen;
  Discovery found;
  found.reasons = {"cuda: libcuda.so.1 is not there"};
  const Choice absent = choose_gpu({}, found, 0);  // nothing is wrong with a machine without a GPU
  EXPECT_TRUE(absent.fallbacks.empty());
  EXPECT_FALSE(absent.error);
  const std::string why = "cuda: cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)";
  found.reasons = {why};
  found.failures = {Error{ErrorKind::no_device, why, 803}};
  const Choice failed = choose_gpu({}, found, 0);
  EXPECT_EQ(chosen(failed), "cpu");
  EXPECT_EQ(failed.fallbacks, std::vector<std::string>{why});
  ASSERT_TRUE(failed.error);  // what a strict engine returns
  EXPECT_EQ(failed.error->kind, ErrorKind::no_device);
  found.gpus.push_back(gpu(seen, BackendKind::vulkan, "v", 0, 0, 80));
  const Choice other = choose_gpu({}, found, 0);
  EXPECT_EQ(chosen(other), "vulkan:v");
  EXPECT_EQ(other.fallbacks, std::vector<std::string>{why});
  EXPECT_FALSE(other.error);
  const Choice demanded = choose_gpu({TargetKind::cuda, ""}, found, 0);
  EXPECT_EQ(demanded.fallbacks, std::vector<std::string>{why});
}

TEST(Target, is_read_and_written) {
  for (const char* text : {"auto", "cpu", "cuda", "cuda:0", "cuda:GPU-12", "vulkan:ab-cd"}) {
    const auto target = parse_target(text);
    ASSERT_TRUE(target) << text;
    EXPECT_EQ(to_string(*target), text);
  }
  for (const char* text : {"", "gpu", "cuda:", "cpu:0", "auto:1", ":", "rocm"})
    EXPECT_FALSE(parse_target(text)) << text;
}

const char* no_variables(const char*) { return nullptr; }

TEST(ResolvedOptions, come_from_the_environment_where_the_caller_says_nothing) {
  const auto variables = [](const char* name) -> const char* {
    if (std::strcmp(name, "GPUREADY_TERNARY_DEVICE") == 0) return "cuda:1";
    if (std::strcmp(name, "GPUREADY_TERNARY_STRICT") == 0) return "1";
    if (std::strcmp(name, "GPUREADY_TERNARY_FORCE_CPU") == 0) return "0";
    if (std::strcmp(name, "GPUREADY_TERNARY_MEMORY_LIMIT") == 0) return "512M";
    return nullptr;
  };
  const auto read = resolve_options({}, variables);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_string(read->target), "cuda:1");
  EXPECT_TRUE(read->strict);
  EXPECT_FALSE(read->forced);
  EXPECT_EQ(read->memory_limit_bytes, 512u << 20);
  DeviceOptions options;
  options.target = Target{TargetKind::cpu, ""};
  options.strict = false;
  options.memory_limit_bytes = 7;
  const auto given = resolve_options(options, variables);
  EXPECT_EQ(given->target.kind, TargetKind::cpu);
  EXPECT_FALSE(given->strict);
  EXPECT_EQ(given->memory_limit_bytes, 7u);
  const auto none = resolve_options({}, no_variables);
  EXPECT_EQ(none->target.kind, TargetKind::automatic);
  EXPECT_FALSE(none->memory_limit_bytes);
}

TEST(ResolvedOptions, wrong_values_are_errors_that_name_the_variable) {
  const auto message = [](ReadVariable variable) {
    const auto read = resolve_options({}, variable);
    return read ? std::string() : read.error().message;
  };
  const auto strict = message([](const char* name) -> const char* {
    return std::strstr(name, "STRICT") != nullptr ? "yes" : nullptr;
  });
  EXPECT_NE(strict.find("GPUREADY_TERNARY_STRICT"), std::string::npos);
  const auto device = message([](const char* name) -> const char* {
    return std::strstr(name, "DEVICE") != nullptr ? "tpu" : nullptr;
  });
  EXPECT_NE(device.find("GPUREADY_TERNARY_DEVICE"), std::string::npos);
  const auto limit = message([](const char* name) -> const char* {
    return std::strstr(name, "LIMIT") != nullptr ? "much" : nullptr;
  });
  EXPECT_NE(limit.find("GPUREADY_TERNARY_MEMORY_LIMIT"), std::string::npos);
}

TEST(ByteCount, has_units_of_1024) {
  EXPECT_EQ(parse_byte_count("4096"), 4096u);
  EXPECT_EQ(parse_byte_count("2G"), 2 * kGiB);
  for (const char* text : {"", "K", "-1", "1.5G", "99999999999999999999", "18446744073709551615K"})
    EXPECT_FALSE(parse_byte_count(text)) << text;
}

TEST(HostMemory, is_what_the_kernel_says) {
  const auto memory = parse_meminfo("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   400 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total_bytes, 1000u * 1024);
  EXPECT_EQ(memory->used_bytes, 600u * 1024);
  const auto idle = parse_meminfo("MemAvailable:400 kB\nMemTotal:400");
  ASSERT_TRUE(idle);
  EXPECT_EQ(idle->used_bytes, 0u);
  const auto most = parse_meminfo("MemTotal: 1125899906842624 kB\nMemAvailable: 0 kB\n");
  ASSERT_TRUE(most);
  EXPECT_EQ(most->total_bytes, std::uint64_t{1} << 60);
  for (const char* text :
       {"", "MemTotal: 5 kB\n", "MemTotal:", "MemTotal: x\nMemAvailable: 1 kB",
        "MemTotal: 1 kB\nMemAvailable: 2 kB\n", "SMemTotal: 5 kB\nMemAvailable: 1 kB\n",
        "MemTotal: 5 kB\nNotMemAvailable: 1 kB\n",
        "MemTotal: 1125899906842625 kB\nMemAvailable: 0 kB\n",
        "MemTotal: 18446744073709551616 kB\nMemAvailable: 0 kB\n"})
    EXPECT_FALSE(parse_meminfo(text)) << text;
}

}  // namespace
}  // namespace gpuready::ternary
