// A release as an OCI artifact: what is written can be read, also by who pulls it while it is
// written.
#include "pack/release/oci.h"

#include "base/sha256.h"
#include "doubles/failing_storage.h"
#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

const std::map<std::string, OciBlob> kFiles = {
    {"manifest.json", {"sha256:" + std::string(64, '1'), 100}},
    {"libs-1.0-cpu.tar.zst", {"sha256:" + std::string(64, '2'), 5'000'000'000}},
};

TEST(Oci, ManifestComesBack) {
  const auto again = parse_oci_manifest(oci_manifest_text(kFiles), "manifest");
  ASSERT_TRUE(again) << error_text(again);
  ASSERT_EQ(again->size(), 2u);
  EXPECT_EQ(again->at("manifest.json").digest, kFiles.at("manifest.json").digest);
  EXPECT_EQ(again->at("libs-1.0-cpu.tar.zst").size_bytes, 5'000'000'000u);
}

TEST(Oci, OtherManifestsAreRefused) {
  const auto refused = [](std::string from, std::string to, std::string_view why) {
    auto text = oci_manifest_text(kFiles);
    const auto at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    const auto read = parse_oci_manifest(text, "manifest");
    ASSERT_FALSE(read) << to;
    EXPECT_NE(read.error().message.find(why), std::string::npos) << read.error().message;
  };
  refused("manifest.json", "other.json", "it holds no manifest.json");
  refused("libs-1.0-cpu", "../../etc/x", "../../etc/x.tar.zst: a name does not begin");
  refused("libs-1.0-cpu.tar.zst", "manifest.json", "manifest.json is listed twice");
  refused("sha256:111", "sha512:111", "its digest is not a SHA-256");
  refused("sha256:111", "sha256:11G", "its digest is not a SHA-256");
  refused("\"size\": 100", "\"size\": -1", "or its size is missing");
  refused("\"layers\"", "\"manifests\"", "an index of several images");
  EXPECT_FALSE(parse_oci_manifest("", "manifest"));
  EXPECT_FALSE(parse_oci_manifest("[]", "manifest"));
}

TEST(Oci, References) {
  const auto digest = "sha256:" + std::string(64, 'a');
  for (const auto& [text, means] :
       std::map<std::string, std::string>{{"ghcr.io/team/libs:1.2", "ghcr.io/team/libs:1.2"},
                                          {"localhost:5000/libs", "localhost:5000/libs:latest"},
                                          {"[::1]:5000/libs:x", "[::1]:5000/libs:x"},
                                          {"r/a/b/c@" + digest, "r/a/b/c@" + digest},
                                          {"r/a:1.0@" + digest, "r/a@" + digest}}) {
    const auto found = parse_oci_reference(text);
    ASSERT_TRUE(found) << error_text(found);
    EXPECT_EQ(found->text(), means);
  }
  for (const char* bad : {"",
                          "/",
                          "host",
                          "host/",
                          "/name",
                          "host/Name",
                          "host/a//b",
                          "host/../v2",
                          "host/a/..",
                          "host/a:",
                          "host/a:.x",
                          "host/a:b/c",
                          "host/a?x",
                          "host/a#x",
                          "host/a:b?x",
                          "me@host/a",
                          "host/a@sha256:12",
                          "host/a@",
                          "ho st/a",
                          "host/a b"})
    EXPECT_FALSE(parse_oci_reference(bad)) << bad;
}

// Each tag of a layout, with all that it leads to, hashed.
std::vector<std::string> whole_tags(const std::string& layout) {
  std::vector<std::string> tags;
  const auto whole = [&](const std::string& digest) {
    const auto content = read_text(layout + "/blobs/sha256/" + digest.substr(7));
    Sha256Stream hash;
    hash.add(content);
    EXPECT_EQ("sha256:" + to_hex(hash.finish()), digest);
    return content;
  };
  const auto index = parse_json(read_text(layout + "/index.json"), "index");
  if (!index) return tags;
  for (const auto& entry : member(*index, "manifests")) {
    tags.push_back(*get_string(member(entry, "annotations"), "org.opencontainers.image.ref.name"));
    const auto files = parse_oci_manifest(whole(*get_string(entry, "digest")), "manifest");
    EXPECT_TRUE(files) << error_text(files);
    if (!files) continue;
    for (const auto& [name, blob] : *files) EXPECT_EQ(whole(blob.digest).size(), blob.size_bytes);
  }
  return tags;
}

// What cannot be read may hold other releases: it is not written over.
TEST(Oci, AnIndexThatCannotBeReadStays) {
  Workshop shop;
  const auto layout = shop.root + "/layout", index = layout + "/index.json";
  write_text(shop.root + "/release/manifest.json", "{}");
  const auto write = [&] {
    return write_oci_layout(*shop.host, shop.root + "/release", {"manifest.json"}, "1.0", layout,
                            live_storage());
  };
  for (const std::string& text :
       {std::string("{"), "{\"more\": \"" + std::string(5u << 20, 'a') + "\"}"}) {
    write_text(index, text);
    EXPECT_FALSE(write()) << text.size();
    EXPECT_TRUE(read_text(index) == text) << text.size();
  }
  std::filesystem::remove(index);
  EXPECT_EQ(error_text(write()), "");
  EXPECT_EQ(whole_tags(layout), std::vector<std::string>{"1.0"});
}

TEST(Oci, LayoutIsWholeWheneverItsWriterDies) {
  Workshop shop;
  const auto layout = shop.root + "/layout";
  const std::vector<std::string> files = {"manifest.json", "libs.tar.zst"};
  const auto write = [&](const std::string& tag, Storage& storage) {
    write_text(shop.root + "/release/manifest.json", "{\"version\": \"" + tag + "\"}");
    write_text(shop.root + "/release/libs.tar.zst", noise(5000, 1) + tag);
    return write_oci_layout(*shop.host, shop.root + "/release", files, tag, layout, storage);
  };
  using Tags = std::vector<std::string>;
  ASSERT_EQ(error_text(write("1.0", live_storage())), "");
  EXPECT_EQ(whole_tags(layout), Tags{"1.0"});
  FailingStorage count(live_storage(), {}, {});
  ASSERT_EQ(error_text(write("1.1", count)), "");
  EXPECT_EQ(whole_tags(layout), (Tags{"1.0", "1.1"}));
  ASSERT_GT(count.calls(), 10u);
  for (const auto kind : {StorageFault::Kind::once, StorageFault::Kind::killed})
    for (std::size_t at = 1; at <= count.calls(); ++at) {
      SCOPED_TRACE("call " + std::to_string(at));
      std::filesystem::remove_all(layout);
      ASSERT_EQ(error_text(write("1.0", live_storage())), "");
      FailingStorage failing(live_storage(), {at, kind, ENOSPC}, {});
      const auto done = write("1.1", failing);
      const auto tags = whole_tags(layout);
      EXPECT_TRUE(tags == Tags{"1.0"} || tags == (Tags{"1.0", "1.1"}));
      EXPECT_TRUE(!done || tags.size() == 2);
      ASSERT_EQ(error_text(write("1.1", live_storage())), "");
      EXPECT_EQ(whole_tags(layout), (Tags{"1.0", "1.1"}));
    }
}

}  // namespace
}  // namespace gpuready::pack
