#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "machine/system/loader_cache.h"
#include "unit/products/vm/driver_folder.h"
#include "vm/guest/boot.h"
#include "vm/guest/config.h"
#include "vm/guest/inject.h"
#include "vm/guest/load_modules.h"
#include "vm/guest/loader_cache_add.h"
#include "vm/guest/nodes.h"
#include "vm/guest/steps.h"

namespace gpuready::vm {
namespace {

// A folder or a broken link is no program, and a link to one within the root is.
TEST(GuestBoot, TheFirstProgramThatIsThereIsStarted) {
  TestFolder folder;
  std::filesystem::create_directories(folder.path("root/sbin/init"));
  const auto started = [&](const std::string& init, const std::vector<std::string>& given) {
    GuestConfig config;
    config.init = init;
    return command_of(config, given, *RootFolder::open(folder.path("root")));
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(started("", {}), Words{});
  folder.write("root/bin/sh", "");
  EXPECT_EQ(started("", {}), Words{"/bin/sh"});
  std::filesystem::create_directories(folder.path("root/etc"));
  std::filesystem::create_symlink("/bin/sh", folder.path("root/etc/init"));
  EXPECT_EQ(started("", {}), Words{"/etc/init"});
  EXPECT_EQ(started("/opt/init", {}), Words{"/opt/init"});
  EXPECT_EQ(started("/opt/init", {"/bin/sh", "-c"}), (Words{"/bin/sh", "-c"}));
}

// The root's own program comes before the bundle's.
TEST(GuestBoot, TheRootIsCheckedByTheFirstProgramThatItHas) {
  TestFolder folder;
  std::filesystem::create_directories(folder.path("root/usr/local/bin/gpuready"));
  const auto found = [&] { return check_program(*RootFolder::open(folder.path("root"))); };
  EXPECT_EQ(found(), "");
  for (const std::string path : {"/usr/lib/nvidia/bin/gpuready", "/usr/bin/gpuready"}) {
    folder.write("root" + path, "");
    EXPECT_EQ(found(), path);
  }
  std::filesystem::remove(folder.path("root/usr/local/bin/gpuready"));
  std::filesystem::create_symlink("/none", folder.path("root/usr/local/bin/gpuready"));
  EXPECT_EQ(found(), "/usr/bin/gpuready");
  std::filesystem::remove(folder.path("root/usr/local/bin/gpuready"));
  std::filesystem::create_symlink("/usr/bin/gpuready", folder.path("root/usr/local/bin/gpuready"));
  EXPECT_EQ(found(), "/usr/local/bin/gpuready");
}

TEST(GuestRoot, AnErrorNamesTheWholePath) {
  TestFolder folder;
  folder.write("there", "");
  for (const auto& root : {folder.path(), std::string("/")}) {
    const auto opened = RootFolder::open(root);
    ASSERT_TRUE(opened) << opened.error().message;
    const auto name = (root == "/" ? "" : root) + "/gpuready-none";
    for (const auto* path : {"gpuready-none", "/gpuready-none"}) {
      EXPECT_EQ(opened->read(path, 1).error().message, name + " is not a file");
      EXPECT_EQ(opened->list(path).error().message, name + ": No such file or directory");
    }
  }
  const auto root = RootFolder::open(folder.path());
  for (const auto* path : {"there", "/there"})
    EXPECT_EQ(root->make_link(path, "x").error().message, folder.path("there") + ": File exists");
  EXPECT_EQ(root->save("none").error().message,
            folder.path("none") + ": No such file or directory");
}

// ---- device nodes

TEST(GuestNodes, EveryGpuAndServiceOfTheDriver) {
  const auto plan = plan_nodes(
      {.devices = "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n195 nvidia-modeset\n"
                  "238 nvidia-uvm\n241 nvidia-caps\n\nBlock devices:\n  8 sd\n",
       .params = "ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 44\nDeviceFileMode: 432\n",
       .gpus = {"Model: \t\t H200\nDevice Minor: \t 0\n", "Device Minor: \t 3\n", "no number"},
       .capabilities = {"DeviceFileMinor: 1\nDeviceFileMode: 292\nDeviceFileModify: 1\n",
                        "DeviceFileMinor: 2\n", "no number"}});
  const auto node = [](const char* path, unsigned major, unsigned minor, unsigned mode = 0660) {
    return NodePlan{path, major, minor, mode, 0, 44};
  };
  EXPECT_EQ(plan, (std::vector<NodePlan>{
                      node("/dev/nvidia0", 195, 0), node("/dev/nvidia3", 195, 3),
                      node("/dev/nvidiactl", 195, 255), node("/dev/nvidia-modeset", 195, 254),
                      node("/dev/nvidia-uvm", 238, 0), node("/dev/nvidia-uvm-tools", 238, 1),
                      node("/dev/nvidia-caps/nvidia-cap1", 241, 1, 0444),
                      node("/dev/nvidia-caps/nvidia-cap2", 241, 2, 0400)}));
}

TEST(GuestNodes, DriversBefore550AndNone) {
  const auto old = plan_nodes({.devices = "Character devices:\n195 nvidia-frontend\n",
                               .params = "",
                               .gpus = {"Device Minor: 0"},
                               .capabilities = {}});
  EXPECT_EQ(old, (std::vector<NodePlan>{{"/dev/nvidia0", 195, 0, 0666, 0, 0},
                                        {"/dev/nvidiactl", 195, 255, 0666, 0, 0}}));
  EXPECT_TRUE(plan_nodes({}).empty());
  // A block device of that name is no node of the driver; and some drivers want no nodes made.
  EXPECT_TRUE(
      plan_nodes(
          {.devices = "Block devices:\n195 nvidia\n", .params = "", .gpus = {}, .capabilities = {}})
          .empty());
  EXPECT_TRUE(plan_nodes({.devices = "Character devices:\n195 nvidia\n",
                          .params = "ModifyDeviceFiles: 0\n",
                          .gpus = {"Device Minor: 0"},
                          .capabilities = {}})
                  .empty());
}

// ---- what the guest is told

TEST(GuestConfig, CommandLineAndDisk) {
  GuestConfig config;
  read_config(
      "console=ttyS0 HAS_GPU=1 root=/dev/vda rootfstype=ext4 ro "
      "nvidia.NVreg_X=1 nvidia-drm.fbdev=0 gpuready.odd=1 \"gpuready.root=/a b\" -- /bin/x "
      "HAS_GPU=0",
      config);
  EXPECT_TRUE(config.has_gpu);
  EXPECT_TRUE(config.read_only);
  EXPECT_EQ(config.root, "/dev/vda");
  EXPECT_EQ(config.root_folder, "/a b");
  EXPECT_EQ(config.unknown, std::vector<std::string>{"gpuready.odd=1"});
  const auto parameters = module_parameters(config.words);
  EXPECT_EQ(parameters.at("nvidia"), "NVreg_X=1");
  EXPECT_EQ(parameters.at("nvidia_drm"), "modeset=1 fbdev=0");
  read_config("HAS_GPU=0\ngpuready.capabilities=compute,utility\ngpuready.after=poweroff\n",
              config);
  EXPECT_FALSE(config.has_gpu);
  EXPECT_TRUE(config.poweroff);
  EXPECT_EQ(config.capabilities,
            (std::vector<Capability>{Capability::compute, Capability::utility}));
}

// A word is a parameter where a name, a dot and a value follow each other in this order.
TEST(GuestConfig, ParametersOfModulesAreToldFromOtherWords) {
  EXPECT_EQ(
      module_parameters({"nvidia.a=1", "nvidia-uvm.b=x.y=z", "nvidia.c=", "nvidia.d.e=2"}),
      (ModuleParameters{
          {"nvidia", "a=1 c= d.e=2"}, {"nvidia_drm", "modeset=1"}, {"nvidia_uvm", "b=x.y=z"}}));
  for (const char* other :
       {"quiet", "root=/dev/vda", "root=/dev/a.b", "nvidia.a", ".a=1", ".", "=", "", "x=.y=1"})
    EXPECT_EQ(module_parameters({other}), (ModuleParameters{{"nvidia_drm", "modeset=1"}})) << other;
}

TEST(GuestSteps, LinesOfAConsoleAreReadBack) {
  const Step step{1.25, StepState::failed, "module", "nvidia_uvm", "it was built: for another"};
  EXPECT_EQ(to_line(step),
            "gpuready-guest: 1.250 FAIL module nvidia_uvm: it was built: for another");
  const auto found = steps_in("[    1.2] NVRM: loading\r\n" + to_line(step) +
                              "\r\ngpuready-guest: x FAIL a b: c\ngpuready-guest: 1 odd a b: c\n"
                              "[ 2.0] gpuready-guest: 2.000 ok node /dev/nvidia0: 195:0\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(to_line(found[0]), to_line(step));
  EXPECT_EQ(found[1].subject, "/dev/nvidia0");
  EXPECT_EQ(found[1].text, "195:0");
}

// ---- the loader's cache

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The system's own cache says in which order names stand.
TEST(GuestLoaderCache, OrderIsThatOfTheSystemsCache) {
  const auto bytes = file_bytes("/etc/ld.so.cache");
  const auto entries = parse_loader_cache(bytes);
  if (!entries) GTEST_SKIP() << "no /etc/ld.so.cache here";
  ASSERT_GT(entries->size(), 10u);
  for (std::size_t i = 1; i < entries->size(); ++i)
    EXPECT_GE(compare_cached_names((*entries)[i - 1].name, (*entries)[i].name), 0)
        << (*entries)[i - 1].name << " before " << (*entries)[i].name;
}

TEST(GuestLoaderCache, AddsAndKeepsTheRest) {
  const auto bytes = file_bytes("/etc/ld.so.cache");
  const auto before = parse_loader_cache(bytes);
  if (!before) GTEST_SKIP() << "no /etc/ld.so.cache here";
  const std::vector<CachedLibrary> ours = {{"libcuda.so.1", "/usr/lib/libcuda.so.1"},
                                           {"libc.so.6", "/ours/libc.so.6"},
                                           {"libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.1"}};
  const auto merged = add_to_loader_cache(bytes, ours, "x86_64");
  ASSERT_TRUE(merged) << merged.error().message;
  const auto after = parse_loader_cache(*merged);
  ASSERT_TRUE(after) << after.error().message;
  ASSERT_EQ(after->size(), before->size() + ours.size());
  for (std::size_t i = 1; i < after->size(); ++i)
    EXPECT_GE(compare_cached_names((*after)[i - 1].name, (*after)[i].name), 0);
  std::vector<std::string> kept, first;
  for (const auto& entry : *after) {
    const auto ours_too = std::find_if(
        ours.begin(), ours.end(), [&](const auto& library) { return library.path == entry.path; });
    if (ours_too == ours.end())
      kept.push_back(std::string(entry.name) + " " + std::string(entry.path));
    if (entry.name == "libc.so.6") first.emplace_back(entry.path);
  }
  std::vector<std::string> old;
  for (const auto& entry : *before)
    old.push_back(std::string(entry.name) + " " + std::string(entry.path));
  EXPECT_EQ(kept, old);
  ASSERT_GE(first.size(), 2u);
  EXPECT_EQ(first[0], "/ours/libc.so.6");
}

TEST(GuestLoaderCache, DamagedOnesAreErrorsOrAnswers) {
  const std::string path = "/lib/libz.so.1", name = "libz.so.1";
  const auto whole = make_loader_cache({{name, path, 0x0303}});
  for (std::size_t size = 0; size < whole.size(); ++size)
    (void)add_to_loader_cache(whole.substr(0, size), {{"a", "b"}}, "x86_64");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto bent = whole;
    bent[at] = '\xFF';
    (void)add_to_loader_cache(bent, {{"a", "b"}}, "x86_64");
  }
  EXPECT_FALSE(add_to_loader_cache("", {}, "x86_64"));
}

// ---- injection

void write_libc(const TestFolder& folder, const std::string& at,
                std::uint16_t machine = kElfMachineX86_64) {
  folder.write("root/" + at + "/libc.so.6", make_library("libc.so.6", {}, "", machine));
}

Result<InjectReport> inject_into(const TestFolder& folder, const DriverBundle& bundle,
                                 InjectOptions options = {}) {
  const auto root = RootFolder::open(folder.path("root"));
  if (!root) return std::unexpected(root.error());
  return inject(bundle, folder.path("bundle"), *root, options);
}

TEST(Inject, ALinkOutOfTheBundleIsRefused) {
  TestFolder folder;
  write_driver(folder);
  const auto bundle = collect_driver(folder);
  write_libc(folder, "usr/lib64");
  const auto library = folder.path("bundle/lib/libcuda.so.580.65.06");
  std::filesystem::rename(library, folder.path("secret"));
  std::filesystem::create_symlink("../../secret", library);
  const auto report = inject_into(folder, bundle);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("leads out of the bundle"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path("root/usr/lib/nvidia")));
}

TEST(Inject, NamesStandWhereTheLoaderLooks) {
  for (const std::string place : {"usr/lib/x86_64-linux-gnu", "usr/lib64"}) {
    TestFolder folder;
    write_driver(folder);
    const auto bundle = collect_driver(folder);
    write_libc(folder, place);
    const std::string library = "/lib/libz.so.1", name = "libz.so.1";
    folder.write("root/etc/ld.so.cache", make_loader_cache({{name, library, 0x0303}}));
    const auto report = inject_into(folder, bundle);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->loader_folder, "/" + place);
    for (const char* link : {"libcuda.so.1", "libcuda.so", "libcuda.so.580.65.06"})
      EXPECT_EQ(std::filesystem::read_symlink(folder.path("root/" + place + "/" + link)),
                "/usr/lib/nvidia/lib/libcuda.so.580.65.06");
    EXPECT_EQ(folder.read("root/usr/lib/nvidia/lib/libcuda.so.580.65.06"),
              folder.read("bundle/lib/libcuda.so.580.65.06"));
    EXPECT_EQ(std::filesystem::read_symlink(folder.path("root/usr/bin/nvidia-smi")),
              "/usr/lib/nvidia/bin/nvidia-smi");
    EXPECT_TRUE(
        std::filesystem::exists(folder.path("root/usr/share/vulkan/icd.d/nvidia_icd.json")));
    EXPECT_FALSE(std::filesystem::exists(folder.path("root/usr/lib/nvidia/modules")));
    using std::filesystem::perms;
    for (const auto& [path, mode] : {std::pair("usr/lib/nvidia/lib/libcuda.so.580.65.06", 0644),
                                     {"usr/lib/nvidia/bin/nvidia-smi", 0755},
                                     {"usr/share/vulkan/icd.d/nvidia_icd.json", 0644}})
      EXPECT_EQ(std::filesystem::status(folder.path(std::string("root/") + path)).permissions(),
                static_cast<perms>(mode))
          << path;
    const auto bytes = folder.read("root/etc/ld.so.cache");
    const auto cache = parse_loader_cache(bytes);
    ASSERT_TRUE(cache);
    const auto entry = std::find_if(cache->begin(), cache->end(),
                                    [](const auto& e) { return e.name == "libcuda.so.1"; });
    ASSERT_NE(entry, cache->end());
    EXPECT_EQ(entry->path, "/" + place + "/libcuda.so.1");
    // The bundle's bytes are not shared with who may write to the root.
    EXPECT_EQ(std::filesystem::hard_link_count(
                  folder.path("root/usr/lib/nvidia/lib/libcuda.so.580.65.06")),
              1u);
    // Again: nothing changes.
    const auto again = inject_into(folder, bundle);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->files + again->links, 0u);
    EXPECT_EQ(folder.read("root/etc/ld.so.cache"), bytes);
    // Interrupted before the cache was written: done again, it is.
    folder.write("root/etc/ld.so.cache", make_loader_cache({{name, library, 0x0303}}));
    ASSERT_TRUE(inject_into(folder, bundle));
    EXPECT_EQ(folder.read("root/etc/ld.so.cache"), bytes);
  }
}

