// Which files of a package the load test opens.
#include "pack/store/load_proof.h"

#include "unit/products/pack/code/fixtures.h"
#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

constexpr std::uint16_t kProgram = 2, kShared = 3;

std::string elf_of(std::uint16_t type) {
  const auto bytes = fixture::elf({.type = type}, {});
  return {bytes.begin(), bytes.end()};
}

TEST(LibrariesOf, AreElfFilesOfThatTypeAndName) {
  const Workshop shop;
  Variant variant;
  const auto add = [&](const std::string& path, const std::string& text) {
    write_text(shop.root + "/" + path, text);
    PackedFile& file = variant.files.emplace_back();
    file.path = path;
  };
  const auto library = elf_of(kShared);
  add("lib/a.so", library);
  add("lib/b.so.1.2", library);
  add("c.so", library.substr(0, 20));  // its type is within
  add("lib/program.so", elf_of(kProgram));
  add("lib/script.so", "GROUP ( libc.so.6 and more of this )");
  add("lib/short.so", library.substr(0, 19));
  add("lib/empty.so", "");
  add("lib/a", library);
  add("some.so.d/a", library);
  add("lib/link.so", library);
  variant.files.back().link = "a.so";
  variant.files.emplace_back().path = "lib/absent.so";
  EXPECT_EQ(libraries_of(shop.root, variant),
            (std::vector<std::string>{shop.root + "/lib/a.so", shop.root + "/lib/b.so.1.2",
                                      shop.root + "/c.so"}));
  EXPECT_EQ(libraries_of(shop.root + "/elsewhere", variant), std::vector<std::string>());
}

}  // namespace
}  // namespace gpuready::pack
