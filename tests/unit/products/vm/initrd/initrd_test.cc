#include "vm/initrd/initrd.h"

#include <zstd.h>

#include <map>

#include "unit/host/storage_walk.h"
#include "unit/products/vm/driver_folder.h"
#include "vm/initrd/newc.h"

namespace gpuready::vm {
namespace {

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Newc, WhatIsWrittenIsReadAndCutsAreErrors) {
  std::string archive = *newc_header({"folder", kNewcFolder | 0755, 0, 0, 0}, 1);
  archive += *newc_header({"folder/file", kNewcFile | 0644, 5, 0, 0}, 2) + "hello";
  archive.append(newc_padding(5), '\0');
  archive += *newc_header({"dev/console", kNewcCharacterDevice | 0600, 0, 5, 1}, 3);
  archive += newc_end();
  const auto read = read_newc(bytes_of(archive), "initrd");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->files.size(), 3u);
  EXPECT_EQ(read->size_bytes, archive.size());
  EXPECT_EQ(read->files[1].entry.name, "folder/file");
  EXPECT_EQ(read->files[1].entry.mode, kNewcFile | 0644);
  EXPECT_EQ(std::string(read->files[1].content.begin(), read->files[1].content.end()), "hello");
  EXPECT_EQ(read->files[2].entry.device_major, 5u);
  EXPECT_EQ(read->files[2].entry.device_minor, 1u);
  for (std::size_t size = 0; size < archive.size(); ++size)
    EXPECT_FALSE(read_newc(bytes_of(archive).first(size), "cut")) << size;
  EXPECT_FALSE(newc_header({"big", kNewcFile, std::uint64_t{1} << 32, 0, 0}, 1));
}

struct Made {
  std::map<std::string, std::string> files;
  std::string bytes;
};

class Initrd : public ::testing::Test {
 protected:
  Initrd() {
    write_driver(folder_);
    collect_driver(folder_);
    folder_.write("guest", "#!the guest's init");
    options_.bundle = folder_.path("bundle");
    options_.guest = folder_.path("guest");
  }
  InitrdReport make() {
    const auto report = write_initrd(options_, folder_.path("initrd"), *host_, live_storage());
    EXPECT_TRUE(report) << report.error().message;
    return report.value_or(InitrdReport{});
  }
  std::string refused() {
    const auto report = write_initrd(options_, folder_.path("none"), *host_, live_storage());
    EXPECT_FALSE(report);
    EXPECT_FALSE(std::filesystem::exists(folder_.path("none")));
    return report ? "" : report.error().message;
  }
  Made read() {
    Made made;
    made.bytes = folder_.read("initrd");
    constexpr std::size_t kHead = 512;
    auto rest = made.bytes.substr(kHead);
    if (rest.starts_with("\x28\xB5\x2F\xFD")) {
      std::string plain(1 << 20, '\0');
      const auto size = ZSTD_decompress(plain.data(), plain.size(), rest.data(),
                                        ZSTD_findFrameCompressedSize(rest.data(), rest.size()));
      EXPECT_FALSE(ZSTD_isError(size));
      rest = plain.substr(0, size);
    }
    const auto archive = read_newc(bytes_of(rest), "initrd");
    EXPECT_TRUE(archive) << archive.error().message;
    for (const auto& file : archive->files)
      made.files[file.entry.name] = std::string(file.content.begin(), file.content.end());
    return made;
  }

  TestFolder folder_;
  std::unique_ptr<Host> host_ = test_host();
  InitrdOptions options_;
};

TEST_F(Initrd, HasTheDriverWhereTheGuestLooks) {
  const auto report = make();
  EXPECT_FALSE(report.unchanged);
  EXPECT_EQ(report.kernel_release, "6.1.0-test");
  const auto made = read();
  EXPECT_EQ(made.bytes.size(), report.written_bytes);
  EXPECT_EQ(made.files.at("init"), "#!the guest's init");
  for (const char* name :
       {"lib/modules/6.1.0-test/kernel/drivers/gpu/nvidia.ko",
        "usr/lib/nvidia/libcuda.so.580.65.06", "lib/firmware/nvidia/580.65.06/gsp_ga10x.bin",
        "usr/lib/nvidia/bin/nvidia-smi", "dev/console", "newroot"})
    EXPECT_TRUE(made.files.contains(name)) << name;
  const auto inside = bundle_from_text(made.files.at("usr/lib/nvidia/bundle.json"), "inside");
  ASSERT_TRUE(inside) << inside.error().message;
  for (const auto& file : inside->files)
    if (file.kind == DriverFileKind::library || file.kind == DriverFileKind::program) {
      EXPECT_TRUE(made.files.contains("usr/lib/nvidia/" + file.path)) << file.path;
    }
}

