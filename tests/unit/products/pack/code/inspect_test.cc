// What an inspection of a folder lists.
#include "pack/code/inspect.h"

#include <fmt/format.h>

#include "host/recording/tar_writer.h"
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

using Problems = std::vector<std::string>;

TEST(Inspect, FoldersAreEnteredTo64Below) {
  const Workshop shop;
  std::string below = "a";
  for (int i = 1; i < 64; ++i) below += "/a";
  write_text(shop.root + "/" + below + "/x", "text");
  auto found = inspect_path(*shop.host, shop.root).value();
  EXPECT_EQ(found.names, std::vector{below + "/x"});
  EXPECT_EQ(found.problems, Problems());
  write_text(shop.root + "/" + below + "/a/y", "text");
  found = inspect_path(*shop.host, shop.root).value();
  EXPECT_EQ(found.names, std::vector{below + "/x"});
  EXPECT_EQ(found.problems,
            Problems{shop.root + "/" + below + "/a: too many folders in each other"});
}

std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string tar;
  for (const auto& [name, text] : files) append_tar_file(tar, name, text);
  append_tar_end(tar);
  return tar;
}

TEST(Inspect, ArchivesAreOpenedToTheSixthInEachOther) {
  const Workshop shop;
  const auto path = shop.root + "/a.tar";
  auto inner = tar_of({{"x", "text"}});
  for (int i = 1; i < 6; ++i) inner = tar_of({{"in.tar", inner}});
  write_text(path, inner);
  auto found = inspect_path(*shop.host, path).value();
  EXPECT_EQ(found.problems, Problems());
  EXPECT_EQ(found.files_read, 1u);
  write_text(path, tar_of({{"in.tar", inner}, {"y", "text"}}));
  found = inspect_path(*shop.host, path).value();
  EXPECT_EQ(found.problems, Problems{"a.tar!in.tar!in.tar!in.tar!in.tar!in.tar!in.tar: more than 6 "
                                     "archives in each other"});
  EXPECT_EQ(found.files_read, 1u) << "the rest of the outer ones is read";
}

TEST(Inspect, NamesThatLeadElsewhereAreProblems) {
  const Workshop shop;
  const auto path = shop.root + "/a.tar";
  const auto problems = [&](const std::string& name) {
    const auto header =
        (tar_name_fits(name) ? "" : tar_long_name(name)) +
        tar_header({.name = tar_name_fits(name) ? name : name.substr(0, 100), .size_bytes = 4});
    write_text(path, header + "text" + std::string(508 + 1024, '\0'));
    const auto found = inspect_path(*shop.host, path).value();
    EXPECT_EQ(found.files_read, 1u) << "it is read in any case";
    return found.problems;
  };
  const std::string out = ": its name leads out of the folder that it is unpacked into";
  EXPECT_EQ(problems("in/x"), Problems());
  EXPECT_EQ(problems("in/..x/y.."), Problems());
  for (const std::string name : {"../x", "in/../x", "in/.."})
    EXPECT_EQ(problems(name), Problems{"a.tar!" + name + out});
  EXPECT_EQ(
      problems("/etc/x"),
      Problems{"a.tar!/etc/x: its name is absolute: it would be unpacked outside the folder"});
  EXPECT_EQ(problems(std::string(4096, 'n')), Problems());
  EXPECT_EQ(problems(std::string(4097, 'n')),
            Problems{"a.tar!" + std::string(200, 'n') + "...: its name is too long"});
}

TEST(Inspect, WhatAnArchiveHoldsTwiceOrNoInstallerWouldUnpackIsAProblem) {
  const Workshop shop;
  const auto path = shop.root + "/a.tar";
  write_text(path, tar_header({.name = "null", .type = '3'}) +
                       tar_of({{"x", "1"}, {"y", "2"}, {"x", "3"}}));
  const auto found = inspect_path(*shop.host, path).value();
  EXPECT_EQ(found.problems,
            (Problems{"a.tar!null: a device, pipe or socket",
                      "a.tar!x: the archive holds this name twice; unpacked, the last one stays"}));
  EXPECT_EQ(found.names, (std::vector<std::string>{"a.tar!x", "a.tar!x", "a.tar!y"}));
}

TEST(Inspect, TwoHundredProblemsAreNamedAndTheRestCounted) {
  const Workshop shop;
  const auto path = shop.root + "/a.tar";
  const auto problems = [&](int count) {
    std::string tar;
    for (int i = 0; i < count; ++i) tar += tar_header({.name = fmt::format("d{}", i), .type = '3'});
    append_tar_end(tar);
    write_text(path, tar);
    return inspect_path(*shop.host, path).value().problems;
  };
  EXPECT_EQ(problems(200).size(), 200u);
  EXPECT_EQ(problems(200).back(), "a.tar!d199: a device, pipe or socket");
  EXPECT_EQ(problems(203).size(), 201u);
  EXPECT_EQ(problems(203).back(), "and 3 problems more");
}

}  // namespace
}  // namespace gpuready::pack
