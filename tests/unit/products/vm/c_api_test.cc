// The C interface of devices for virtual machines gives the documents of the commands.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/json.h"
#include "gpuready/vm_c.h"
#include "jobs/job.h"
#include "machine/pci/pci_files.h"
#include "unit/products/vm/driver_folder.h"

namespace gpuready::vm {
namespace {

constexpr const char* kAbsent = "ffff:1f:1f.7";

class CDevices : public ::testing::Test {
 protected:
  void SetUp() override { setenv("GPUREADY_HELPER", GPUREADY_BINARY, 1); }

  // `call` gives this, and no document.
  template <class Call>
  static void expect_refused(gpuready_status status, const char* text, Call call) {
    char* json = const_cast<char*>("not ours");
    EXPECT_EQ(call(&json), status) << text;
    EXPECT_EQ(json, nullptr) << text;
    EXPECT_NE(std::strstr(gpuready_last_error(), text), nullptr) << gpuready_last_error();
  }

  template <class Call>
  static Json document(Call call) {
    char* json = nullptr;
    EXPECT_EQ(call(&json), GPUREADY_OK) << gpuready_last_error();
    if (json == nullptr) return {};
    auto doc = parse_json(json, "document");
    gpuready_free(json);
    EXPECT_TRUE(doc) << doc.error().message;
    return without_times(doc.value_or(Json()));
  }

  static Json of_command(std::vector<std::string> args) {
    args.insert(args.begin(), "vm");
    args.insert(args.end(), {"--json", "-"});
    Job job;
    job.program = GPUREADY_BINARY;
    job.args = std::move(args);
    const auto outcome = run_job(job);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (!outcome) return {};
    const auto doc = parse_json(outcome->out, "document");
    EXPECT_TRUE(doc) << outcome->out << outcome->err;
    if (!doc) return {};
    EXPECT_EQ(doc->at("exit_code"), outcome->exit_code);
    return without_times(*doc);
  }

