// Paths through links, in whichever order the links and the questions come.
#include "host/path_tree.h"

#include <gtest/gtest.h>

namespace gpuready::test {
namespace {

TEST(PathTree, FollowsALinkThatComesAfterAPathThroughIt) {
  struct Case {
    const char *asked, *link, *target, *then;
  };
  constexpr Case kCases[] = {
      {"/a/b/f", "/a/b", "/c", "/c/f"},
      {"/a/b/d/f", "/a/b", "../c", "/c/d/f"},
      {"/a/b/../c/f", "/a/b", "/x/y", "/x/c/f"},  // a folder that was left again
      {"/l/b/f", "/m/b", "/c", "/c/f"},           // reached through another link
      {"/l/f", "/m", "/c", "/c/f"},
      {"/l/f", "/l", "/c", "/c/f"},  // a link that is given again
      {"/z/l/f", "/l", "/c", "/c/f"},
  };
  for (const auto& c : kCases) {
    PathTree tree;
    tree.add_link("/l", "/m");
    tree.add_link("/z", "/");
    ASSERT_TRUE(tree.resolve(c.asked));
    tree.add_link(c.link, c.target);
    EXPECT_EQ(tree.resolve(c.asked).value(), c.then) << c.asked << " by " << c.link;
  }
}

TEST(PathTree, RefusesWhatLinuxRefuses) {
  PathTree tree;
  tree.add_link("/a", "/b");
  tree.add_link("/b", "/a");
  EXPECT_FALSE(tree.resolve("/a"));
  EXPECT_FALSE(tree.resolve("/a/f"));
  EXPECT_EQ(tree.resolve_folder("/a").value(), "/a");  // the link itself
  EXPECT_FALSE(tree.resolve("a"));
  EXPECT_TRUE(tree.resolve("/" + std::string(4095, 'a')));
  EXPECT_FALSE(tree.resolve("/" + std::string(4096, 'a')));
}

TEST(PathTree, APathHasAtMost128Parts) {
  const auto resolves = [](int parts) {
    std::string path;
    for (int i = 0; i < parts; ++i) path += "/ab";
    return PathTree().resolve(path).has_value();
  };
  EXPECT_TRUE(resolves(128));
  EXPECT_FALSE(resolves(129));
}

// path_resolution(7): ELOOP after 40 links.
TEST(PathTree, FollowsFortyLinksAndNoMore) {
  const auto resolved = [](int links) {
    PathTree tree;
    for (int i = 1; i <= links; ++i)
      tree.add_link("/l" + std::to_string(i), i == links ? "/end" : "/l" + std::to_string(i + 1));
    return tree.resolve("/l1").value_or("");
  };
  EXPECT_EQ(resolved(40), "/end");
  EXPECT_EQ(resolved(41), "");
}

}  // namespace
}  // namespace gpuready::test
