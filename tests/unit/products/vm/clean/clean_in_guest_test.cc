// GPUs are tested in a guest before a driver of the host has them.
#include <gtest/gtest.h>

#include "doubles/failing_storage.h"
#include "unit/products/vm/driver_folder.h"
#include "unit/products/vm/fake_kernel.h"
#include "vm/drivers/bundle.h"
#include "vm/operations.h"

namespace gpuready::vm {
namespace {

const PciAddress kGpu = *parse_pci_address("0000:17:00.0");
constexpr char kGpuText[] = "0000:17:00.0", kAudioText[] = "0000:17:00.1";
constexpr char kSecondText[] = "0000:65:00.0";
constexpr char kKept[] = "/state/GPU-4b20d080-1b54-4048-85b3-a6a62d165c01.clean.json";
constexpr char kRom[] = "/sys/bus/pci/devices/0000:17:00.0/rom";

// A host without a driver for its two GPUs.
class VmCleanInGuest : public testing::Test {
 protected:
  VmCleanInGuest() { add_devices(kernel); }
  static void add_devices(FakeKernel& kernel) {
    kernel.clean_with = "/bundle";
    kernel.add(kGpuText, {.native = ""});
    kernel.add(kAudioText, {.class_code = "0x040300", .native = "snd_hda_intel"});
    kernel.add(kSecondText, {.group = 2, .native = ""});
  }
  void attach_all(std::vector<PciAddress> devices = {kGpu}) {
    auto hands = kernel.hands(kernel);
    const auto done = attach(hands, {.name = "guest-1", .devices = std::move(devices)});
    ASSERT_TRUE(done && done->ok()) << join(done->plan.refusals, "; ");
  }
  Done detach_all(bool only_plan = false) {
    auto hands = kernel.hands(kernel);
    hands.only_plan = only_plan;
    auto done = detach(hands, "guest-1", {});
    EXPECT_TRUE(done && done->size() == 1);
    return done ? done->front() : Done{};
  }
  Done recover_all(const std::vector<PciAddress>& accept = {}) {
    auto hands = kernel.hands(kernel);
    auto done = recover(hands, accept);
    EXPECT_TRUE(done && done->size() == 1);
    return done && !done->empty() ? done->front() : Done{};
  }
  static std::string why(const Done& done) {
    return done.outcome.unclean.empty() ? "" : done.outcome.unclean.begin()->second;
  }
  bool is_ready() {
    return read_state(kernel, "/state")->inventory.find(kGpu)->around.readiness == Readiness::ready;
  }
  std::size_t guests() const {
    return static_cast<std::size_t>(std::ranges::count(kernel.commands, "guest of /bundle"));
  }
  FakeKernel kernel;
};

TEST_F(VmCleanInGuest, TheTestComesBeforeTheDeviceLeavesVfio) {
  attach_all();
  const auto planned = detach_all(true);
  std::vector<std::string> steps;
  for (const auto& step : planned.plan.steps) steps.push_back(step.what);
  ASSERT_GT(steps.size(), 3u);
  EXPECT_TRUE(contains(steps[0], "no virtual machine holds"));
  EXPECT_EQ(steps[1], "Overwrite and test the memory of 0000:17:00.0 in a guest");
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NE(planned.plan.steps[i].act.kind, ActionKind::unbind);
  EXPECT_EQ(std::ranges::count_if(
                planned.plan.steps,
                [](const PlanStep& step) { return step.act.kind == ActionKind::clean; }),
            1);
  EXPECT_EQ(guests(), 0u) << "a plan changes nothing";
  EXPECT_TRUE(kernel.is_given_away({kGpuText, kAudioText}));

  const auto done = detach_all();
  EXPECT_TRUE(done.ok() && done.outcome.unclean.empty()) << why(done);
  EXPECT_EQ(guests(), 1u);
  EXPECT_EQ(std::ranges::count(kernel.commands, "check"), 0);
  EXPECT_TRUE(kernel.is_as_at_first());
  EXPECT_TRUE(is_ready());
  EXPECT_TRUE(kernel.disk.content(kKept));
}

TEST_F(VmCleanInGuest, AFailedTestLeavesAllOfTheSlotWithVfio) {
  attach_all();
  kernel.clean_passes = false;
  const auto failed = detach_all();
  EXPECT_TRUE(contains(why(failed), "its memory test is failed")) << why(failed);
  EXPECT_TRUE(kernel.is_given_away({kGpuText, kAudioText}));
  EXPECT_FALSE(is_ready());
  EXPECT_TRUE(kernel.disk.content("/state/0000:17:00.0.unclean.json"));
  auto hands = kernel.hands(kernel);
  EXPECT_FALSE(attach(hands, {.name = "b", .devices = {*parse_pci_address(kAudioText)}})
                   ->plan.refusals.empty());

  // Again by the bundle that the journal names.
  kernel.clean_with.clear();
  EXPECT_NE(why(recover_all()), "");
  EXPECT_TRUE(kernel.is_given_away({kGpuText, kAudioText}));
  EXPECT_EQ(guests(), 2u);
  kernel.clean_passes = true;
  const auto recovered = recover_all();
  EXPECT_TRUE(recovered.ok()) << why(recovered);
  EXPECT_EQ(guests(), 3u);
  EXPECT_TRUE(kernel.is_as_at_first());
  EXPECT_TRUE(is_ready());
}

TEST_F(VmCleanInGuest, TheOthersReturn) {
  attach_all({kGpu, *parse_pci_address(kSecondText)});
  kernel.guest_fails = "the guest returned no report";
  auto hands = kernel.hands(kernel);
  hands.test_in_guest = [&](Host&, Storage&, const GuestTest& test) -> Result<Json> {
    if (test.device != kGpu) kernel.guest_fails.reset();
    return kernel.run_guest(test);
  };
  const auto done = detach(hands, "guest-1", {});
  ASSERT_TRUE(done && done->front().outcome.unclean.size() == 1);
  EXPECT_TRUE(kernel.is_given_away({kGpuText, kAudioText}));
  EXPECT_EQ(kernel.devices[kSecondText].bound, "");
  EXPECT_EQ(kernel.devices[kSecondText].override_, "");
}

// A test takes up to an hour, and what was tested before must not be used meanwhile.
TEST_F(VmCleanInGuest, EachGpuLeavesVfioBeforeTheNextIsTested) {
  attach_all({kGpu, *parse_pci_address(kSecondText)});
  auto hands = kernel.hands(kernel);
  hands.test_in_guest = [&](Host&, Storage&, const GuestTest& test) {
    for (const char* address : {kGpuText, kAudioText})
      EXPECT_EQ(kernel.devices[address].bound, test.device == kGpu ? "vfio-pci" : "") << address;
    return kernel.run_guest(test);
  };
  ASSERT_TRUE(detach(hands, "guest-1", {})->front().ok());
  EXPECT_EQ(guests(), 2u);
  EXPECT_TRUE(kernel.is_as_at_first());
}

TEST_F(VmCleanInGuest, WhatIsUsedAfterItsTestIsTestedAgain) {
  attach_all({kGpu, *parse_pci_address(kSecondText)});
  auto hands = kernel.hands(kernel);
  hands.test_in_guest = [&](Host&, Storage&, const GuestTest& test) {
    if (test.device == kGpu) kernel.open["4711"] = {"/dev/vfio/1"};
    return kernel.run_guest(test);
  };
  const auto done = detach(hands, "guest-1", {});
  ASSERT_TRUE(done && done->front().outcome.error);
  EXPECT_TRUE(contains(done->front().outcome.error->message, "4711"))
      << done->front().outcome.error->message;
  EXPECT_TRUE(kernel.is_given_away({kGpuText, kAudioText}));
  EXPECT_FALSE(is_ready());
  EXPECT_EQ(kernel.devices[kSecondText].override_, "") << "the other one is back";
  kernel.open.clear();
  EXPECT_TRUE(recover_all().ok());
  EXPECT_EQ(guests(), 3u);
  EXPECT_TRUE(kernel.is_as_at_first());
}

// Of a detach that did not end, the held functions did not return.
TEST_F(VmCleanInGuest, RecoverGivesAllOfTheSlotBack) {
  const auto second = *parse_pci_address(kSecondText);
  kernel.add("0000:66:00.0", {.group = 3, .native = ""});
  attach_all({kGpu, second, *parse_pci_address("0000:66:00.0")});
  kernel.devices[kSecondText].hangs_at = "reset";
  kernel.clean_passes = false;
  auto hands = kernel.hands(kernel);
  hands.test_in_guest = [&](Host&, Storage&, const GuestTest& test) -> Result<Json> {
    kernel.clean_passes = test.device != kGpu;
    return kernel.run_guest(test);
  };
  const auto done = detach(hands, "guest-1", {});
  ASSERT_TRUE(done && done->front().outcome.unclean.contains(kGpu));
  EXPECT_FALSE(done->front().outcome.whole());
  EXPECT_TRUE(kernel.is_given_away({kGpuText, kAudioText}));
  EXPECT_EQ(kernel.devices["0000:66:00.0"].override_, "");
  kernel.devices[kSecondText].hangs_at.clear();
  kernel.clean_passes = true;
  const auto recovered = recover_all();
  EXPECT_TRUE(recovered.ok()) << recovered.outcome.error.value_or(Error{}).message;
  EXPECT_TRUE(kernel.is_as_at_first());
}

// A host with a driver for its GPU, whose ROM the guest changes.
void attach_and_change_rom(FakeKernel& kernel) {
  kernel.devices[kGpuText].native = kernel.devices[kGpuText].bound = "nvidia";
  kernel.files[kRom] = "the maker's";
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, {.name = "guest-1", .devices = {kGpu}})->ok());
  kernel.files[kRom] = "the guest's";
}

