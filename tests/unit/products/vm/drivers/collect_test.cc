#include "vm/drivers/collect.h"

#include <fmt/format.h>

#include <algorithm>

#include "doubles/failing_storage.h"
#include "host/recording/tar_writer.h"
#include "unit/products/vm/driver_folder.h"

namespace gpuready::vm {
namespace {

const DriverFile* find(const DriverBundle& bundle, const std::string& path) {
  const auto found = std::find_if(bundle.files.begin(), bundle.files.end(),
                                  [&](const DriverFile& file) { return file.path == path; });
  return found == bundle.files.end() ? nullptr : &*found;
}

TEST(Collect, AFolderBecomesABundleWithNamesAndHashes) {
  TestFolder folder;
  write_driver(folder);
  write_driver(folder, "driver/old/", "570.10.01");  // left behind by an update
  folder.write("driver/lib64/libfoo.so.580.65.06", make_library("libfoo.so.1"));
  auto small = make_library("libnvidia-tls.so.1");
  small[EI_CLASS] = ELFCLASS32;
  folder.write("driver/lib/libnvidia-tls.so.580.65.06", small);

  const auto host = test_host();
  const auto refused =
      collect_bundle({.from = {folder.path("driver")}}, folder.path("b"), *host, live_storage());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("570.10.01, 580.65.06"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(folder.count(), 1u);  // nothing but the driver

  const auto bundle = collect_bundle({.from = {folder.path("driver")}, .driver_version = kVersion},
                                     folder.path("b"), *host, live_storage());
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->driver_version, kVersion);
  EXPECT_EQ(bundle->machine, "x86_64");
  EXPECT_EQ(bundle->kernel_releases, std::vector<std::string>{"6.1.0-test"});
  EXPECT_TRUE(bundle->open_modules);
  const auto* cuda = find(*bundle, "lib/libcuda.so.580.65.06");
  ASSERT_NE(cuda, nullptr);
  EXPECT_EQ(cuda->soname, "libcuda.so.1");
  EXPECT_EQ(cuda->links, std::vector<std::string>{"libcuda.so"});
  EXPECT_EQ(cuda->capabilities, std::vector<Capability>{Capability::compute});
  EXPECT_NE(find(*bundle, "firmware/nvidia/580.65.06/gsp_ga10x.bin"), nullptr);
  EXPECT_NE(find(*bundle, "bin/nvidia-smi"), nullptr);
  ASSERT_NE(find(*bundle, "data/nvidia_icd.json"), nullptr);
  EXPECT_EQ(find(*bundle, "data/nvidia_icd.json")->install_path,
            "/usr/share/vulkan/icd.d/nvidia_icd.json");
  for (const auto& file : bundle->files) {
    EXPECT_EQ(file.path.find("570"), std::string::npos) << file.path;
    EXPECT_EQ(file.path.find("libfoo"), std::string::npos);
    EXPECT_EQ(file.path.find("libnvidia-tls"), std::string::npos);
  }
  // Written and read back it is the same, and its files have the bytes that it says.
  const auto read = open_bundle(*host, folder.path("b"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(*bundle));
  EXPECT_EQ(verify_bundle(*host, folder.path("b"), *read), std::vector<std::string>{});
}

TEST(Collect, FilesOfThisMachineAreHardLinks) {
  TestFolder folder;
  write_driver(folder);
  collect_driver(folder);
  EXPECT_EQ(std::filesystem::hard_link_count(folder.path("bundle/lib/libcuda.so.580.65.06")), 2u);
}

TEST(Collect, ChangedBytesAreFound) {
  TestFolder folder;
  write_driver(folder);
  const auto bundle = collect_driver(folder);
  std::filesystem::remove(folder.path("bundle/bin/nvidia-smi"));
  folder.write("bundle/lib/libnvidia-ml.so.580.65.06", "short");
  auto cuda = folder.read("bundle/lib/libcuda.so.580.65.06");
  cuda.back() = static_cast<char>(cuda.back() ^ 1);
  folder.write("bundle/lib/libcuda.so.580.65.06", cuda);
  const auto problems = verify_bundle(*test_host(), folder.path("bundle"), bundle);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0], "bin/nvidia-smi is missing");
  EXPECT_EQ(problems[1], "lib/libcuda.so.580.65.06 has other bytes than when it was collected");
  EXPECT_NE(problems[2].find("libnvidia-ml.so.580.65.06 has 5 bytes"), std::string::npos);
}

TEST(Collect, PartsOfTwoVersionsAreNamed) {
  TestFolder folder;
  write_driver(folder);
  folder.write("driver/modules/nvidia-uvm.ko",
               make_driver_module("nvidia_uvm", "570.10.01", "nvidia"));
  const auto problems = inconsistencies(collect_driver(folder));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("modules/6.1.0-test/nvidia-uvm.ko is of version 570.10.01"),
            std::string::npos)
      << problems[0];
}