// By the driver's own names or by the image's folder.
TEST(Inject, WhatALibraryNeedsAndNothingHasIsAWarning) {
  TestFolder folder;
  write_driver(folder);
  auto bundle = collect_driver(folder);
  write_libc(folder, "usr/lib64");
  for (auto& file : bundle.files)
    if (file.soname == "libcuda.so.1") file.needed = {"libc.so.6", "libnvidia-ml.so.1"};
  auto report = inject_into(folder, bundle);
  ASSERT_TRUE(report) << report.error().message;
  const std::string no_cache = "the image has no /etc/ld.so.cache; its loader looks in /usr/lib64";
  EXPECT_EQ(report->warnings, std::vector{no_cache});
  for (auto& file : bundle.files)
    if (file.soname == "libcuda.so.1") file.needed.emplace_back("libelsewhere.so.2");
  report = inject_into(folder, bundle);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->warnings,
            (std::vector<std::string>{"libcuda.so.580.65.06 needs libelsewhere.so.2, which the "
                                      "image does not have in /usr/lib64",
                                      no_cache}));
}

TEST(Inject, OnlyWhatTheCapabilitiesNeed) {
  TestFolder folder;
  write_driver(folder);
  const auto bundle = collect_driver(folder);
  write_libc(folder, "usr/lib64");
  const auto report = inject_into(
      folder, bundle,
      {.method = InjectMethod::automatic, .capabilities = {Capability::compute}, .replace = false});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("root/usr/lib64/libcuda.so.1")));
  EXPECT_FALSE(std::filesystem::is_symlink(folder.path("root/usr/lib64/libnvidia-ml.so.1")));
  EXPECT_FALSE(std::filesystem::is_symlink(folder.path("root/usr/lib64/libGLX_nvidia.so.0")));
  EXPECT_FALSE(std::filesystem::is_symlink(folder.path("root/usr/bin/nvidia-smi")));
}