 private:
  static Json without_times(Json document) {
    document.erase("created_utc");
    document.erase("duration_ms");
    return document;
  }
};

TEST_F(CDevices, ANullPointerIsRefused) {
  const auto refused = [](const char* text, auto call) {
    expect_refused(GPUREADY_BAD_ARGUMENT, text, call);
  };
  refused("name is a null", [](char** j) { return gpuready_vm_args_json(nullptr, "qemu", j); });
  refused("hypervisor is a null", [](char** j) { return gpuready_vm_args_json("a", nullptr, j); });
  refused("console is a null",
          [](char** j) { return gpuready_vm_doctor_console_json(nullptr, j); });
  refused("folder is a null", [](char** j) { return gpuready_vm_drivers_list_json(nullptr, j); });
  refused("bundle is a null", [](char** j) { return gpuready_vm_drivers_show_json(nullptr, j); });
  refused("bundle is a null", [](char** j) { return gpuready_vm_drivers_verify_json(nullptr, j); });
  EXPECT_EQ(gpuready_vm_show_json(nullptr, nullptr, nullptr), GPUREADY_BAD_ARGUMENT);
  EXPECT_EQ(gpuready_vm_args_json("a", "qemu", nullptr), GPUREADY_BAD_ARGUMENT);
  EXPECT_EQ(gpuready_vm_doctor_json(nullptr, nullptr), GPUREADY_BAD_ARGUMENT);
  EXPECT_EQ(gpuready_vm_doctor_console_json("a", nullptr), GPUREADY_BAD_ARGUMENT);
  EXPECT_EQ(gpuready_vm_drivers_list_json("a", nullptr), GPUREADY_BAD_ARGUMENT);
  EXPECT_EQ(gpuready_vm_drivers_show_json("a", nullptr), GPUREADY_BAD_ARGUMENT);
  EXPECT_EQ(gpuready_vm_drivers_verify_json("a", nullptr), GPUREADY_BAD_ARGUMENT);
}

TEST_F(CDevices, WhatIsNotValidIsABadArgument) {
  const TestFolder folder;
  const auto refused = [](const char* text, auto call) {
    expect_refused(GPUREADY_BAD_ARGUMENT, text, call);
  };
  for (const char* devices : {"17:00", " , "}) {
    const char* text = *devices == '1' ? "17:00: no such GPU here" : "devices names none";
    refused(text, [&](char** j) { return gpuready_vm_show_json(devices, nullptr, j); });
    refused(text, [&](char** j) { return gpuready_vm_doctor_json(devices, j); });
  }
  refused("xen: not qemu", [](char** j) { return gpuready_vm_args_json("a", "xen", j); });
  const auto path = folder.path();
  refused("not a driver bundle",
          [&](char** j) { return gpuready_vm_drivers_show_json(path.c_str(), j); });
  refused("not a driver bundle",
          [&](char** j) { return gpuready_vm_drivers_verify_json(path.c_str(), j); });
}

TEST_F(CDevices, WhatIsMissingIsNotFound) {
  const TestFolder folder;
  const auto refused = [](const char* text, auto call) {
    expect_refused(GPUREADY_NOT_FOUND, text, call);
  };
  refused(kAbsent, [](char** j) { return gpuready_vm_show_json(kAbsent, nullptr, j); });
  refused(kAbsent, [](char** j) { return gpuready_vm_doctor_json(kAbsent, j); });
  constexpr const char* kNoGpu = "GPU-00000000-0000-4000-8000-000000000000";
  refused("no GPU here has this UUID",
          [](char** j) { return gpuready_vm_plan_json(kNoGpu, "a", 0, j); });
  refused("no-such-vm", [](char** j) { return gpuready_vm_show_json(nullptr, "no-such-vm", j); });
  for (const char* hypervisor : {"qemu", "libvirt", "cloud-hypervisor"})
    refused("no-such-vm",
            [&](char** j) { return gpuready_vm_args_json("no-such-vm", hypervisor, j); });
  const auto path = folder.path("missing");
  refused("missing", [&](char** j) { return gpuready_vm_doctor_console_json(path.c_str(), j); });
  refused("missing", [&](char** j) { return gpuready_vm_drivers_list_json(path.c_str(), j); });
}

TEST_F(CDevices, DevicesAreThoseOfTheCommand) {
  const auto summary = [](const Json& document) {
    std::vector<Json> parts;
    for (const char* key : {"schema", "command", "exit_code", "conclusion"})
      parts.push_back(document.at(key));
    for (const char* key : {"devices", "side"})  // of show, of doctor
      if (document.contains(key))
        for (const auto& part : document.at(key))
          parts.push_back(part.is_object() ? part.at("address") : part);
    return parts;
  };
  const auto expect_same = [&](std::vector<std::string> args, auto call) {
    EXPECT_EQ(summary(document(call)), summary(of_command(std::move(args))));
  };
  expect_same({"list"}, gpuready_vm_list_json);
  expect_same({"show"}, [](char** j) { return gpuready_vm_show_json(nullptr, nullptr, j); });
  expect_same({"doctor"}, [](char** j) { return gpuready_vm_doctor_json(nullptr, j); });
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/bus/pci/devices", none)) {
    const auto address = entry.path().filename().string();
    if (!parse_pci_address(address)) continue;
    expect_same({"show", address},
                [&](char** j) { return gpuready_vm_show_json(address.c_str(), nullptr, j); });
    expect_same({"doctor", address},
                [&](char** j) { return gpuready_vm_doctor_json(address.c_str(), j); });
    break;
  }
}

TEST_F(CDevices, AConsoleIsDiagnosedAsByTheCommand) {
  for (const char* name : {"guest-ready.log", "guest-other-kernel.log", "empty.log"}) {
    const auto path = std::string(GPUREADY_SOURCE_DIR) + "/tests/consoles/" + name;
    const auto call = [&](char** j) { return gpuready_vm_doctor_console_json(path.c_str(), j); };
    EXPECT_EQ(document(call), of_command({"doctor", "--console", path}));
  }
}

TEST_F(CDevices, BundlesAreThoseOfTheCommand) {
  const TestFolder folder;
  write_driver(folder);
  const auto host = test_host();
  const auto bundles = folder.path("bundles"), bundle = bundles + "/one";
  std::filesystem::create_directories(bundles);
  ASSERT_TRUE(collect_bundle({.from = {folder.path("driver")}}, bundle, *host, live_storage()));
  const auto list = [&](char** j) { return gpuready_vm_drivers_list_json(bundles.c_str(), j); };
  const auto show = [&](char** j) { return gpuready_vm_drivers_show_json(bundle.c_str(), j); };
  const auto verify = [&](char** j) { return gpuready_vm_drivers_verify_json(bundle.c_str(), j); };
  EXPECT_EQ(document(verify).at("exit_code"), 0);
  folder.write("bundles/one/bin/nvidia-smi", "another program");
  folder.write("bundles/two/bundle.json", "{");
  EXPECT_EQ(document(list).at("exit_code"), 1);
  EXPECT_EQ(document(show).at("exit_code"), 0);
  EXPECT_EQ(document(verify).at("exit_code"), 1);
  EXPECT_EQ(document(list), of_command({"drivers", "list", bundles}));
  EXPECT_EQ(document(show), of_command({"drivers", "show", bundle}));
  EXPECT_EQ(document(verify), of_command({"drivers", "verify", bundle}));
}

}  // namespace
}  // namespace gpuready::vm