TEST(Collect, WhatIsMissingIsTold) {
  TestFolder folder;
  folder.write("driver/libcuda.so.580.65.06", make_library("libcuda.so.1", {"libnvidia-x.so.2"}));
  const auto bundle = collect_driver(folder);
  const auto all = fmt::format("{}", fmt::join(bundle.warnings, "\n"));
  for (const char* wanted : {"no kernel modules", "no GSP firmware", "libnvidia-ml.so.1",
                             "nvidia-smi", "lib/libcuda.so.580.65.06 needs libnvidia-x.so.2"})
    EXPECT_NE(all.find(wanted), std::string::npos) << wanted << " in " << all;
}

// Names of the list that are not parts of a driver are not missed.
TEST(Collect, WhatOnlyTheInstallersListHasIsMissing) {
  TestFolder folder;
  write_driver(folder);
  folder.write("driver/.manifest",
               "NVIDIA Accelerated Graphics Driver for Linux-x86_64\n580.65.06\nx\nnvidia\n"
               "a\nb\nc\nd\n"
               "libcuda.so.580.65.06 0755 CUDA_LIB NATIVE\n"
               "libnvidia-cfg.so.580.65.06 0755 OPENGL_LIB NATIVE\n"
               "libfoo.so.580.65.06 0755 OPENGL_LIB NATIVE\n");
  EXPECT_EQ(collect_driver(folder).warnings,
            std::vector<std::string>{
                "libnvidia-cfg.so.580.65.06 is in the installer's list and was not found"});
}

// An installer begins as a script does.
TEST(Collect, AFileIsAPartOfADriverByItsNameElseAnArchive) {
  TestFolder folder;
  folder.write("nvidia-smi", "#!/bin/sh\n");
  folder.write("installer", "#!/bin/sh\n");
  folder.write("notes.txt", "no archive");
  const auto host = test_host();
  const auto why = [&](const std::string& name) {
    const auto bundle =
        collect_bundle({.from = {folder.path(name)}}, folder.path("b"), *host, live_storage());
    return bundle ? "" : bundle.error().message;
  };
  EXPECT_EQ(why("notes.txt"),
            folder.path("notes.txt") +
                ": neither an archive with a driver nor a part of one by its name");
  const std::string no_archive = "a script that no archive follows";
  EXPECT_TRUE(why("installer").contains(no_archive)) << why("installer");
  EXPECT_FALSE(why("nvidia-smi").contains(no_archive)) << why("nvidia-smi");
}