TEST(Inject, AnImagesOwnFilesAreNotReplacedSilently) {
  TestFolder folder;
  write_driver(folder);
  const auto bundle = collect_driver(folder);
  write_libc(folder, "usr/lib64");
  folder.write("root/usr/lib64/libcuda.so.1", "the image's own");
  const auto refused = inject_into(folder, bundle);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("/usr/lib64/libcuda.so.1"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.path("root/usr/lib/nvidia")));
  EXPECT_EQ(folder.read("root/usr/lib64/libcuda.so.1"), "the image's own");
  const auto replaced = inject_into(
      folder, bundle, {.method = InjectMethod::automatic, .capabilities = {}, .replace = true});
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_EQ(replaced->saved, std::vector<std::string>{"/usr/lib64/libcuda.so.1"});
  EXPECT_EQ(folder.read("root/usr/lib64/libcuda.so.1.gpuready-saved"), "the image's own");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("root/usr/lib64/libcuda.so.1")));
}

// A root made by somebody else: links in it lead nowhere outside of it.
TEST(Inject, LinksOfTheRootStayWithinIt) {
  TestFolder folder;
  write_driver(folder);
  const auto bundle = collect_driver(folder);
  std::filesystem::create_directories(folder.path("outside"));
  std::filesystem::create_directories(folder.path("root/usr"));
  std::filesystem::create_symlink("../../../outside", folder.path("root/usr/bin"));
  std::filesystem::create_symlink(folder.path("outside"), folder.path("root/usr/share"));
  write_libc(folder, "real/lib64");
  std::filesystem::create_symlink("/real/lib64", folder.path("root/usr/lib64"));
  const auto report = inject_into(folder, bundle);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("outside")));
  if (report) {
    EXPECT_TRUE(std::filesystem::is_symlink(folder.path("root/real/lib64/libcuda.so.1")));
  }
}

