// The bill of materials has what the manifest has, in the form of CycloneDX.
#include "pack/release/bill.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace gpuready::pack {
namespace {

PackedFile file_of(const char* path, char hash) {
  PackedFile file;
  file.path = path;
  file.sha256 = std::string(64, hash);
  return file;
}

TEST(Bill, HasEachFileWithItsHashAndCode) {
  Variant variant;
  variant.name = "latest";
  variant.architectures = {"90", "120+PTX"};
  variant.floors.driver = "525.60.13";
  PackedFile link;
  link.path = "lib/libx.so";
  link.link = "libx.so.1";
  variant.files = {file_of("lib/libx.so.1", 'a'), link, file_of("LICENSE", 'b')};
  variant.code = {{"lib/libx.so.1",
                   {{{"sm_90", "compute_120@8.7"}, 598, false}, {{"sm_90a"}, 2, false}},
                   "12.8"}};
  Variant cpu;
  cpu.name = "cpu";
  cpu.files = {file_of("lib/libx.so.1", 'c')};
  Manifest manifest;
  manifest.name = "libs";
  manifest.version = "1.2";
  manifest.created_utc = "2026-11-26T10:00:00Z";
  manifest.variants = {variant, cpu};

  const auto expected = Json::parse(R"({
    "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
    "metadata": {
      "timestamp": "2026-11-26T10:00:00Z",
      "tools": {"components": [{"type": "application", "name": "gpuready"}]},
      "component": {"type": "library", "bom-ref": "libs@1.2", "name": "libs", "version": "1.2"}
    },
    "components": [
      {"type": "library", "bom-ref": "latest", "name": "latest",
       "properties": [{"name": "gpuready:architecture", "value": "90"},
                      {"name": "gpuready:architecture", "value": "120+PTX"},
                      {"name": "gpuready:floor:driver", "value": "525.60.13"}],
       "components": [
         {"type": "file", "bom-ref": "latest/lib/libx.so.1", "name": "lib/libx.so.1",
          "hashes": [{"alg": "SHA-256",
                      "content": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}],
          "properties": [{"name": "gpuready:modules", "value": "598: sm_90, compute_120@8.7"},
                         {"name": "gpuready:modules", "value": "2: sm_90a"},
                         {"name": "gpuready:cuda", "value": "12.8"}]},
         {"type": "file", "bom-ref": "latest/LICENSE", "name": "LICENSE",
          "hashes": [{"alg": "SHA-256",
                      "content": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}]}]},
      {"type": "library", "bom-ref": "cpu", "name": "cpu", "properties": [],
       "components": [
         {"type": "file", "bom-ref": "cpu/lib/libx.so.1", "name": "lib/libx.so.1",
          "hashes": [{"alg": "SHA-256",
                      "content": "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"}]}]}
    ]})");
  EXPECT_EQ(Json::parse(bill_of_materials(manifest)), expected);
}

}  // namespace
}  // namespace gpuready::pack
