#include "vm/drivers/driver_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "machine/system/loader_cache.h"
#include "unit/products/vm/driver_folder.h"
#include "vm/drivers/catalogue.h"
#include "vm/drivers/image_libraries.h"
#include "vm/drivers/manifest.h"
#include "vm/drivers/module_info.h"

namespace gpuready::vm {
namespace {

TEST(DriverFiles, AreKnownByName) {
  const auto kind = [](const char* name) {
    const auto known = known_file(name, "580.65.06");
    return known ? std::string(name_of(known->kind)) : "none";
  };
  EXPECT_EQ(kind("libcuda.so.580.65.06"), "library");
  EXPECT_EQ(kind("libcuda.so.570.10.01"), "none");
  EXPECT_EQ(kind("libcuda.so.1"), "none");
  EXPECT_EQ(kind("libcuda.so"), "none");
  EXPECT_EQ(kind("libnvidia-nvvm70.so.4"), "library");
  EXPECT_EQ(kind("libnvidia-egl-gbm.so.1.1.2"), "library");
  for (const char* ours : {"libnvidia-newname", "libnvnew", "libEGL_nvidia_new"})
    EXPECT_EQ(kind((ours + std::string(".so.580.65.06")).c_str()), "library") << ours;
  EXPECT_EQ(kind("libz.so.580.65.06"), "none");
  EXPECT_EQ(kind("nvidia.ko"), "module");
  EXPECT_EQ(kind("nvidia-uvm.ko.xz"), "module");
  EXPECT_EQ(kind("nvidia-current-uvm.ko"), "module");
  EXPECT_EQ(kind("nvidia-wmi-ec-backlight.ko.xz"), "none");  // Linux's, for laptops
  EXPECT_EQ(kind("nvidia.ko.md5"), "none");
  EXPECT_EQ(kind("e1000e.ko"), "none");
  EXPECT_EQ(kind("gsp_ga10x.bin"), "firmware");
  EXPECT_EQ(kind("gsp_ga10x.bin.md5"), "none");
  EXPECT_EQ(kind("bios.bin"), "none");
  EXPECT_EQ(kind("nvidia-smi"), "program");
  EXPECT_EQ(kind("nvidia-smi.1.gz"), "none");
}

TEST(DriverModules, AreToldFromTheKernels) {
  EXPECT_TRUE(is_driver_module("nvidia_uvm"));
  EXPECT_FALSE(is_driver_module("nvidia_wmi_ec_backlight"));
  EXPECT_FALSE(is_driver_module("nvme"));
  EXPECT_TRUE(has_driver_version("nvidia_uvm"));
  EXPECT_FALSE(has_driver_version("nvidia_fs"));
  EXPECT_FALSE(has_driver_version("nvme"));
}

TEST(DriverModules, SayWhatTheyAre) {
  using namespace std::string_literals;
  const auto module = make_driver_module("nvidia_uvm", "580.65.06", "nvidia,i2c-core");
  const auto signed_by = [&](const std::string& info) {
    return module + "PKCS#7" + info + "~Module signature appended~\n";
  };
  const auto bytes = signed_by("\0\0\2\0\0\0\0\0\0\0\0\6"s);
  const auto info = read_module({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
                                "nvidia-uvm.ko");
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->name, "nvidia_uvm");
  EXPECT_EQ(info->kernel_release, "6.1.0-test");
  EXPECT_EQ(info->version, "580.65.06");
  EXPECT_EQ(info->depends, (std::vector<std::string>{"nvidia", "i2c_core"}));
  EXPECT_TRUE(info->is_signed);
  // Longer than the file, of another kind, empty, without its description.
  for (const auto& damaged :
       {signed_by("\0\0\2\0\0\0\0\0\1\0\0\6"s), signed_by("\0\0\1\0\0\0\0\0\0\0\0\6"s),
        signed_by("\0\0\2\0\0\0\0\0\0\0\0\0"s), module + "~Module signature appended~\n"}) {
    const auto read = read_module(
        {reinterpret_cast<const std::uint8_t*>(damaged.data()), damaged.size()}, "nvidia.ko");
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("nvidia.ko: its signature is damaged"), std::string::npos);
  }
  const auto library = make_library("libcuda.so.1");
  EXPECT_FALSE(read_module({reinterpret_cast<const std::uint8_t*>(library.data()), library.size()},
                           "libcuda"));
}

TEST(DriverModules, AreLoadedAfterWhatTheyNeed) {
  const auto module = [](const char* name, std::vector<std::string> depends) {
    ModuleInfo info;
    info.name = name;
    info.depends = std::move(depends);
    return info;
  };
  const auto order = load_order({module("nvidia_drm", {"nvidia_modeset", "drm"}),
                                 module("nvidia_modeset", {"nvidia"}), module("nvidia", {"video"}),
                                 module("nvidia_uvm", {"nvidia"})});
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, (std::vector<std::size_t>{2, 1, 0, 3}));
  const auto circle = load_order({module("a", {"b"}), module("b", {"a"})});
  ASSERT_FALSE(circle);
  EXPECT_NE(circle.error().message.find("depends on itself"), std::string::npos);
}