void expect_kept_from_drivers(FakeKernel& kernel) {
  for (const char* address : {kGpuText, kAudioText}) {
    auto& device = kernel.devices[address];
    kernel.load_driver(device);  // as when a driver is loaded
    EXPECT_EQ(device.bound, "vfio-pci") << address;
  }
}

TEST_F(VmCleanInGuest, WhatIsFoundAfterTheTestKeepsAllOfTheSlotFromDrivers) {
  attach_and_change_rom(kernel);
  EXPECT_TRUE(contains(why(detach_all()), "its VBIOS is not that of before"));
  expect_kept_from_drivers(kernel);
  EXPECT_NE(why(recover_all()), "");
  EXPECT_EQ(guests(), 2u);
  expect_kept_from_drivers(kernel);
  kernel.files[kRom] = "the maker's";
  EXPECT_TRUE(recover_all().ok());
  EXPECT_EQ(guests(), 3u);
  EXPECT_TRUE(kernel.is_as_at_first());

  kernel.files[std::string("/sys/bus/pci/devices/") + kGpuText + "/reset_method"] = "\n";
  attach_all();
  EXPECT_TRUE(contains(why(detach_all()), "it has no reset"));
  expect_kept_from_drivers(kernel);
  EXPECT_NE(why(recover_all()), "") << "the same boot";
  expect_kept_from_drivers(kernel);
  auto hands = kernel.hands(kernel);
  restart_and_hold(kernel, hands);
  EXPECT_TRUE(recover_all().ok());
  EXPECT_TRUE(kernel.is_as_at_first());
}

