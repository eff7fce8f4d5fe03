// Reports, recordings and GGUF files are whole or untouched, whichever call of their writers fails.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cli/options.h"
#include "host/recording/recording.h"
#include "ternary/cli/ternary_file.h"
#include "ternary/gguf/gguf_write.h"
#include "unit/host/storage_walk.h"

namespace gpuready {
namespace {

namespace gguf = ternary::gguf;

// A matrix of 2 x 256 in TQ2_0, in a whole file.
std::vector<std::uint8_t> gguf_file() {
  constexpr std::uint32_t kTq2 = 35;
  constexpr std::size_t kBlockBytes = 66;
  auto bytes = gguf::head(3, 32, {}, {{"w.weight", 2, {256, 2, 1, 1}, kTq2, 2 * kBlockBytes}});
  for (int block = 0; block < 2; ++block) {
    bytes.insert(bytes.end(), 64, 0x64);   // 0, +1, 0, -1 ...
    bytes.insert(bytes.end(), {0, 0x38});  // the scale, 0.5 as f16
  }
  bytes.resize(bytes.size() + gguf::padding(bytes.size(), 32));
  return bytes;
}

Result<void> convert(Storage& storage, const std::string& path, OnExisting existing) {
  const auto bytes = gguf_file();
  const auto file = gguf::read(bytes);
  if (!file) return fail(ErrorKind::bad_input, file.error().message);
  gguf::ConvertOptions options;
  options.to = ternary::FormatId::tq1_0;
  const auto report = TRY(cli::convert_into(path, *file, "in.gguf", options, existing, storage));
  EXPECT_EQ(report.converted.size(), 1u);
  return {};
}

TEST(StorageFaults, Reports) {
  walk_storage([](Storage& storage, const std::string& path) {
    return cli::write_file(path, "{\"schema\": \"gpuready.report\"}\n", storage);
  });
}

TEST(StorageFaults, Recordings) {
  Recording recording;
  recording.files["/proc/version"] = "Linux version 6.1\n";
  walk_storage([&](Storage& storage, const std::string& path) {
    return save_recording(recording, path, storage);
  });
}

TEST(StorageFaults, GgufFiles) {
  walk_storage([](Storage& storage, const std::string& path) {
    return convert(storage, path, OnExisting::replace);
  });
}

TEST(StorageFaults, AConversionIsNotLaidOverAFileMadeMeanwhile) {
  LivePlace place;
  FailingStorage storage(place.storage(), {});
  storage.before_call = [&](StorageCall call) {
    if (call != StorageCall::sync) return;
    const auto theirs = place.storage().create(place.target(), 0600);
    ASSERT_TRUE(theirs && (*theirs)->write("theirs"));
  };
  const auto refused = convert(storage, place.target(), OnExisting::fail);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, place.target() + " exists; --force replaces it");
  EXPECT_EQ(place.content(), "theirs");
  EXPECT_EQ(place.names().size(), 1u);
}

TEST(StorageFaults, RecordingsAreForTheirOwnerAlone) {
  LivePlace place;
  ASSERT_TRUE(save_recording({}, place.target()));
  EXPECT_EQ(place.storage().status(place.target())->mode, 0600u);
}

TEST(StorageFaults, WhatIsNoPlainFileIsWrittenToAsItIs) {
  MemoryStorage storage;
  storage.add("/device", FileKind::character_device);
  ASSERT_TRUE(cli::write_file("/device", "a", storage));
  ASSERT_TRUE(cli::write_file("/device", "b", storage));
  EXPECT_EQ(storage.content("/device"), "ab");
  ASSERT_TRUE(cli::write_file("/file", "a", storage));
  ASSERT_TRUE(cli::write_file("/file", "b", storage));
  EXPECT_EQ(storage.content("/file"), "b");
}

// Of an errno it says what could not be done; a reason in words says that itself.
TEST(StorageFaults, AFailedWriteToAPipeSaysWhy) {
  MemoryStorage storage;
  storage.add("/pipe", FileKind::other);
  FailingStorage full(storage, {.at = 2, .error_number = ENOSPC});  // after the look at its kind
  const auto written = cli::write_file("/pipe", "a", full);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "cannot write to /pipe: No space left on device");
  EXPECT_TRUE(cli::write_file("/pipe", "a", full));
  EXPECT_EQ(storage.content("/pipe"), "a");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  LivePlace place;
  constexpr uid_t kAnother = 4711;
  ASSERT_EQ(::mkfifo(place.target().c_str(), 0600), 0);
  ASSERT_EQ(::lchown(place.target().c_str(), kAnother, kAnother), 0);
  const auto refused = cli::write_file(place.target(), "a", place.storage());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::no_permission);
  EXPECT_TRUE(refused.error().message.starts_with(place.target() + ": "))
      << refused.error().message;
}

}  // namespace
}  // namespace gpuready
