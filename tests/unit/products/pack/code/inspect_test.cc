// What an inspection of a folder lists.
#include "pack/code/inspect.h"

#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

TEST(Inspect, AFolderHasTheNamesOfItsFilesAndLinks) {
  const Workshop shop;
  write_text(shop.root + "/lib/x.so.1", "text");
  write_text(shop.root + "/a", "text");
  std::filesystem::create_symlink("x.so.1", shop.root + "/lib/x.so");
  std::filesystem::create_symlink("none", shop.root + "/lib/y.so");
  std::filesystem::create_directory_symlink("lib", shop.root + "/lib64");
  const auto found = inspect_path(*shop.host, shop.root);
  ASSERT_TRUE(found) << error_text(found);
  EXPECT_EQ(found->kind, "folder");
  EXPECT_EQ(found->names,
            (std::vector<std::string>{"a", "lib/x.so", "lib/x.so.1", "lib/y.so", "lib64"}));
  EXPECT_EQ(found->files_read, 2u);  // a link is not followed
  std::map<std::string, std::pair<std::string, bool>> links;
  for (const auto& link : found->links) links[link.path] = {link.target, link.dangling};
  EXPECT_EQ(links, (decltype(links){{"lib/x.so", {"x.so.1", false}},
                                    {"lib/y.so", {"none", true}},
                                    {"lib64", {"lib", false}}}));
  EXPECT_EQ(found->problems, std::vector<std::string>());
}

}  // namespace
}  // namespace gpuready::pack