TEST(Inject, WhatCannotBeIsTold) {
  TestFolder folder;
  write_driver(folder);
  const auto bundle = collect_driver(folder);
  const auto message = [&] {
    const auto report = inject_into(folder, bundle);
    EXPECT_FALSE(report);
    return report ? std::string() : report.error().message;
  };
  std::filesystem::create_directories(folder.path("root/lib"));
  EXPECT_NE(message().find("no glibc"), std::string::npos);
  folder.write("root/lib/ld-musl-x86_64.so.1", "");
  EXPECT_NE(message().find("musl"), std::string::npos);
  write_libc(folder, "usr/lib64", kElfMachineAarch64);
  EXPECT_NE(message().find("another processor"), std::string::npos);
}

TEST(GuestRoot, AWayToCopyHasAName) {
  EXPECT_EQ(to_string(CopyMethod::reflink), "reflink");
  EXPECT_EQ(to_string(CopyMethod::hard_link), "hard link");
  EXPECT_EQ(to_string(CopyMethod::copy), "copy");
}

// ---- modules

// Of a bundle with nvidia_uvm, which needs nvidia, and i2c_core, which is not of the driver.
struct Loading {
  DriverBundle bundle;
  std::map<std::string, int> errors;  // by the module's file
  std::vector<std::string> loaded, lines;

