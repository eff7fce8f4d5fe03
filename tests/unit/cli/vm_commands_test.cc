// Commands of `vm`, run in this process: what they refuse before they look at the machine, and how
// a folder of driver bundles is filled and switched.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "unit/cli/run_command.h"
#include "unit/products/vm/driver_folder.h"

namespace gpuready::cli {
namespace {

namespace fs = std::filesystem;

class VmCommands : public testing::Test {
 protected:
  using Ran = test::Ran;
  static Ran run(std::vector<std::string> args) { return test::run_command("vm", std::move(args)); }
  std::string at(const std::string& name) const { return folder_.path(name); }
  std::string driver(const std::string& version) const {
    vm::write_driver(folder_, "driver-" + version + "/", version);
    return at("driver-" + version);
  }
  std::string current() const {
    const auto link = fs::path(at("bundles/current"));
    return fs::is_symlink(link) ? fs::read_symlink(link).string() : "none";
  }

  TestFolder folder_;
};

TEST_F(VmCommands, WhatIsToBeDetachedIsNamed) {
  const auto refused = run({"detach"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_EQ(refused.err, "gpuready: name what to detach: --for NAME or devices\n");
}

TEST_F(VmCommands, ANameIsCheckedBeforeTheDevices) {
  const auto name = run({"plan", "no such device", "--for", "a/b"});
  EXPECT_EQ(name.exit, 2);
  EXPECT_FALSE(name.err.contains("no such device")) << name.err;
  const auto device = run({"plan", "no such device"});
  EXPECT_EQ(device.exit, 2);
  EXPECT_TRUE(device.err.contains("no such device")) << device.err;
  EXPECT_EQ(run({"plan", "GPU-00000000-1111-2222-3333-444444444444"}).exit, 3)
      << "a GPU that no machine has";
}

TEST_F(VmCommands, OfANameWithoutDevicesThereAreNoArguments) {
  folder_.write("machine.json",
                R"({"schema":"gpuready.machine-script","schema_version":1,"files":{}})");
  const auto none = run({"args", "--for", "web-2", "--replay", at("machine.json")});
  EXPECT_EQ(none.exit, 3);
  EXPECT_EQ(none.out, "");
  EXPECT_TRUE(none.err.contains("web-2: nothing is attached for it")) << none.err;
}

TEST_F(VmCommands, CollectListShowAndVerifyBundles) {
  const auto collected =
      run({"drivers", "collect", driver("580.65.06"), "-o", at("bundles/580.65.06"), "-q"});
  EXPECT_EQ(collected.exit, 2) << "its folder must exist";
  fs::create_directories(at("bundles"));
  EXPECT_EQ(run({"drivers", "collect", at("driver-580.65.06"), "-o", at("bundles/580.65.06")}).exit,
            0);
  EXPECT_EQ(run({"drivers", "collect", at("driver-580.65.06"), "-o", at("bundles/580.65.06")}).exit,
            2)
      << "it exists";
  const auto listed = run({"drivers", "list", at("bundles"), "--json=-"});
  EXPECT_EQ(listed.exit, 0) << listed.err;
  EXPECT_EQ(parse_json(listed.out, "out").value_or(Json()).value("command", ""), "vm drivers list");
  EXPECT_EQ(run({"drivers", "list", at("absent")}).exit, 2);
  folder_.write("bundles/580.65.06/lib64/added", "");
  const auto bundle = vm::open_bundle(*vm::test_host(), at("bundles/580.65.06")).value();
  folder_.write("bundles/580.65.06/" + bundle.files.front().path, "changed");
  const auto shown = run({"drivers", "show", at("bundles/580.65.06"), "--json=-"});
  EXPECT_EQ(shown.exit, 0) << "show compares no file";
  EXPECT_EQ(parse_json(shown.out, "out").value_or(Json()).value("command", ""), "vm drivers show");
  const auto verified = run({"drivers", "verify", at("bundles/580.65.06"), "--json=-"});
  EXPECT_EQ(verified.exit, 1);
  EXPECT_EQ(parse_json(verified.out, "out").value_or(Json()).value("command", ""),
            "vm drivers verify");
}

TEST_F(VmCommands, AFileWithTheHashIsNotFetchedAgain) {
  folder_.write("driver.run", "x");
  const std::string of_x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
  const auto fetch = [&](const std::string& sha256) {
    return run({"drivers", "fetch", "http://127.0.0.1:9/driver.run", "--sha256", sha256, "--out",
                at("driver.run"), "--json=-"});
  };
  const auto present = fetch(of_x);
  EXPECT_EQ(present.exit, 1) << "it is not a driver archive";
  EXPECT_EQ(parse_json(present.out, "out").value_or(Json()).value("command", ""),
            "vm drivers fetch");
  const auto refused = fetch("2d71");
  EXPECT_EQ(refused.exit, 2);
  EXPECT_TRUE(refused.err.contains("2d71")) << refused.err;
  EXPECT_EQ(refused.out, "");
}

TEST_F(VmCommands, AnUpgradeAddsTestsAndSwitches) {
  const auto upgrade = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"drivers", "upgrade", at("bundles")});
    return run(more);
  };
  EXPECT_EQ(upgrade({"--to", "580"}).err,
            "gpuready: " + at("bundles") + ": this folder of bundles does not exist\n");
  EXPECT_FALSE(fs::exists(at("bundles"))) << "only a new bundle makes the folder";
  const auto first = upgrade({driver("580.65.06")});
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_EQ(current(), "580.65.06");
  const auto older = upgrade({driver("570.86.16"), "--name", "old"});
  EXPECT_EQ(older.exit, 1) << older.err;
  EXPECT_EQ(current(), "580.65.06");
  EXPECT_TRUE(fs::exists(at("bundles/old/bundle.json"))) << "it stays";
  EXPECT_EQ(upgrade({"--to", "old"}).exit, 0);
  EXPECT_EQ(current(), "old");
  EXPECT_EQ(upgrade({"--to", "absent"}).exit, 2);
  EXPECT_EQ(upgrade({}).exit, 2);
  EXPECT_EQ(upgrade({"--to", "../x"}).err,
            "gpuready: --to ../x: expected the name of a bundle in the folder\n");
  EXPECT_EQ(upgrade({"--to", "580.65.06", "--test", "/bin/false"}).exit, 1);
  EXPECT_EQ(current(), "old");
  const auto lock = live_storage().lock(at("bundles/.lock"));
  ASSERT_TRUE(lock);
  const auto busy = upgrade({"--to", "580.65.06"});
  EXPECT_EQ(busy.exit, 4);
  EXPECT_EQ(busy.err, "gpuready: " + at("bundles") + ": another upgrade of it runs now\n");
}

}  // namespace
}  // namespace gpuready::cli