// Also where gpuready dies at any time.
TEST_F(VmCleanInGuest, NoCrashGivesAChangedRomToADriver) {
  for (std::size_t at = 1;; ++at) {
    FakeKernel crashed;
    add_devices(crashed);
    attach_and_change_rom(crashed);
    FailingStorage storage(crashed,
                           {.at = at, .kind = StorageFault::Kind::killed, .error_number = 0});
    auto hands = crashed.hands(storage);
    static_cast<void>(detach(hands, "guest-1", {}));
    auto after = crashed.hands(crashed);
    ASSERT_TRUE(recover(after)) << at;
    expect_kept_from_drivers(crashed);
    if (HasFailure() || storage.calls() < at) {
      EXPECT_GT(at, 15u);
      return;
    }
  }
}

// Two GPUs in one group: the second one is tested, too, and stays.
TEST_F(VmCleanInGuest, AllOfAGroupStay) {
  kernel.devices[kSecondText].group = 1;
  attach_all();
  auto hands = kernel.hands(kernel);
  hands.test_in_guest = [&](Host&, Storage&, const GuestTest& test) -> Result<Json> {
    kernel.clean_passes = test.device != kGpu;
    return kernel.run_guest(test);
  };
  const auto done = detach(hands, "guest-1", {});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->front().outcome.unclean.size(), 1u);
  EXPECT_EQ(guests(), 2u);
  EXPECT_TRUE(kernel.is_given_away({kGpuText, kAudioText, kSecondText}));
  kernel.clean_passes = true;
  EXPECT_TRUE(recover_all().ok());
  EXPECT_TRUE(kernel.is_as_at_first());
}