TEST(InstallerManifest, NamesTheVersionAndFiles) {
  const auto manifest = parse_installer_manifest(
      "NVIDIA Accelerated Graphics Driver for Linux-x86_64\n580.65.06\nx\nnvidia nvidia-uvm\n"
      "a\nb\nc\nd\n"
      "nvidia-smi 0755 UTILITY_BINARY\n"
      "libcuda.so.580.65.06 0755 CUDA_LIB NATIVE\n"
      "libcuda.so.1 0000 CUDA_SYMLINK NATIVE libcuda.so.580.65.06\n"
      "32/libcuda.so.580.65.06 0755 CUDA_LIB COMPAT32\n"
      "\nnot a file\n",
      ".manifest");
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->version, "580.65.06");
  EXPECT_EQ(manifest->files, (std::vector<std::string>{"nvidia-smi", "libcuda.so.580.65.06"}));
  EXPECT_FALSE(parse_installer_manifest("", ".manifest"));
  EXPECT_FALSE(parse_installer_manifest("a\nnot a version\n\n\n\n\n\n\nx 0644 Y\n", ".manifest"));
}

TEST(BundleFile, OtherDocumentsAndVersionsAreNamedAsSuch) {
  const auto error = [](const std::string& text) {
    const auto bundle = bundle_from_text(text, "bundle.json");
    return bundle ? "" : bundle.error().message;
  };
  const auto head = [&](const std::string& begin) {
    return error(begin +
                 R"("driver_version":"1.2","kernel_releases":[],"open_modules":false,"files":[]})");
  };
  EXPECT_EQ(head(R"({"schema":"gpuready.driver-bundle","schema_version":1,)"), "");
  for (const char* other : {R"({"schema":"gpuready.driver-bundle","schema_version":2,)",
                            R"({"schema":"gpuready.driver-bundle","schema_version":0,)",
                            R"({"schema":"gpuready.driver-bundle","schema_version":"1",)",
                            R"({"schema":"gpuready.driver-bundle",)"})
    EXPECT_EQ(head(other), "bundle.json: written by another version of gpuready; collect it again")
        << other;
  const std::string wrong = "bundle.json: not a driver bundle's list";
  EXPECT_EQ(head(R"({"schema":"gpuready.report","schema_version":1,)"), wrong);
  EXPECT_EQ(head(R"({"schema":1,"schema_version":1,)"), wrong);
  EXPECT_EQ(head(R"({"schema_version":1,)"), wrong);
  for (const char* text : {"{}", "[]", "1", "null", R"("gpuready.driver-bundle")"})
    EXPECT_EQ(error(text), wrong) << text;
}

TEST(BundleFile, PathsThatLeadOutAreRefused) {
  const auto with = [](const std::string& file) {
    return bundle_from_text(R"({"schema":"gpuready.driver-bundle","schema_version":1,
      "driver_version":"1.2","kernel_releases":[],"open_modules":false,"files":[)" +
                                file + "]}",
                            "bundle.json");
  };
  const auto entry = [](const std::string& path, const std::string& more = "") {
    return R"({"path":")" + path + R"(","kind":"library","size_bytes":1,"sha256":"00")" + more +
           "}";
  };
  EXPECT_TRUE(with(entry("lib/libcuda.so.1")));
  for (const char* path : {"../x", "lib/../../x", "/etc/passwd", "", "lib//x", "./x"})
    EXPECT_FALSE(with(entry(path))) << path;
  EXPECT_FALSE(with(entry("lib/x", R"(,"soname":"../../etc/passwd")")));
  EXPECT_FALSE(with(entry("lib/x", R"(,"soname":"libx\n.so")")));
  EXPECT_FALSE(with(entry(R"(lib/\u001b[31m)")));
  EXPECT_FALSE(with(entry("lib/x", R"(,"links":["a/b"])")));
  EXPECT_FALSE(with(entry("lib/x", R"(,"install_path":"/usr/../../etc")")));
  EXPECT_FALSE(with(entry("lib/x", R"(,"install_path":"usr/x")")));
  EXPECT_TRUE(with(entry("lib/x", R"(,"install_path":"/usr/x")")));
}