  Loading() {
    add("nvidia_uvm", {"nvidia"});
    add("nvidia", {});
    add("i2c_core", {});
  }
  void add(const std::string& name, const std::vector<std::string>& depends,
           const std::string& release = "6.1.0") {
    auto& module = bundle.files.emplace_back().module.emplace();
    module.name = name, module.kernel_release = release, module.depends = depends;
    module.version = "580.65.06";
  }
  bool load(bool driver) {
    Steps steps([&](const Step& step) {
      lines.push_back(
          fmt::format("{} {} {}: {}", name_of(step.state), step.kind, step.subject, step.text));
    });
    return load_modules(bundle,
                        {.kernel_release = "6.1.0",
                         .folder = "/m",
                         .driver = driver,
                         .parameters = {{"nvidia", "a=1"}},
                         .load =
                             [&](const std::string& path, const std::string& parameters) {
                               loaded.push_back(path + " " + parameters);
                               const auto error = errors.find(path);
                               return error == errors.end() ? 0 : error->second;
                             }},
                        steps);
  }
};
using Lines = std::vector<std::string>;

TEST(GuestModules, EachIsLoadedAfterThoseThatItNeedsWithItsParameters) {
  Loading driver;
  EXPECT_TRUE(driver.load(true));
  EXPECT_EQ(driver.loaded, (Lines{"/m/nvidia.ko a=1", "/m/nvidia-uvm.ko "}));
  EXPECT_EQ(driver.lines, (Lines{"ok module nvidia: loaded, version 580.65.06, with a=1",
                                 "ok module nvidia_uvm: loaded, version 580.65.06"}));
  Loading others;
  EXPECT_TRUE(others.load(false));
  EXPECT_EQ(others.loaded, Lines{"/m/i2c-core.ko "});
}

