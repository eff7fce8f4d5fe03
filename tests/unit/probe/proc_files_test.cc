#include "probe/proc_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gpuready {
namespace {

// What /proc answers, errors included, is given on: a look that ends in an error proves nothing.
TEST(ProcFiles, TextsAreReadWholeAndErrorsAreGivenOn) {
  std::string path = "/tmp/gpuready-texts-XXXXXX";
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  const std::string text(100'000, 'x');
  std::ofstream(path + "/long") << text;
  ASSERT_EQ(::symlink("socket:[4]", (path + "/4").c_str()), 0);
  const Descriptor at(::open(path.c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_TRUE(at);
  TextReader reader;
  EXPECT_EQ(reader.read(at.get(), "long"), text);
  EXPECT_EQ(reader.read(at.get(), "."), std::unexpected(EISDIR));
  EXPECT_EQ(reader.read(at.get(), "missing"), std::unexpected(ENOENT));
  EXPECT_EQ(reader.read_link(at.get(), "4"), "socket:[4]");
  EXPECT_EQ(reader.read_link(at.get(), "long"), std::unexpected(EINVAL));
  EXPECT_EQ(list_numbers(at), std::vector<std::uint32_t>{4});
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace gpuready
