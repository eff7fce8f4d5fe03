// Archives: the same bytes each time, readable by tar, one frame a file; and what a reader refuses.
#include "pack/release/archive.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "jobs/job.h"

namespace gpuready::pack {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
std::string error_of(const auto& result) { return result ? "" : result.error().message; }

class Archive : public testing::Test {
 protected:
  Archive() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~Archive() override { std::filesystem::remove_all(folder_); }

  ArchiveEntry file(const std::string& path, const std::string& content, bool executable = false) {
    const auto source = folder_ + "/source" + std::to_string(next_++);
    std::ofstream(source, std::ios::binary) << content;
    return {path, source, std::nullopt, executable};
  }
  std::vector<ArchiveEntry> some() {
    std::string noise;
    for (unsigned i = 0; i < 300'000; ++i) noise += static_cast<char>(i * i >> 7);
    return {file("lib/b.so", noise, true),
            file(kLong, "long"),
            file("a.txt", "hello"),
            file("empty", ""),
            {"lib/b.so.1", "", "b.so", false}};
  }
  WrittenArchive write(const std::string& name, const ArchiveOptions& options = {}) {
    auto written = write_archive(some(), folder_, name, options);
    EXPECT_TRUE(written) << error_of(written);
    return written.value_or(WrittenArchive{});
  }
  // The file in the frame, or why there is none.
  std::string unpacked(const PackedFile& described, std::string_view frame, std::size_t piece) {
    std::string content;
    FrameReader reader(described, [&](std::string_view bytes) -> Result<void> {
      content += bytes;
      return {};
    });
    for (std::size_t at = 0; at < frame.size(); at += piece)
      if (const auto added = reader.add(frame.substr(at, piece)); !added) return error_of(added);
    const auto finished = reader.finish();
    EXPECT_LE(content.size(), described.size_bytes);
    return finished ? content : error_of(finished);
  }

  const std::string kLong = "z/" + std::string(150, 'n');
  std::string folder_ = std::string(GPUREADY_BINARY_DIR) + "/archiveXXXXXX";
  int next_ = 0;
};

TEST_F(Archive, SameFilesGiveTheSameBytes) {
  write("one.tar.zst");
  write("two.tar.zst");
  EXPECT_EQ(read(folder_ + "/one.tar.zst"), read(folder_ + "/two.tar.zst"));
}

TEST_F(Archive, EachFrameIsOneFile) {
  const auto written = write("a.tar.zst");
  const auto archive = read(folder_ + "/a.tar.zst");
  ASSERT_EQ(written.files.size(), 5u);
  EXPECT_EQ(written.files[0].path, "a.txt");
  EXPECT_EQ(written.files[2].path, "lib/b.so");
  EXPECT_TRUE(written.files[2].executable);
  EXPECT_EQ(written.files[3].link, "b.so");
  EXPECT_EQ(written.parts.at(0).size_bytes, archive.size());
  for (const auto& packed : written.files) {
    if (packed.link) continue;
    const auto frame = archive.substr(packed.offset_bytes, packed.frame_bytes);
    for (const std::size_t piece : {std::size_t{1'000'000}, std::size_t{777}}) {
      const auto content = unpacked(packed, frame, piece);
      EXPECT_EQ(content.size(), packed.size_bytes) << content.substr(0, 200);
    }
  }
}

TEST_F(Archive, TarReadsIt) {
  write("a.tar.zst");
  Job job;
  job.program = "tar";
  job.args = {"--zstd", "-tvf", folder_ + "/a.tar.zst"};
  const auto outcome = run_job(job);
  if (!outcome) GTEST_SKIP() << "tar is not installed";
  EXPECT_EQ(outcome->exit_code, 0) << outcome->err;
  EXPECT_NE(outcome->out.find("lib/b.so.1 -> b.so"), std::string::npos) << outcome->out;
  EXPECT_NE(outcome->out.find("-rwxr-xr-x"), std::string::npos) << outcome->out;
  EXPECT_NE(outcome->out.find(kLong + "\n"), std::string::npos) << outcome->out;
}

TEST_F(Archive, PartsAreTheWholeCut) {
  const auto whole = write("whole.tar.zst");
  const auto cut = write("cut.tar.zst", {.part_bytes = 1000});
  ASSERT_GT(cut.parts.size(), 1u);
  std::string joined;
  for (const auto& part : cut.parts) {
    const auto bytes = read(folder_ + "/" + part.name);
    EXPECT_EQ(bytes.size(), part.size_bytes);
    EXPECT_LE(bytes.size(), 1000u);
    joined += bytes;
  }
  EXPECT_EQ(cut.parts[1].name, "cut.tar.zst.002");
  EXPECT_EQ(joined, read(folder_ + "/whole.tar.zst"));
  EXPECT_EQ(cut.files, whole.files);
}

TEST_F(Archive, ReaderRefusesWhatTheManifestDoesNotSay) {
  const auto written = write("a.tar.zst");
  const auto archive = read(folder_ + "/a.tar.zst");
  const auto packed = written.files[2];
  const auto frame = archive.substr(packed.offset_bytes, packed.frame_bytes);
  const std::size_t all = frame.size();
  EXPECT_EQ(unpacked(packed, frame.substr(0, all - 1), all),
            "lib/b.so: the archive ends before the file does");
  EXPECT_EQ(unpacked(packed, frame + "x", all + 1),
            "lib/b.so: bytes follow its frame in the archive");
  EXPECT_EQ(unpacked(packed, frame + "x", all), "lib/b.so: bytes follow its frame in the archive");
  EXPECT_NE(unpacked(packed, "no frame at all", all).find("the archive is damaged"),
            std::string::npos);
  auto smaller = packed;
  smaller.size_bytes -= 4096;  // a bomb: no byte beyond what was promised is given
  EXPECT_EQ(unpacked(smaller, frame, all),
            "lib/b.so: the archive holds more than the manifest says");
  auto larger = packed;
  larger.size_bytes += 4096;
  EXPECT_EQ(unpacked(larger, frame, all), "lib/b.so: the archive ends before the file does");
  auto other = packed;
  other.sha256 = written.files[0].sha256;
  EXPECT_EQ(unpacked(other, frame, all), "lib/b.so: its SHA-256 is not the one of the manifest");
  for (std::size_t at = 0; at < frame.size(); at += 97) {
    auto changed = frame;
    changed[at] ^= 0x10;
    EXPECT_NE(unpacked(packed, changed, all), unpacked(packed, frame, all)) << at;
  }
}

TEST_F(Archive, NamesThatNoInstallerWouldTakeAreNotPacked) {
  for (const std::string path : {"../x", "/x", "a//b", "a/./b", "", "a\nb", ".gpuready/x"})
    EXPECT_FALSE(write_archive({file(path, "x")}, folder_, "bad.tar.zst")) << path;
  for (const std::string link : {"/etc/passwd", "../../x", "..", ""})
    EXPECT_FALSE(write_archive({{"lib/x", "", link, false}}, folder_, "bad.tar.zst")) << link;
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/bad.tar.zst"));
}

TEST_F(Archive, ALinkIsAsLongAsATarHeaderHolds) {
  const auto error = [&](std::size_t bytes) {
    return error_of(write_archive({{"x", "", std::string(bytes, 'n'), false}}, folder_,
                                  fmt::format("link{}.tar.zst", bytes)));
  };
  EXPECT_EQ(error(100), "");
  EXPECT_EQ(error(101), "x: its link is too long for a tar archive");
}

}  // namespace
}  // namespace gpuready::pack
