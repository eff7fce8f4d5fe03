#include <gtest/gtest.h>

#include "machine/sources.h"
#include "unit/machine/scripted.h"

namespace gpuready {
namespace {

// mount(2): a node on a file system mounted nodev opens for no one, which access(2) does not say.
TEST(DeviceNodes, AMountWithNodevRefusesWhatIsNotRefusedAlready) {
  struct Row {
    const char *options, *open;
    std::optional<bool> openable;
    std::optional<std::string> error;
    bool nodev;
  };
  for (const auto& [options, open, openable, error, nodev] :
       std::initializer_list<Row>{{"rw,nosuid", "ok", true, {}, false},
                                  {"rw,nodev", "ok", false, "EACCES", true},
                                  {"rw,nosuid", "EPERM", false, "EPERM", false},
                                  {"rw,nodev", "EPERM", false, "EPERM", true},
                                  {"rw,nodev", "ENXIO", false, "ENXIO", true}}) {
    Machine machine;
    machine.full = true;
    const auto host = scripted(R"("files":{"/proc/self/mountinfo":"22 1 0:5 / / rw - ext4 a rw\n)"
                               R"(23 22 0:6 / /dev )" +
                               std::string(options) + R"( - tmpfs b rw\n"},)" +
                               R"("statuses":{"/dev/kfd":{"kind":"character_device"}},)" +
                               R"("opens":{"/dev/kfd":")" + open + "\"}");
    machine.amd.module_loaded = true;
    read_device_nodes(*host, machine);
    ASSERT_EQ(machine.nodes.size(), 1u);
    EXPECT_EQ(machine.nodes[0].openable, openable) << options << " " << open;
    EXPECT_EQ(machine.nodes[0].open_error, error) << options << " " << open;
    EXPECT_EQ(machine.nodes[0].nodev, nodev) << options << " " << open;
  }
}

}  // namespace
}  // namespace gpuready