TEST_F(VmCleanInGuest, AReportWithoutAGpuIsNotClean) {
  attach_all();
  kernel.guest_reports = [](Json& report) { report["machine"] = to_json(Machine()); };
  EXPECT_TRUE(contains(why(detach_all()), "names 0 GPUs instead of one"));
  EXPECT_TRUE(kernel.is_given_away({kGpuText}));
}

TEST_F(VmCleanInGuest, AcceptedItGoesBack) {
  attach_all();
  kernel.guest_fails = "x";
  EXPECT_EQ(why(detach_all()), "x");
  EXPECT_TRUE(recover_all({kGpu}).ok());
  EXPECT_EQ(guests(), 1u);
  EXPECT_TRUE(kernel.is_as_at_first());
}

TEST_F(VmCleanInGuest, WhatTheGuestBeforeSawIsComparedUntilItIsAccepted) {
  attach_all();
  EXPECT_EQ(why(detach_all()), "");
  const auto change = [](Json& report) {
    report["machine"]["gpus"][0]["ecc"]["enabled_now"] = false;
    report["machine"]["gpus"][0]["vbios_version"] = "66.6";
  };
  kernel.guest_reports = change;
  attach_all();
  const auto changed = why(detach_all());
  EXPECT_TRUE(contains(changed,
                       "its ECC mode was on and is off; its VBIOS was 96.00.5E.00.01 and "
                       "is 66.6"))
      << changed;
  EXPECT_NE(why(recover_all()), "") << "a changed mode is not forgotten";
  EXPECT_TRUE(recover_all({kGpu}).ok());
  attach_all();
  EXPECT_EQ(why(detach_all()), "");

  // Another GPU in the slot.
  kernel.guest_reports = [](Json& report) {
    report["machine"]["gpus"][0]["uuid"] = "GPU-bbbbbbbb-1b54-4048-85b3-a6a62d165c01";
  };
  attach_all();
  EXPECT_EQ(why(detach_all()), "");
}

// A card in front moves it: it is compared all the same.
TEST_F(VmCleanInGuest, ItIsComparedAtAnotherAddress) {
  attach_all();
  EXPECT_EQ(why(detach_all()), "");
  kernel.move(kGpuText, "0000:18:00.0");
  kernel.move(kAudioText, "0000:18:00.1");
  kernel.guest_reports = [](Json& report) {
    report["machine"]["gpus"][0]["vbios_version"] = "66.6";
  };
  const auto moved = *parse_pci_address("0000:18:00.0");
  attach_all({moved});
  EXPECT_TRUE(contains(why(detach_all()), "its VBIOS was 96.00.5E.00.01 and is 66.6"));
  EXPECT_TRUE(recover_all({moved}).ok());
  attach_all({moved});
  EXPECT_EQ(why(detach_all()), "");
}