TEST(Collect, ModulesOfOneKernelWithWhatTheyNeed) {
  TestFolder folder;
  write_driver(folder);
  folder.write("driver/modules/nvidia-drm.ko",
               make_driver_module("nvidia_drm", kVersion, "drm,nvidia-modeset"));
  folder.write("driver/other/nvidia.ko", make_driver_module("nvidia", kVersion, "", "6.9.9"));
  const std::string kernel = "driver/lib/modules/6.1.0-test/";
  folder.write(kernel + "modules.dep", "kernel/drm.ko: kernel/i2c.ko\nkernel/i2c.ko:\n");
  folder.write(kernel + "modules.builtin", "kernel/base.ko\n");
  folder.write(kernel + "kernel/drm.ko", make_driver_module("drm", "", "i2c-core,base"));
  folder.write(kernel + "kernel/i2c.ko", make_driver_module("i2c", "0.9"));  // a version of its own
  const auto host = test_host();
  const auto bundle = collect_bundle(
      {.from = {folder.path("driver")}, .kernel_release = "6.1.0-test", .modules = {"i2c"}},
      folder.path("b"), *host, live_storage());
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_NE(find(*bundle, "modules/6.1.0-test/drm.ko"), nullptr);
  EXPECT_NE(find(*bundle, "modules/6.1.0-test/i2c.ko"), nullptr);
  EXPECT_EQ(inconsistencies(*bundle), std::vector<std::string>{});
  EXPECT_EQ(bundle->kernel_releases, std::vector<std::string>{"6.1.0-test"});
  const auto all = fmt::format("{}", fmt::join(bundle->warnings, "\n"));
  EXPECT_NE(all.find("the module drm needs the module i2c_core"), std::string::npos) << all;
  EXPECT_EQ(all.find("module base"), std::string::npos) << all;
}

// ---- archives

std::string package(const std::string& tar) {
  std::string out = "!<arch>\n";
  const auto member = [&](const std::string& name, const std::string& bytes) {
    out += fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, 100644, bytes.size());
    out += bytes;
    if (bytes.size() % 2 == 1) out += '\n';
  };
  member("debian-binary", "2.0\n");
  member("control.tar", "odd");
  member("data.tar", tar);
  return out;
}
std::string driver_tar(const std::string& prefix = "./usr/lib/") {
  std::string tar;
  append_tar_file(tar, prefix + "libcuda.so.580.65.06", make_library("libcuda.so.1"));
  append_tar_file(tar, prefix + "readme", "no part of a driver");
  append_tar_end(tar);
  return tar;
}