// What NVIDIA's table of minor version compatibility says of these pairs.
TEST(Catalogue, WhichCudaRunsOnWhichDriver) {
  const auto fit = [](const char* cuda, const char* driver) {
    const auto found = compare_cuda(cuda, driver);
    EXPECT_TRUE(found) << found.error().message;
    return found ? std::string(name_of(found->fit)) : "";
  };
  EXPECT_EQ(fit("12.4", "550.163.01"), "native");
  EXPECT_EQ(fit("12.4.1", "550.163.01"), "native");
  EXPECT_EQ(fit("12.9", "550.163.01"), "minor_version");
  EXPECT_EQ(fit("12.9", "580.65.06"), "native");
  EXPECT_EQ(fit("13.0", "570.86.16"), "too_old");
  EXPECT_EQ(fit("12.8", "570.86.16"), "native");
  EXPECT_EQ(fit("12.0", "525.60.13"), "native");
  EXPECT_EQ(fit("12.0", "520.61.05"), "too_old");
  EXPECT_EQ(fit("11.8", "470.57.02"), "minor_version");
  EXPECT_EQ(fit("13.1", "580.65.06"), "minor_version");
  EXPECT_EQ(fit("99.0", "580.65.06"), "unknown");
  // A driver newer than the catalogue implements all that the catalogue knows.
  EXPECT_EQ(fit("13.0", "999.1.1"), "native");
  EXPECT_EQ(fit("13.2", "610.10"), "native");
  EXPECT_EQ(fit("13.2", "600.10"), "native");
  EXPECT_EQ(fit("12.2", "540.10"), "native");
  EXPECT_EQ(fit("12.3", "540.10"), "minor_version");
  EXPECT_EQ(fit("13.2", "590.48.01"), "minor_version");
  EXPECT_EQ(fit("13.9", "610.10"), "minor_version");
  EXPECT_EQ(compare_cuda("13.9", "610.10")->explanation.find("does not load"), std::string::npos);
  EXPECT_NE(compare_cuda("13.9", "595.45.04")->explanation.find("does not load"),
            std::string::npos);
  EXPECT_FALSE(compare_cuda("latest", "580.65.06"));
  EXPECT_FALSE(compare_cuda("12", "525.60.13"));  // 12.0 runs there in full, 12.9 does not
  EXPECT_FALSE(compare_cuda("12.4", "new"));
  EXPECT_FALSE(compare_cuda("12.4.1.0", "550.163.01"));
}

TEST(Catalogue, BranchesAreInOrderAndEachArchitectureHasSome) {
  for (std::size_t i = 1; i < driver_branches().size(); ++i)
    EXPECT_LT(driver_branches()[i - 1].branch, driver_branches()[i].branch);
  for (const auto& support : architecture_support()) {
    EXPECT_NE(find_branch(support.first_branch), nullptr) << support.architecture;
    EXPECT_TRUE(support.last_branch == 0 || find_branch(support.last_branch) != nullptr);
  }
}

TEST(ImageLibraries, DriversInAnImageAreFound) {
  TestFolder folder;
  folder.write("root/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15", "x");
  std::filesystem::create_symlink("libcuda.so.550.54.15",
                                  folder.path("root/usr/lib/x86_64-linux-gnu/libcuda.so.1"));
  std::filesystem::create_symlink("usr/lib", folder.path("root/lib"));
  folder.write("root/usr/local/cuda-12.9/compat/libcuda.so.575.57.08", "x");
  folder.write("root/usr/lib/x86_64-linux-gnu/libc.so.6", "x");
  const auto found = find_image_libraries(folder.path("root"));
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].path, "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15");
  EXPECT_FALSE((*found)[0].compat);
  EXPECT_EQ((*found)[1].version, "575.57.08");
  EXPECT_TRUE((*found)[1].compat);
  EXPECT_FALSE(find_image_libraries(folder.path("nowhere")));
  EXPECT_EQ(find_image_libraries(folder.path("nowhere")).error().kind, ErrorKind::not_found);
}