// A mode that the next reset changes is the next guest's.
TEST_F(VmCleanInGuest, WhatTheNextResetChangesIsAChange) {
  const auto pending = [](bool ecc, bool mig) {
    return [=](Json& report) {
      auto& gpu = report["machine"]["gpus"][0];
      gpu["ecc"]["enabled_pending"] = ecc;
      gpu["mig_pending"] = mig;
    };
  };
  kernel.guest_reports = pending(true, false);
  attach_all();
  EXPECT_EQ(why(detach_all()), "");
  kernel.guest_reports = pending(false, true);
  attach_all();
  EXPECT_TRUE(contains(why(detach_all()),
                       "its ECC mode after a restart was on and is off; its MIG mode after a reset "
                       "was off and is on"));
}

// The host's own driver tests it.
TEST_F(VmCleanInGuest, WhatTheHostSawIsCompared) {
  kernel.clean_with.clear();
  attach_all();
  EXPECT_EQ(why(detach_all()), "");
  kernel.guest_reports = [](Json& report) {
    report["machine"]["gpus"][0]["ecc"]["enabled_now"] = false;
  };
  attach_all();
  EXPECT_TRUE(contains(why(detach_all()), "its ECC mode was on and is off"));
  EXPECT_NE(why(recover_all()), "");
  EXPECT_TRUE(recover_all({kGpu}).ok());
  attach_all();
  EXPECT_EQ(why(detach_all()), "");
  // A driver that tells no UUID.
  kernel.guest_reports = [](Json& report) { report["machine"]["gpus"][0].erase("uuid"); };
  attach_all();
  EXPECT_EQ(why(detach_all()), "");
}

// What a hostile GPU hides is not unchanged, and does not become what is compared.
TEST_F(VmCleanInGuest, WhatAGuestNoLongerSeesIsAChange) {
  attach_all();
  EXPECT_EQ(why(detach_all()), "");
  for (const auto& [key, told] :
       {std::pair{"vbios_version", "its VBIOS was 96.00.5E.00.01 and is unknown"},
        std::pair{"ecc", "its ECC mode was on and is unknown"}, std::pair{"uuid", "has no UUID"}}) {
    kernel.guest_reports = [&](Json& report) { report["machine"]["gpus"][0].erase(key); };
    attach_all();
    EXPECT_TRUE(contains(why(detach_all()), told)) << key;
    EXPECT_TRUE(contains(why(recover_all()), told)) << key;
    kernel.guest_reports = nullptr;
    EXPECT_TRUE(recover_all().ok());
  }
}

// The next guest is compared with what was accepted, not with nothing.
TEST_F(VmCleanInGuest, WhatIsAcceptedIsWhatTheNextOneIsComparedWith) {
  const auto sees = [&](const char* vbios) {
    kernel.guest_reports = [=](Json& report) {
      report["machine"]["gpus"][0]["vbios_version"] = vbios;
    };
    attach_all();
    return why(detach_all());
  };
  EXPECT_EQ(sees("1.0"), "");
  EXPECT_NE(sees("2.0"), "");
  EXPECT_TRUE(recover_all({kGpu}).ok());
  EXPECT_EQ(sees("2.0"), "");
  EXPECT_TRUE(contains(sees("3.0"), "its VBIOS was 2.0 and is 3.0"));
  // A test without a report: what an earlier one saw is not accepted instead.
  kernel.guest_fails = "no report";
  EXPECT_EQ(why(recover_all()), "no report");
  EXPECT_TRUE(recover_all({kGpu}).ok());
  kernel.guest_fails.reset();
  EXPECT_TRUE(contains(sees("3.0"), "its VBIOS was 2.0 and is 3.0"));
}