TEST_F(Initrd, TheSameInputGivesTheSameBytesAndIsNotWrittenAgain) {
  make();
  const auto first = folder_.read("initrd");
  EXPECT_TRUE(make().unchanged);
  std::filesystem::remove(folder_.path("initrd"));
  EXPECT_FALSE(make().unchanged);
  EXPECT_EQ(folder_.read("initrd"), first);
  // Another init, other options, one that was cut short: written anew.
  folder_.write("guest", "#!another init");
  EXPECT_FALSE(make().unchanged);
  EXPECT_NE(folder_.read("initrd"), first);
  options_.capabilities = {Capability::compute};
  EXPECT_FALSE(make().unchanged);
  folder_.write("initrd", folder_.read("initrd").substr(0, 2000));
  EXPECT_FALSE(make().unchanged);
  EXPECT_TRUE(make().unchanged);
  options_.segment = true;
  EXPECT_FALSE(make().unchanged);
  const auto segment = read();
  EXPECT_FALSE(segment.files.contains("init"));
  EXPECT_FALSE(segment.files.contains("dev/console"));
  EXPECT_EQ(segment.files.at("usr/lib/nvidia/gpuready-guest"), "#!another init");
}

TEST_F(Initrd, PackedItHoldsTheSame) {
  make();
  const auto plain = read();
  options_.zstd = true;
  EXPECT_FALSE(make().unchanged);
  const auto packed = read();
  EXPECT_EQ(packed.files, plain.files);
  EXPECT_LT(packed.bytes.size(), plain.bytes.size());
  EXPECT_TRUE(make().unchanged);
}

TEST_F(Initrd, ACapabilityBringsWhatItNeedsAndNoMore) {
  options_.capabilities = {Capability::compute};
  make();
  auto made = read();
  const std::string modules = "lib/modules/6.1.0-test/kernel/drivers/gpu/";
  EXPECT_TRUE(made.files.contains("usr/lib/nvidia/libcuda.so.580.65.06"));
  EXPECT_TRUE(made.files.contains(modules + "nvidia-uvm.ko"));
  EXPECT_FALSE(made.files.contains(modules + "nvidia-modeset.ko"));
  EXPECT_FALSE(made.files.contains("usr/lib/nvidia/libnvidia-encode.so.580.65.06"));
  EXPECT_FALSE(made.files.contains("usr/lib/nvidia/data/nvidia_icd.json"));
  options_.capabilities = {Capability::graphics};
  make();
  made = read();
  EXPECT_TRUE(made.files.contains("usr/lib/nvidia/libnvidia-glcore.so.580.65.06"));
  EXPECT_TRUE(made.files.contains(modules + "nvidia-modeset.ko"));
  EXPECT_FALSE(made.files.contains("usr/lib/nvidia/libcuda.so.580.65.06"));
}

TEST_F(Initrd, WhatDoesNotFitIsRefused) {
  options_.kernel_release = "6.9.9";
  EXPECT_NE(refused().find("no modules for 6.9.9; it has them for 6.1.0-test"), std::string::npos);
  options_.kernel_release.clear();
  options_.guest = folder_.path("nowhere");
  EXPECT_NE(refused().find("nowhere"), std::string::npos);
  options_.guest = folder_.path("guest");
  auto cuda = folder_.read("bundle/lib/libcuda.so.580.65.06");
  cuda.back() = static_cast<char>(cuda.back() ^ 1);
  folder_.write("bundle/lib/libcuda.so.580.65.06", cuda);
  options_.verify = true;
  EXPECT_NE(refused().find("other bytes"), std::string::npos);
  options_.verify = false;
  folder_.write("bundle/lib/libcuda.so.580.65.06", cuda + "x");
  EXPECT_NE(refused().find("the bundle's list says"), std::string::npos);
  options_.bundle = folder_.path("driver");
  EXPECT_NE(refused().find("not a driver bundle"), std::string::npos);
}

// Another user swaps a file of the same size after it was compared with the bundle's list.
TEST_F(Initrd, WhatIsWrittenIsWhatWasVerified) {
  options_.verify = true;
  for (const bool zstd : {false, true})
    for (const std::string name : {"bundle/lib/libcuda.so.580.65.06", "guest"}) {
      options_.zstd = zstd;
      const auto good = folder_.read(name);
      FailingStorage storage(live_storage(), {});
      storage.before_call = [&](StorageCall call) {
        auto other = good;
        other.back() = static_cast<char>(other.back() ^ 1);
        if (call == StorageCall::create_unnamed) folder_.write(name, other);
      };
      const auto report = write_initrd(options_, folder_.path("none"), *host_, storage);
      EXPECT_TRUE(!report && contains(report.error().message, name + " changed while it was read"))
          << name;
      EXPECT_FALSE(std::filesystem::exists(folder_.path("none")));
      folder_.write(name, good);
    }
}

TEST_F(Initrd, ALinkOutOfTheBundleIsRefused) {
  const auto library = folder_.path("bundle/lib/libcuda.so.580.65.06");
  std::filesystem::rename(library, folder_.path("secret"));
  std::filesystem::create_symlink("../../secret", library);
  EXPECT_NE(refused().find("leads out of the bundle"), std::string::npos);
}

TEST_F(Initrd, IsWholeOrWhatItWas) {
  options_.zstd = false;  // packing starts threads a thousand times; the file is written alike
  walk_storage([&](Storage& storage, const std::string& path) -> Result<void> {
    const auto report = write_initrd(options_, path, *host_, storage);
    return report ? Result<void>() : std::unexpected(report.error());
  });
}

}  // namespace
}  // namespace gpuready::vm
