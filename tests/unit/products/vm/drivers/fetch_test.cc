#include "vm/drivers/fetch.h"

#include "base/sha256.h"
#include "host/recording/tar_writer.h"
#include "unit/host/storage_walk.h"
#include "unit/products/vm/driver_folder.h"

namespace gpuready::vm {
namespace {

const std::string kBytes = "what a server sends";

std::string hash_of(std::string_view text) {
  return to_hex(sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

Result<void> in_two_pieces(const ByteSink& sink) {
  TRY(sink(std::string_view(kBytes).substr(0, 5)));
  return sink(std::string_view(kBytes).substr(5));
}

TEST(Fetch, AFileIsWholeOrNotThereWhateverFails) {
  const StorageWriter write = [](Storage& storage, const std::string& path) -> Result<void> {
    TRY(write_verified(in_two_pieces, hash_of(kBytes), path, storage));
    return {};
  };
  LivePlace live;
  MemoryPlace memory;
  for (WalkedPlace* place : std::initializer_list<WalkedPlace*>{&live, &memory})
    for (const auto& unsupported : kPoorFilesystems)
      StorageWalk{*place, write, std::nullopt, unsupported}.run();
}

TEST(Fetch, OtherBytesAreNotKept) {
  MemoryPlace place;
  place.reset(std::nullopt);
  const auto written =
      write_verified(in_two_pieces, hash_of("other"), place.target(), place.storage());
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find(hash_of(kBytes)), std::string::npos);
  EXPECT_NE(written.error().message.find(hash_of("other")), std::string::npos);
  EXPECT_FALSE(place.content());
  EXPECT_TRUE(place.names().empty());
}

TEST(Fetch, WhatBreaksOffIsNotKept) {
  MemoryPlace place;
  place.reset(std::nullopt);
  const auto broken = [](const ByteSink& sink) -> Result<void> {
    TRY(sink(kBytes));
    return fail(ErrorKind::io, "the connection broke");
  };
  const auto written = write_verified(broken, hash_of(kBytes), place.target(), place.storage());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "the connection broke");
  EXPECT_FALSE(place.content());
  EXPECT_TRUE(place.names().empty());
}

TEST(Fetch, AHashIsSixtyFourDigits) {
  const std::string digits(64, 'a');
  EXPECT_EQ(parse_sha256(digits).value(), digits);
  EXPECT_EQ(parse_sha256(" sha256:" + std::string(64, 'A') + "\n").value(), digits);
  for (const auto& bad : {std::string(), std::string(63, 'a'), std::string(65, 'a'),
                          std::string(63, 'a') + "g", "md5:" + std::string(60, 'a')})
    EXPECT_FALSE(parse_sha256(bad)) << bad;
}

TEST(Fetch, AFileWithItsBytesIsThereAndOneWithOthersIsAnError) {
  TestFolder folder;
  folder.write("driver.run", kBytes);
  const auto asked = [&](const std::string& name, std::string_view bytes) {
    return has_bytes(live_storage(), folder.path(name), hash_of(bytes));
  };
  EXPECT_EQ(asked("none.run", kBytes), false);
  EXPECT_EQ(asked("driver.run", kBytes), true);
  for (const auto& other : {asked("driver.run", "other"), asked("", kBytes)}) {
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(other.error().message.starts_with(folder.path())) << other.error().message;
  }
}

}  // namespace
}  // namespace gpuready::vm
