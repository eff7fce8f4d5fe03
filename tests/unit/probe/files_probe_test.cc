// Reading in a real child.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "../../fake_drivers/ask_fake.h"
#include "base/text.h"
#include "host/host.h"

namespace gpuready {
namespace {

TEST(FilesProbe, TheSameIsReadAsHere) {
  char name[] = "/tmp/gpuready-files-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const std::string folder = name;
  const std::string bytes("\x00\xff metrics", 10);
  std::ofstream(folder + "/binary", std::ios::binary) << bytes;
  setenv("GPUREADY_HELPER", testing::fake_driver_path("probe_helper").c_str(), 1);
  const auto host = make_live_host();
  host->ask_driver({folder + "/binary", folder + "/absent", folder});
  unlink((folder + "/binary").c_str());  // what is known now is what the child has read
  EXPECT_EQ(host->read_file(folder + "/binary"), bytes);
  EXPECT_EQ(host->read_file(folder + "/absent").error().kind, ErrorKind::not_found);
  EXPECT_EQ(host->read_file(folder).error().kind, ErrorKind::unsupported);
  EXPECT_TRUE(contains(host->read_file(folder).error().message, "not a regular file"));
  rmdir(name);
}

}  // namespace
}  // namespace gpuready