TEST(GuestModules, OneThatIsLoadedAlreadyIsPassedOver) {
  Loading loading;
  loading.errors["/m/nvidia.ko"] = EEXIST;
  EXPECT_TRUE(loading.load(true));
  EXPECT_EQ(loading.lines, (Lines{"skip module nvidia: it is loaded already",
                                  "ok module nvidia_uvm: loaded, version 580.65.06"}));
}

TEST(GuestModules, AFailureEndsTheLoading) {
  Loading loading;
  loading.errors["/m/nvidia.ko"] = ENODEV;
  EXPECT_FALSE(loading.load(true));
  EXPECT_EQ(loading.loaded, Lines{"/m/nvidia.ko a=1"});
  EXPECT_EQ(loading.lines, Lines{"FAIL module nvidia: " + module_failure(ENODEV)});
}

TEST(GuestModules, ModulesOfAnotherKernelFailAndAbsentOnesAreTheKernels) {
  Loading loading;
  loading.bundle.files.clear();
  loading.add("i2c_core", {});
  EXPECT_TRUE(loading.load(true));
  EXPECT_EQ(loading.lines,
            Lines{"skip module nvidia: the bundle has no modules; the kernel must bring them"});
  loading.lines.clear();
  loading.add("nvidia", {}, "6.2.0");
  EXPECT_FALSE(loading.load(true));
  EXPECT_EQ(loading.lines,
            Lines{"FAIL module nvidia: the bundle has modules for 6.2.0, this kernel is 6.1.0"});
  loading.lines.clear();
  loading.bundle.files.clear();
  EXPECT_TRUE(loading.load(false));
  EXPECT_EQ(loading.lines, Lines{});
}

TEST(GuestModules, ModulesThatNeedEachOtherAreNotLoaded) {
  Loading loading;
  loading.bundle.files.clear();
  loading.add("nvidia", {"nvidia_uvm"});
  loading.add("nvidia_uvm", {"nvidia"});
  EXPECT_FALSE(loading.load(true));
  EXPECT_EQ(loading.loaded, Lines{});
  ASSERT_EQ(loading.lines.size(), 1u);
  EXPECT_TRUE(loading.lines[0].starts_with("FAIL module nvidia: ")) << loading.lines[0];
}

TEST(GuestModules, AFileThatIsAbsentIsNotGivenToTheKernel) {
  EXPECT_EQ(load_module("/gpuready-none.ko", ""), ENOENT);
}

}  // namespace
}  // namespace gpuready::vm