// "PATH VERSION" of each.
std::set<std::string> libraries_of(const std::string& root) {
  std::set<std::string> out;
  const auto found = find_image_libraries(root);
  EXPECT_TRUE(found) << found.error().message;
  if (found)
    for (const auto& library : *found) out.insert(library.path + " " + library.version);
  return out;
}

TEST(ImageLibraries, FoldersOfTheRootsOwnLoaderAreLookedInto) {
  TestFolder folder;
  const auto link = [&](const std::string& target, const std::string& path) {
    folder.write(path + ".folder", "");
    std::filesystem::create_symlink(target, folder.path(path));
  };
  // Debian's alternatives; the folders that every loader knows.
  folder.write("a/usr/lib/x86_64-linux-gnu/nvidia/tesla/libcuda.so.535.261.03", "x");
  link("/usr/lib/x86_64-linux-gnu/nvidia/tesla/libcuda.so.535.261.03",
       "a/etc/alternatives/glx--libcuda.so.1");
  link("/etc/alternatives/glx--libcuda.so.1", "a/usr/lib/x86_64-linux-gnu/libcuda.so.1");
  folder.write("a/usr/lib/libnvidia-ml.so.535.261.03", "x");
  folder.write("a/usr/lib/libnvidia-ptxjitcompiler.so.535.261.03",
               "\x7f"
               "ELF\x01 of 32 bits");
  folder.write("a/usr/lib/libnvidia-container.so.1", "another's");
  folder.write("a/usr/lib/libnvidia-egl-gbm.so.1", "of a version of its own");
  folder.write("a/usr/lib/libcuda.so.1.gpuready-saved", "moved away");
  EXPECT_EQ(libraries_of(folder.path("a")),
            (std::set<std::string>{
                "/usr/lib/x86_64-linux-gnu/nvidia/tesla/libcuda.so.535.261.03 535.261.03",
                "/usr/lib/libnvidia-ml.so.535.261.03 535.261.03"}));
  // ld.so.conf with what it includes, and its folder without it.
  folder.write("b/etc/ld.so.conf",
               "# folders\ninclude more/*.list\n/opt/first /opt/second=libc6\n");
  folder.write("b/etc/more/one.list", "include /etc/ld.so.conf\n/opt/third # last\n");
  folder.write("b/etc/ld.so.conf.d/nv.conf", "/opt/fourth/\n");
  for (const char* name : {"first", "second", "third", "fourth", "fifth"})
    folder.write(std::string("b/opt/") + name + "/libcuda.so.550.54.15", "x");
  EXPECT_EQ(libraries_of(folder.path("b")).size(), 4u);
  // ld.so.cache.
  const auto cache = make_loader_cache({{"libcuda.so.1", "/odd/place/libcuda.so.1", 0x303},
                                        {"libz.so.1", "/other/place/libz.so.1", 0x303}});
  folder.write("c/etc/ld.so.cache", cache);
  folder.write("c/odd/place/libcuda.so.1", "x");
  folder.write("c/other/place/libcuda.so.1", "x");
  EXPECT_EQ(libraries_of(folder.path("c")), std::set<std::string>{"/odd/place/libcuda.so.1 "});
}

TEST(ImageLibraries, NoLinkLeadsOutOfTheRoot) {
  TestFolder folder;
  folder.write("outside/libcuda.so.535.261.03", "x");
  folder.write("root/usr/keep", "");
  std::filesystem::create_symlink(folder.path("outside"), folder.path("root/usr/lib64"));
  std::filesystem::create_symlink("../../../outside", folder.path("root/usr/lib"));
  folder.write("root/usr/local/lib/keep", "");
  std::filesystem::create_symlink(folder.path("outside/libcuda.so.535.261.03"),
                                  folder.path("root/usr/local/lib/libcuda.so.1"));
  EXPECT_EQ(libraries_of(folder.path("root")), std::set<std::string>());
  folder.write("file", "x");
  EXPECT_EQ(find_image_libraries(folder.path("file")).error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace gpuready::vm