TEST_F(VmCleanInGuest, OnlyWhatIsInQuarantineIsAccepted) {
  const auto second = *parse_pci_address(kSecondText);
  attach_all({second});
  EXPECT_EQ(why(detach_all()), "");
  kernel.guest_fails = "x";
  attach_all();
  EXPECT_EQ(why(detach_all()), "x");
  auto hands = kernel.hands(kernel);
  const auto mistyped = recover(hands, {second});
  ASSERT_FALSE(mistyped);
  EXPECT_EQ(mistyped.error().message,
            "--accept 0000:65:00.0: it is not in quarantine; 0000:17:00.0 is");
  EXPECT_EQ(guests(), 2u) << "nothing was done";
  EXPECT_TRUE(kernel.disk.content(kKept));
  EXPECT_TRUE(recover_all({kGpu}).ok());
  EXPECT_TRUE(contains(recover(hands, {kGpu}).error().message, "nothing is"));
}

TEST_F(VmCleanInGuest, ABundleInTheJournalsFolderIsUsed) {
  kernel.clean_with.clear();
  kernel.files["/state/clean-with"] = "";
  attach_all();
  EXPECT_EQ(why(detach_all()), "");
  EXPECT_EQ(std::ranges::count(kernel.commands, "guest of /state/clean-with"), 1);
}

// Its file system is not mounted: no guest can be started, so the GPU stays with VFIO.
TEST_F(VmCleanInGuest, ALinkToNoBundleIsABundleThatCannotBeUsed) {
  kernel.clean_with.clear();
  kernel.links["/state/clean-with"] = "/srv/bundle";
  attach_all();
  (void)detach_all();
  EXPECT_EQ(std::ranges::count(kernel.commands, "guest of /state/clean-with"), 1);
}

// The host had no driver, so it came back untested; then the operator names a bundle.
TEST_F(VmCleanInGuest, RecoverTestsWhatCameBackUntested) {
  kernel.clean_with.clear();
  kernel.clean_passes = false;
  attach_all();
  EXPECT_NE(why(detach_all()), "");
  kernel.clean_passes = true;
  kernel.clean_with = "/bundle";
  const auto recovered = recover_all();
  EXPECT_TRUE(recovered.ok() && recovered.outcome.unclean.empty()) << why(recovered);
  EXPECT_EQ(guests(), 1u);
  EXPECT_TRUE(kernel.is_as_at_first());
}

TEST_F(VmCleanInGuest, AGpuThatADriverHasIsNotTakenFromIt) {
  kernel.clean_with.clear();
  kernel.clean_passes = false;
  attach_all();
  EXPECT_NE(why(detach_all()), "");
  kernel.devices[kGpuText].bound = "nvidia";
  kernel.clean_with = "/bundle";
  EXPECT_TRUE(contains(why(recover_all()), "while nvidia has 0000:17:00.0"));
  EXPECT_EQ(guests(), 0u);
  EXPECT_EQ(kernel.devices[kGpuText].bound, "nvidia");
}

// Nor is another one of its group.
TEST_F(VmCleanInGuest, AGpuOfTheGroupIsNotTakenFromItsDriver) {
  kernel.clean_with.clear();
  kernel.clean_passes = false;
  kernel.devices[kSecondText].group = 1;
  kernel.devices[kSecondText].native = kernel.devices[kSecondText].bound = "nvidia";
  attach_all();
  EXPECT_NE(why(detach_all()), "");
  kernel.clean_with = "/bundle";
  kernel.clean_passes = true;
  EXPECT_TRUE(contains(why(recover_all()), "while nvidia has 0000:65:00.0"));
  EXPECT_EQ(guests(), 0u);
  EXPECT_EQ(kernel.devices[kSecondText].bound, "nvidia");
  EXPECT_EQ(kernel.devices[kAudioText].bound, "snd_hda_intel") << "nothing is taken in vain";
}

TEST_F(VmCleanInGuest, WhatLibvirtReturnsIsTestedByTheHost) {
  auto hands = kernel.hands(kernel);
  ASSERT_TRUE(attach(hands, {.name = "guest-1", .devices = {kGpu}, .managed = true})->ok());
  const auto done = detach_all();
  EXPECT_TRUE(contains(join(done.outcome.notes, "; "), "libvirt"));
  EXPECT_EQ(guests(), 0u);
  EXPECT_EQ(std::ranges::count(kernel.commands, "check"), 1);
}