TEST(CollectArchive, PackagesAndInstallersAreReadAndNeverRun) {
  TestFolder folder;
  folder.write("a.deb", package(driver_tar()));
  folder.write("a.run",
               "#!/bin/sh\ntouch " + folder.path("executed") + "\nskip=4\n" + driver_tar());
  folder.write("b.run", "#!/bin/sh\nno skip\n" + driver_tar());
  const auto host = test_host();
  for (const std::string name : {"a.deb", "a.run", "b.run"}) {
    const auto bundle = collect_bundle({.from = {folder.path(name)}}, folder.path(name + ".bundle"),
                                       *host, live_storage());
    ASSERT_TRUE(bundle) << bundle.error().message;
    ASSERT_EQ(bundle->files.size(), 1u);
    EXPECT_EQ(bundle->files[0].path, "lib/libcuda.so.580.65.06");
    EXPECT_NE(bundle->files[0].source.find(name + ":usr/lib/libcuda.so.580.65.06"),
              std::string::npos);
    EXPECT_EQ(folder.read(name + ".bundle/lib/libcuda.so.580.65.06"), make_library("libcuda.so.1"));
    EXPECT_FALSE(std::filesystem::exists(folder.path(name + ".bundle/unpacked")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path("executed")));
}

// A kernel's package has no modules.dep, and may hold thousands of modules: what is asked for is
// taken, with what that needs.
TEST(CollectArchive, ModulesOfAKernelsPackage) {
  TestFolder folder;
  folder.write("driver/libcuda.so.580.65.06", make_library("libcuda.so.1"));
  std::string tar;
  const std::string kernel = "./usr/lib/modules/6.1.0-test/";
  append_tar_file(tar, kernel + "kernel/host/nvme.ko",
                  make_driver_module("nvme", "", "nvme-core,base"));
  append_tar_file(tar, kernel + "kernel/host/nvme-core.ko", make_driver_module("nvme_core", ""));
  append_tar_file(tar, kernel + "kernel/other.ko", make_driver_module("other", ""));
  append_tar_file(tar, kernel + "modules.builtin", "kernel/base.ko\n");
  append_tar_end(tar);
  folder.write("k.deb", package(tar));
  folder.write("unpacked/usr/lib/modules/6.1.0-test/kernel/nvme.ko",
               make_driver_module("nvme", ""));
  const auto host = test_host();
  const auto collect = [&](const char* kernel_at, std::vector<std::string> modules) {
    std::filesystem::remove_all(folder.path("b"));
    return collect_bundle({.from = {folder.path("driver"), folder.path(kernel_at)},
                           .kernel_release = "6.1.0-test",
                           .modules = std::move(modules)},
                          folder.path("b"), *host, live_storage());
  };
  const auto bundle = collect("k.deb", {"nvme", "base"});
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_NE(find(*bundle, "modules/6.1.0-test/nvme.ko"), nullptr);
  EXPECT_NE(find(*bundle, "modules/6.1.0-test/nvme-core.ko"), nullptr);
  EXPECT_EQ(find(*bundle, "modules/6.1.0-test/other.ko"), nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder.path("b/unpacked")));
  const auto without_list = collect("unpacked", {"nvme"});
  ASSERT_TRUE(without_list) << without_list.error().message;
  EXPECT_NE(find(*without_list, "modules/6.1.0-test/nvme.ko"), nullptr);
  const auto missing = collect("k.deb", {"absent"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_NE(missing.error().message.find("--module absent: kernel 6.1.0-test has no such module"),
            std::string::npos)
      << missing.error().message;
}

// Of a package with this content, in a folder with nothing else: and nothing else comes to be
// there.
std::string why_refused(const TestFolder& folder, const std::string& tar) {
  folder.write("bad.deb", package(tar));
  const auto bundle = collect_bundle({.from = {folder.path("bad.deb")}}, folder.path("b"),
                                     *test_host(), live_storage());
  EXPECT_FALSE(bundle);
  EXPECT_EQ(folder.count(), 1u);
  return bundle ? std::string() : bundle.error().message;
}

TEST(CollectArchive, NothingIsWrittenOutside) {
  TestFolder folder;
  const auto host = test_host();
  const auto refused = [&](const std::string& tar) { return why_refused(folder, tar); };
  for (const char* prefix : {"../", "usr/../../", "/etc/"})
    EXPECT_NE(refused(driver_tar(prefix)).find("leads out of the archive"), std::string::npos);
  // A link is passed over, and what stands below its name is a folder of ours.
  std::string linked;
  linked += tar_header({.name = "usr", .link = "/etc"});
  linked += driver_tar("usr/");
  folder.write("link.deb", package(linked));
  const auto bundle =
      collect_bundle({.from = {folder.path("link.deb")}}, folder.path("b"), *host, live_storage());
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_FALSE(std::filesystem::exists("/etc/libcuda.so.580.65.06"));
}

TEST(CollectArchive, NamesThatAreTwiceThereOrNoNamesAreRefused) {
  TestFolder folder;
  const auto host = test_host();
  const auto refused = [&](const std::string& tar) { return why_refused(folder, tar); };
  const auto library = make_library("libcuda.so.1");
  std::string twice;
  append_tar_file(twice, "usr/lib/libcuda.so.580.65.06", library);
  append_tar_file(twice, "./usr/lib/libcuda.so.580.65.06", library);
  append_tar_end(twice);
  const auto message = refused(twice);
  EXPECT_NE(message.find("bad.deb: holds usr/lib/libcuda.so.580.65.06 twice"), std::string::npos)
      << message;
  EXPECT_NE(message.find("unpack it"), std::string::npos) << message;
  for (const std::string name :
       {"libnvidia-\n\x1b[31mx.so.580.65.06", "libnvidia-\x7f.so.580.65.06"}) {
    std::string tar;
    append_tar_file(tar, "usr/lib/libcuda.so.580.65.06", library);
    append_tar_file(tar, "usr/lib/" + name, library);
    append_tar_end(tar);
    EXPECT_NE(refused(tar).find("control characters"), std::string::npos);
    TestFolder other;
    other.write("from/libcuda.so.580.65.06", library);
    other.write("from/" + name, library);
    EXPECT_FALSE(
        collect_bundle({.from = {other.path("from")}}, other.path("b"), *host, live_storage()));
  }
  std::string tar;
  append_tar_file(tar, "usr/lib/libcuda.so.580.65.06", make_library("libcuda\n.so.1"));
  append_tar_end(tar);
  EXPECT_NE(refused(tar).find("is not the name of a library"), std::string::npos);
}

TEST(CollectArchive, DamagedOnesAreNamed) {
  TestFolder folder;
  const auto host = test_host();
  const auto whole = package(driver_tar());
  for (const std::string& bytes :
       {whole.substr(0, whole.size() / 2), std::string("#!/bin/sh\nnothing follows\n"),
        std::string("!<arch>\n"), std::string("something else"), std::string()}) {
    folder.write("bad", bytes);
    const auto bundle =
        collect_bundle({.from = {folder.path("bad")}}, folder.path("b"), *host, live_storage());
    ASSERT_FALSE(bundle);
    EXPECT_EQ(bundle.error().kind, ErrorKind::bad_input);
    EXPECT_NE(bundle.error().message.find("bad"), std::string::npos) << bundle.error().message;
    EXPECT_EQ(folder.count(), 1u);
  }
}

// Whatever write fails: no bundle, or a whole one; and but for a kill nothing else is left.
TEST(Collect, IsWholeOrNotThere) {
  TestFolder folder;
  folder.write("driver/libnvidia-ml.so.580.65.06", make_library("libnvidia-ml.so.1"));
  folder.write("a.deb", package(driver_tar()));
  const auto host = test_host();
  const CollectOptions options{.from = {folder.path("driver"), folder.path("a.deb")}};
  const auto run = [&](StorageFault fault, std::set<StorageCall> unsupported) {
    std::filesystem::remove_all(folder.path("b"));
    FailingStorage storage(live_storage(), fault, std::move(unsupported));
    const auto bundle = collect_bundle(options, folder.path("b"), *host, storage);
    const auto written = open_bundle(*host, folder.path("b"));
    EXPECT_TRUE(!bundle || written);
    if (written) {
      EXPECT_EQ(verify_bundle(*host, folder.path("b"), *written), std::vector<std::string>{});
    } else {
      EXPECT_FALSE(std::filesystem::exists(folder.path("b")));
    }
    std::size_t left = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      if (entry.path().filename().string().starts_with(".gpuready-")) {
        ++left;
        std::filesystem::remove_all(entry.path());
      }
    using Kind = StorageFault::Kind;
    if (fault.kind == Kind::once) {
      EXPECT_EQ(left, 0u) << "call " << fault.at;
    }
    EXPECT_LE(left, 1u);
    return storage.calls();
  };
  using Kind = StorageFault::Kind;
  for (const std::set<StorageCall>& unsupported :
       {std::set<StorageCall>{}, {StorageCall::link, StorageCall::rename_no_replace}}) {
    const auto calls = run({}, unsupported);
    ASSERT_GT(calls, 12u);
    for (std::size_t at = 1; at <= calls; ++at)
      for (const StorageFault fault : {StorageFault{at, Kind::once, ENOSPC},
                                       {at, Kind::from_then_on, EROFS},
                                       {at, Kind::killed, 0}})
        run(fault, unsupported);
  }
}

}  // namespace
}  // namespace gpuready::vm