TEST(VmTestInGuest, TheGuestHasOneGpuAndNothingElse) {
  const auto words =
      guest_words({.device = kGpu, .bundle = "/b", .folder = "/state", .deadline = {}},
                  "/boot/vmlinuz", "/state/clean.img", std::uint64_t{512} << 20);
  const auto all = join(words, " ");
  EXPECT_TRUE(contains(all, "-nodefaults")) << all;
  EXPECT_TRUE(contains(all, "vfio-pci,host=0000:17:00.0,bus=port,addr=00.0,rombar=0")) << all;
  EXPECT_TRUE(contains(all, "-m 5632 ")) << all;
  EXPECT_TRUE(contains(all, "check --level standard --json=/dev/ttyS1")) << all;
  for (const auto& word : words)
    for (const char* other : {"-nic", "-netdev", "-drive", "-hda", "-blockdev", "-virtfs"})
      EXPECT_NE(word, other);
}

TEST(VmTestInGuest, TheKernelFitsTheModules) {
  FakeKernel kernel;  // runs 6.1.0
  DriverBundle bundle;
  bundle.driver_version = "580.65.06";
  bundle.machine = "x86_64";
  const auto put = [&] { kernel.files["/b/bundle.json"] = dump(to_json(bundle)); };
  put();
  EXPECT_TRUE(contains(guest_kernel(kernel, "/b").error().message, "no kernel modules"));
  bundle.kernel_releases = {"5.10.0", "6.1.0"};
  put();
  EXPECT_TRUE(contains(guest_kernel(kernel, "/b").error().message, "vmlinuz-6.1.0"));
  kernel.files["/boot/vmlinuz-5.10.0"] = "";
  EXPECT_EQ(guest_kernel(kernel, "/b")->release, "5.10.0");
  kernel.files["/lib/modules/6.1.0/vmlinuz"] = "";
  EXPECT_EQ(guest_kernel(kernel, "/b")->path, "/lib/modules/6.1.0/vmlinuz");
  kernel.files["/b/vmlinuz-6.1.0"] = "";
  EXPECT_EQ(guest_kernel(kernel, "/b")->path, "/b/vmlinuz-6.1.0");
  EXPECT_FALSE(guest_kernel(kernel, "/none"));
}

// Root boots what it finds there: a folder above that others may change gives them root's power.
TEST(VmTestInGuest, NoOneElseCanSwapTheBundleOrItsKernel) {
  TestFolder folder;
  const auto host = make_live_host();
  DriverBundle bundle;
  bundle.driver_version = "580.65.06";
  bundle.machine = "x86_64";
  bundle.kernel_releases = {"6.1.0-test"};
  folder.write("open/ours/bundle/bundle.json", dump(to_json(bundle)));
  folder.write("open/ours/bundle/vmlinuz-6.1.0-test", "kernel");
  const auto path = folder.path("open/ours/bundle");
  EXPECT_TRUE(guest_kernel(*host, path));
  const auto all = std::filesystem::perms::all;
  std::filesystem::permissions(folder.path("open"), all);
  const auto refused = guest_kernel(*host, path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::no_permission);
  EXPECT_TRUE(contains(refused.error().message, folder.path("open"))) << refused.error().message;

  // A link of ours into it.
  folder.write("bundle/bundle.json", dump(to_json(bundle)));
  std::filesystem::create_symlink(path + "/vmlinuz-6.1.0-test",
                                  folder.path("bundle/vmlinuz-6.1.0-test"));
  EXPECT_FALSE(guest_kernel(*host, folder.path("bundle")));
  std::filesystem::permissions(folder.path("open"), std::filesystem::perms::owner_all);
  EXPECT_TRUE(guest_kernel(*host, folder.path("bundle")));
}

}  // namespace
}  // namespace gpuready::vm
