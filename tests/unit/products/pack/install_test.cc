// From a recipe to an installed version, and what must not be installed.
#include "pack/store/install.h"
#include "pack/store/installed.h"

#include "base/units.h"
#include "doubles/failing_storage.h"
#include "unit/products/pack/code/fixtures.h"
#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

const Workshop::Files kModern = {{"lib/a.so", noise(200'000, 1)},
                                 {"lib/a.so.1", "-> a.so"},
                                 {"data/shared", noise(500'000, 9)},
                                 {"empty", ""}};
const Workshop::Files kLatest = {
    {"lib/a.so", noise(200'000, 2)}, {"lib/a.so.1", "-> a.so"}, {"data/shared", noise(500'000, 9)}};

std::string told(const InstallOutcome& outcome) {
  return outcome.error ? outcome.error->message : "";
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(Install, InstallsSwitchesAndGoesBack) {
  Workshop shop;
  ASSERT_EQ(error_text(shop.publish("1.0", {{"modern", kModern}, {"latest", kLatest}})), "");
  const auto first = shop.install("modern", shop.options());
  ASSERT_EQ(first.end, InstallEnd::installed) << told(first);
  EXPECT_TRUE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));
  EXPECT_TRUE(shop.installed("lib/a.so.1") == kModern.at("lib/a.so"));
  EXPECT_EQ(first.written_bytes, 700'000u);

  const auto again = shop.install("modern", shop.options());
  EXPECT_EQ(again.end, InstallEnd::unchanged) << told(again);
  EXPECT_EQ(again.written_bytes, 0u);

  const auto other = shop.install("latest", shop.options());
  ASSERT_EQ(other.end, InstallEnd::installed) << told(other);
  EXPECT_TRUE(shop.installed("lib/a.so") == kLatest.at("lib/a.so"));
  EXPECT_EQ(other.written_bytes, 200'000u);  // the rest was there
  EXPECT_FALSE(std::filesystem::exists(shop.root + "/store/current/empty"));

  const auto back = roll_back(*shop.host, live_storage(), shop.options().places, {});
  ASSERT_TRUE(back) << error_text(back);
  EXPECT_EQ(back->variant, "modern");
  EXPECT_TRUE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));
}

TEST(Install, WritesTheSeedsInformation) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  InstallTarget target;
  target.variant = "modern";
  target.gpu.name = "NVIDIA RTX A1000";
  target.gpu.compute_capability = "8.6";
  ASSERT_EQ(shop.install(target, shop.options()).end, InstallEnd::installed);
  const auto info = parse_json(read_text(shop.root + "/config/gpu-package-info.json"), "info");
  ASSERT_TRUE(info) << error_text(info);
  EXPECT_EQ(get_string(*info, "variant"), "modern");
  EXPECT_EQ(get_string(*info, "architectures"), "cpu");
  EXPECT_EQ(get_int(*info, "smVersion"), 86);
  EXPECT_EQ(get_string(*info, "computeCap"), "8.6");
  EXPECT_EQ(get_string(*info, "gpuName"), "NVIDIA RTX A1000");
  EXPECT_EQ(get_string(*info, "version"), "1.0");
  EXPECT_EQ(get_string(*info, "libsPath"), shop.root + "/store/current/lib");
  EXPECT_TRUE(get_string(*info, "installedAt"));
  const auto of_modern = read_text(shop.root + "/config/gpu-package-info.json");

  // It describes what is current, also after a way back.
  ASSERT_TRUE(shop.publish("1.1", {{"cpu", kModern}}));
  ASSERT_EQ(shop.install("cpu", shop.options()).end, InstallEnd::installed);
  EXPECT_TRUE(has(read_text(shop.root + "/config/gpu-package-info.json"), "\"1.1\""));
  ASSERT_TRUE(roll_back(*shop.host, live_storage(), shop.options().places, {}));
  EXPECT_EQ(read_text(shop.root + "/config/gpu-package-info.json"), of_modern);
}

TEST(Install, TheSeedsInformationHasTheRangeOfArchitectures) {
  const auto range = [](std::vector<std::string> architectures) {
    Manifest manifest;
    auto& variant = manifest.variants.emplace_back();
    variant.name = "v";
    variant.architectures = std::move(architectures);
    const auto text = info_text(manifest, variant, {}, {}, {});
    return get_string(parse_json(text, "info").value(), "architectures").value_or("none");
  };
  EXPECT_EQ(range({}), "cpu");
  EXPECT_EQ(range({"80"}), "sm_80");
  EXPECT_EQ(range({"86", "75", "80"}), "sm_75-86");
  EXPECT_EQ(range({"120", "90"}), "sm_90-120");
}

TEST(Install, ChangesNothingWhereProgramsCannotBeTold) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  ASSERT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
  ASSERT_TRUE(shop.publish("1.1", {{"modern", kLatest}}));
  std::filesystem::remove_all(shop.root + "/config");
  write_text(shop.root + "/config", "a file where the folder belongs");
  EXPECT_EQ(shop.install("modern", shop.options()).end, InstallEnd::failed);
  EXPECT_TRUE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));
}

TEST(Install, PartsAndFilesOfManySizes) {
  Workshop shop;
  Workshop::Files files;
  for (unsigned i = 0; i < 60; ++i) files["f" + std::to_string(i)] = noise(i * i * 37, i);
  ASSERT_EQ(error_text(shop.publish("1.0", {{"cpu", files}}, "release", 10'000)), "");
  const auto outcome = shop.install("cpu", shop.options());
  ASSERT_EQ(outcome.end, InstallEnd::installed) << told(outcome);
  for (const auto& [path, text] : files) EXPECT_TRUE(shop.installed(path) == text) << path;
}

// A large file is written by a thread of its own.
TEST(Install, LargeFilesAndFullDisks) {
  Workshop shop;
  const auto large = noise(17u << 20, 3);
  ASSERT_EQ(error_text(shop.publish("1.0", {{"cpu", {{"large", large}, {"small", "x"}}}})), "");
  auto how = shop.options();
  how.at_once = 1;
  FailingStorage count(live_storage(), {}, {});
  how.storage = &count;
  ASSERT_EQ(shop.install("cpu", how).end, InstallEnd::installed);
  EXPECT_TRUE(shop.installed("large") == large);
  for (const std::size_t at : {count.calls() / 4, count.calls() / 3}) {  // in the middle of it
    std::filesystem::remove_all(shop.root + "/store");
    FailingStorage full(live_storage(), {at, StorageFault::Kind::once, ENOSPC}, {});
    how.storage = &full;
    const auto outcome = shop.install("cpu", how);
    EXPECT_EQ(outcome.end, InstallEnd::failed);
    EXPECT_TRUE(has(told(outcome), "No space left")) << told(outcome);
    EXPECT_FALSE(std::filesystem::exists(shop.root + "/store/current"));
    how.storage = &live_storage();
    ASSERT_EQ(shop.install("cpu", how).end, InstallEnd::installed);
    EXPECT_TRUE(shop.installed("large") == large);
  }
}

TEST(Install, SixtyFourMebibytesStayFree) {
  constexpr std::uint64_t kSpare = 64u << 20, kWritten = 300'000;
  Workshop shop;
  const Workshop::Files files = {
      {"a", noise(200'000, 1)}, {"b", noise(100'000, 2)}, {"again", noise(200'000, 1)}};
  ASSERT_EQ(error_text(shop.publish("1.0", {{"cpu", files}})), "");
  FailingStorage storage(live_storage(), {});
  auto how = shop.options();
  how.at_once = 1;
  how.storage = &storage;
  for (const std::uint64_t too_few : {std::uint64_t{0}, kWritten, kSpare + kWritten - 1}) {
    storage.free_space = {kSpare * 100, too_few};
    const auto outcome = shop.install("cpu", how);
    EXPECT_EQ(outcome.end, InstallEnd::failed) << too_few;
    EXPECT_TRUE(has(told(outcome), "make room")) << told(outcome);
    EXPECT_FALSE(std::filesystem::exists(shop.root + "/store/current"));
  }
  storage.free_space = {kSpare * 100, kSpare + kWritten};
  const auto outcome = shop.install("cpu", how);
  ASSERT_EQ(outcome.end, InstallEnd::installed) << told(outcome);
  // A release that brings no new content takes no room.
  storage.free_space = {kSpare * 100, 0};
  ASSERT_EQ(error_text(shop.publish("1.1", {{"cpu", {{"other", files.at("b")}}}})), "");
  const auto next = shop.install("cpu", how);
  EXPECT_EQ(next.end, InstallEnd::installed) << told(next);
}

TEST(Install, OnlyTheTrustedKeyInstalls) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  const auto right = shop.trusted;
  shop.trusted = make_secret_key()->public_key();
  const auto wrong = shop.install("modern", shop.options());
  EXPECT_EQ(wrong.end, InstallEnd::refused);
  EXPECT_TRUE(has(told(wrong), "the trusted key is")) << told(wrong);
  shop.trusted.reset();
  EXPECT_TRUE(has(told(shop.install("modern", shop.options())), "no key is trusted"));
  EXPECT_FALSE(std::filesystem::exists(shop.root + "/store"));
  shop.trusted = right;
  ASSERT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
  shop.trusted.reset();  // the store remembers it
  EXPECT_EQ(shop.install("modern", shop.options()).end, InstallEnd::unchanged);
}

TEST(Install, ServerCannotGoBack) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}, "old"));
  ASSERT_TRUE(shop.publish("1.1", {{"modern", kLatest}}, "new"));
  ASSERT_EQ(shop.install("modern", shop.options(), "new").end, InstallEnd::installed);
  const auto refused = shop.install("modern", shop.options(), "old");
  EXPECT_EQ(refused.end, InstallEnd::refused);
  EXPECT_TRUE(has(told(refused), "offers version 1.0, and 1.1 was seen before")) << told(refused);
  EXPECT_TRUE(shop.installed("lib/a.so") == kLatest.at("lib/a.so"));
  // The same version with other content is no less suspicious.
  ASSERT_TRUE(shop.publish("1.1", {{"modern", kModern}}, "other"));
  EXPECT_EQ(shop.install("modern", shop.options(), "other").end, InstallEnd::refused);
}

// Hard links: whoever changes a file of `current` changes the object, too.
TEST(Install, AChangedFileIsReplaced) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  const auto path = shop.root + "/store/current/lib/a.so";
  const auto flip = [&] {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file.put(static_cast<char>(kModern.at("lib/a.so").at(1000) ^ 1));
  };
  auto how = shop.options();
  ASSERT_EQ(shop.install("modern", how).end, InstallEnd::installed);
  const auto time = std::filesystem::last_write_time(path);
  flip();
  const auto repaired = shop.install("modern", how);
  EXPECT_EQ(repaired.end, InstallEnd::installed) << told(repaired);
  EXPECT_EQ(repaired.written_bytes, 200'000u);  // only that file
  EXPECT_TRUE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));
  // A time that changed says nothing yet.
  std::filesystem::last_write_time(path, time + std::chrono::hours(1));
  EXPECT_EQ(shop.install("modern", how).end, InstallEnd::unchanged);
  // A disk changes bytes and no time.
  flip();
  std::filesystem::last_write_time(path, time);
  EXPECT_EQ(shop.install("modern", how).end, InstallEnd::unchanged);
  how.verify = true;
  EXPECT_EQ(shop.install("modern", how).end, InstallEnd::installed);
  EXPECT_TRUE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));
  EXPECT_EQ(shop.install("modern", how).end, InstallEnd::unchanged);
}

TEST(Install, WhatWasUninstalledCannotGoBackEither) {
  Workshop shop;
  const auto places = shop.options().places;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}, "old"));
  ASSERT_TRUE(shop.publish("1.1", {{"modern", kLatest}}, "new"));
  ASSERT_EQ(shop.install("modern", shop.options(), "new").end, InstallEnd::installed);
  ASSERT_EQ(error_text(uninstall(*shop.host, live_storage(), places)), "");
  EXPECT_FALSE(std::filesystem::exists(shop.root + "/store/objects"));
  EXPECT_FALSE(std::filesystem::exists(shop.root + "/store/current"));
  const auto refused = shop.install("modern", shop.options(), "old");
  EXPECT_EQ(refused.end, InstallEnd::refused);
  EXPECT_TRUE(has(told(refused), "1.1 was seen before")) << told(refused);
  EXPECT_TRUE(has(told(refused), "uninstall --forget")) << told(refused);
  ASSERT_EQ(shop.install("modern", shop.options(), "new").end, InstallEnd::installed);
  ASSERT_EQ(error_text(uninstall(*shop.host, live_storage(), places)), "");
  EXPECT_FALSE(Store(*shop.host, live_storage(), places.store).exists());
  // What is uninstalled already can still be forgotten.
  ASSERT_EQ(error_text(uninstall(*shop.host, live_storage(), places, true)), "");
  EXPECT_EQ(shop.install("modern", shop.options(), "old").end, InstallEnd::installed);
}

TEST(Install, ExpiredReleaseIsRefused) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}, "release", 2'000'000'000, 0));
  auto manifest = read_text(shop.root + "/release/manifest.json");
  const auto at = manifest.find("\"expires_utc\": \"") + 16;
  manifest.replace(at, 20, "2020-01-01T00:00:00Z");
  write_text(shop.root + "/release/manifest.json", manifest);
  EXPECT_EQ(shop.install("modern", shop.options()).end, InstallEnd::refused);  // not signed so
  write_text(shop.root + "/release/manifest.json.minisig", sign(shop.key, manifest, "libs"));
  const auto outcome = shop.install("modern", shop.options());
  EXPECT_EQ(outcome.end, InstallEnd::refused);
  EXPECT_TRUE(has(told(outcome), "expired on 2020-01-01")) << told(outcome);
}

TEST(Install, ChangedArchiveIsRefusedAndTheOldVersionStays) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}, "old"));
  ASSERT_TRUE(shop.publish("1.1", {{"modern", kLatest}}, "new"));
  ASSERT_EQ(shop.install("modern", shop.options(), "old").end, InstallEnd::installed);
  const auto path = shop.root + "/new/libs-1.1-modern.tar.zst";
  const auto archive = read_text(path);
  // A byte within a frame, a missing end, a foreign file of the same size.
  const std::string changed[] = {
      archive.substr(0, archive.size() - 100'000) + "x" + archive.substr(archive.size() - 99'999),
      archive.substr(0, archive.size() - 300'000), std::string(archive.size(), 'x')};
  for (const auto& bad : changed) {
    write_text(path, bad);
    const auto outcome = shop.install("modern", shop.options(), "new");
    EXPECT_NE(outcome.end, InstallEnd::installed);
    EXPECT_TRUE(outcome.error);
    EXPECT_TRUE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));
  }
  write_text(path, archive);
  EXPECT_EQ(shop.install("modern", shop.options(), "new").end, InstallEnd::installed);
}

TEST(Install, FailedLoadTestChangesNothing) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}, {"latest", kLatest}}));
  ASSERT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
  InstallTarget target;
  target.variant = "latest";
  target.plans = [](const std::string& folder, const Variant&) {
    return std::vector<LoadPlan>{{"GPU-1", "NVIDIA H200", {folder + "/lib/a.so"}, {}}};
  };
  auto options = shop.options();
  options.load_test = [](const LoadPlan& plan) {
    EXPECT_TRUE(read_text(plan.libraries.at(0)) == kLatest.at("lib/a.so"));
    return LoadResult{plan.device, plan.name, 0, 0, "cuModuleLoadData gives error 209"};
  };
  const auto outcome = shop.install(target, options);
  EXPECT_EQ(outcome.end, InstallEnd::not_loaded);
  EXPECT_TRUE(has(told(outcome), "does not load on NVIDIA H200: cuModuleLoadData gives error 209"))
      << told(outcome);
  EXPECT_TRUE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));
  options.load_test = [](const LoadPlan& plan) {
    return LoadResult{plan.device, plan.name, 1, 1, {}};
  };
  const auto good = shop.install(target, options);
  EXPECT_EQ(good.end, InstallEnd::installed) << told(good);
  EXPECT_EQ(good.written_bytes, 0u);  // all was fetched before
  EXPECT_EQ(good.installed->loads.size(), 1u);
}

TEST(Install, FirstModelThatLoadsIsRecorded) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}, {"latest", kLatest}}));
  ASSERT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
  InstallTarget target;
  target.variant = "latest";
  target.plans = [](const std::string&, const Variant&) { return std::vector<LoadPlan>(); };
  for (const char* name : {"large", "small"}) {
    auto& plan = target.models.emplace_back();
    plan.model.name = name;
    plan.model.load = {"bin/load"};
  }
  auto options = shop.options();
  std::string loads = "none";
  options.model_test = [&](const ModelPlan& plan, const auto*) -> std::optional<std::string> {
    EXPECT_EQ(plan.folder, shop.root + "/store/generations/2");
    EXPECT_EQ(plan.library_folders, std::vector{plan.folder + "/lib"});
    return plan.model.name == loads ? std::nullopt : std::optional<std::string>("no room");
  };
  auto outcome = shop.install(target, options);
  EXPECT_EQ(outcome.end, InstallEnd::not_loaded);
  EXPECT_TRUE(has(told(outcome), "model large does not load: no room; model small does not load"))
      << told(outcome);
  EXPECT_TRUE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));
  loads = "small";
  outcome = shop.install(target, options);
  EXPECT_EQ(outcome.end, InstallEnd::installed) << told(outcome);
  EXPECT_EQ(outcome.installed->model, "small");
  EXPECT_EQ(outcome.rejected_models.size(), 1u);
  EXPECT_TRUE(has(read_text(shop.root + "/config/gpu-package-info.json"), "\"model\": \"small\""));
  // One that names no program is taken as it is.
  target.models.front().model.load.clear();
  target.variant = "modern";
  outcome = shop.install(target, options);
  EXPECT_EQ(outcome.installed->model, "large");
}

TEST(Install, DryRunWritesNothing) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  auto options = shop.options();
  options.dry_run = true;
  const auto outcome = shop.install("modern", options);
  EXPECT_EQ(outcome.end, InstallEnd::planned) << told(outcome);
  EXPECT_GT(outcome.to_fetch_bytes, 0u);
  EXPECT_FALSE(std::filesystem::exists(shop.root + "/store"));
}

TEST(Install, OnlyOneInstallerAtATime) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  Store store(*shop.host, live_storage(), shop.root + "/store");
  {
    const auto lock = store.open();
    ASSERT_TRUE(lock);
    const auto outcome = shop.install("modern", shop.options());
    EXPECT_EQ(outcome.end, InstallEnd::failed);
    EXPECT_TRUE(has(told(outcome), "another gpuready changes this package")) << told(outcome);
  }
  EXPECT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
}

TEST(Install, WaitsForAnotherInstaller) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  Store store(*shop.host, live_storage(), shop.root + "/store");
  auto lock = store.open();
  ASSERT_TRUE(lock);
  auto options = shop.options();
  int waits = 0;
  options.wait.begins = [&] {
    ++waits;
    lock->reset();  // the other is done
  };
  options.wait.limit = std::chrono::minutes(1);
  EXPECT_EQ(shop.install("modern", options).end, InstallEnd::installed);
  EXPECT_EQ(waits, 1);
  // One that is not done in time.
  lock = store.open();
  ASSERT_TRUE(lock);
  options.wait = {.limit = std::chrono::milliseconds(1)};
  const auto late = shop.install("modern", options);
  EXPECT_EQ(late.end, InstallEnd::failed);
  EXPECT_EQ(late.error->kind, ErrorKind::busy);
  const std::atomic<bool> cancel = true;
  const auto cancelled = store.open({.limit = std::chrono::minutes(1), .cancel = &cancel});
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().kind, ErrorKind::cancelled);
}

TEST(Install, RollBackNamesTheVersionsThatAreThere) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  ASSERT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
  const auto back = roll_back(*shop.host, live_storage(), shop.options().places, 99);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(has(error_text(back), "there is no version of number 99; those that are there: 1"))
      << error_text(back);
}

TEST(Install, DamageIsFoundAndMended) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  const auto first = shop.install("modern", shop.options());
  ASSERT_EQ(first.end, InstallEnd::installed);
  Store store(*shop.host, live_storage(), shop.root + "/store");
  const auto manifest = parse_manifest(*store.manifest_of(1), "m");
  EXPECT_TRUE(store.damaged(1, manifest->variants[0]).empty());
  const auto path = shop.root + "/store/current/lib/a.so";
  std::filesystem::remove(path);
  EXPECT_EQ(store.damaged(1, manifest->variants[0]).size(), 1u);
  EXPECT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
  EXPECT_TRUE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));

  // Of the same size, so that a look at sizes does not find it.
  std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::fstream(path, std::ios::in | std::ios::out) << "\x01";
  EXPECT_FALSE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));
  EXPECT_EQ(verify_current(*shop.host, store, *read_current(store))->size(), 1u);
  EXPECT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
  EXPECT_TRUE(shop.installed("lib/a.so") == kModern.at("lib/a.so"));
  EXPECT_TRUE(verify_current(*shop.host, store, *read_current(store))->empty());
}

// A name and a folder that do not belong together.
TEST(Install, AFolderHoldsThePackageOfItsName) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  ASSERT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
  const Store store(*shop.host, live_storage(), shop.root + "/store");
  EXPECT_TRUE(check_name(store, store.state()->name));
  EXPECT_TRUE(has(error_text(check_name(store, "other")), "holds the package "));
}

// A folder of somebody's own, named by mistake: nothing in it is taken for a package's and removed.
TEST(Install, WhatAnotherMadeStays) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  const auto own = shop.root + "/store/objects/own";
  std::filesystem::create_directories(shop.root + "/store/objects");
  std::filesystem::create_directories(shop.root + "/store/generations");
  write_text(own, "a text");
  const auto outcome = shop.install("modern", shop.options());
  EXPECT_EQ(outcome.end, InstallEnd::failed);
  EXPECT_TRUE(has(told(outcome), "/store: holds objects that no package made")) << told(outcome);
  EXPECT_FALSE(collect_garbage(*shop.host, live_storage(), shop.options().places));
  EXPECT_FALSE(uninstall(*shop.host, live_storage(), shop.options().places));
  EXPECT_TRUE(std::filesystem::exists(own));
  std::filesystem::remove(own);
  EXPECT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
}

TEST(Install, AFolderInPlaceOfTheLinkIsNamed) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  std::filesystem::create_directories(shop.root + "/store/current");
  const auto outcome = shop.install("modern", shop.options());
  EXPECT_EQ(outcome.end, InstallEnd::failed);
  EXPECT_TRUE(has(told(outcome), "/store/current: not a link that gpuready made")) << told(outcome);
}

// `current` leads to a version that is gone: its number is not taken again, so nothing is live
// before it was tested, and the version before stays.
TEST(Install, AVersionThatIsGoneIsNotMadeUnderItsNumber) {
  Workshop shop;
  ASSERT_EQ(error_text(shop.publish("1.0", {{"modern", kModern}, {"latest", kLatest}})), "");
  ASSERT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
  ASSERT_EQ(shop.install("latest", shop.options()).end, InstallEnd::installed);
  const auto generations = shop.root + "/store/generations/";
  std::filesystem::remove_all(generations + "2");
  const auto again = shop.install("latest", shop.options());
  ASSERT_EQ(again.end, InstallEnd::installed) << told(again);
  EXPECT_TRUE(shop.installed("lib/a.so") == kLatest.at("lib/a.so"));
  EXPECT_TRUE(std::filesystem::exists(generations + "3"));
  EXPECT_FALSE(std::filesystem::exists(generations + "2"));
}

TEST(Install, AReadOnlyStoreIsNoErrorWhereNothingChanges) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}, {"cpu", {{"a", "b"}}}}));
  ASSERT_EQ(shop.install("modern", shop.options()).end, InstallEnd::installed);
  FailingStorage read_only(live_storage(), {1, StorageFault::Kind::from_then_on, EROFS});
  auto how = shop.options();
  how.storage = &read_only;
  const auto again = shop.install("modern", how);
  EXPECT_EQ(again.end, InstallEnd::unchanged) << told(again);
  EXPECT_EQ(again.reused_files, 3u);  // but for the link
  EXPECT_EQ(shop.install("cpu", how).end, InstallEnd::failed);
}

// The installers that gpuready replaces put libraries into the folder itself.
TEST(Install, WhatAnotherInstallerLeftIsNamed) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.0", {{"modern", kModern}}));
  write_text(shop.root + "/store/libonnxruntime.so", "old");
  write_text(shop.root + "/store/libcudnn.so.9", "old");
  const auto outcome = shop.install("modern", shop.options());
  ASSERT_EQ(outcome.end, InstallEnd::installed) << told(outcome);
  ASSERT_EQ(outcome.notes.size(), 1u);
  EXPECT_TRUE(has(outcome.notes[0], "also holds libcudnn.so.9 and 1 more")) << outcome.notes[0];
  EXPECT_TRUE(uninstall(*shop.host, live_storage(), shop.options().places, true));
  EXPECT_EQ(Store(*shop.host, live_storage(), shop.root + "/store").foreign().size(), 2u);
}

TEST(Install, GarbageIsWhatNoKeptVersionNeeds) {
  Workshop shop;
  for (const auto& [version, seed] : {std::pair("1.0", 1u), {"1.1", 2u}, {"1.2", 3u}}) {
    ASSERT_EQ(error_text(shop.publish(
                  version, {{"cpu", {{"a", noise(1000, seed)}, {"b", noise(1000, 100)}}}})),
              "");
    ASSERT_EQ(shop.install("cpu", shop.options()).end, InstallEnd::installed);
  }
  // An installation keeps two versions by itself.
  EXPECT_FALSE(std::filesystem::exists(shop.root + "/store/generations/1"));
  EXPECT_TRUE(std::filesystem::exists(shop.root + "/store/generations/2"));
  write_text(shop.root + "/store/objects/.gpuready-1-0.tmp", "left by a kill");
  const auto collected = collect_garbage(*shop.host, live_storage(), shop.options().places);
  ASSERT_TRUE(collected) << error_text(collected);
  EXPECT_TRUE(collected->generations.empty());
  EXPECT_EQ(collected->objects.files, 1u);
  EXPECT_TRUE(roll_back(*shop.host, live_storage(), shop.options().places, {}));
  EXPECT_TRUE(shop.installed("a") == noise(1000, 2));
  ASSERT_TRUE(uninstall(*shop.host, live_storage(), shop.options().places, true));
  EXPECT_FALSE(std::filesystem::exists(shop.root + "/store"));
  EXPECT_FALSE(std::filesystem::exists(shop.root + "/config/gpu-package-info.json"));
}

TEST(Publish, RefusesWhatNobodyCouldInstall) {
  Workshop shop;
  ASSERT_TRUE(shop.publish("1.1", {{"modern", kModern}}));
  EXPECT_TRUE(
      has(error_text(shop.publish("1.1", {{"modern", kModern}})), "version 1.1 is not above 1.1"));
  EXPECT_TRUE(
      has(error_text(shop.publish("1.0", {{"modern", kModern}})), "version 1.0 is not above 1.1"));
  EXPECT_EQ(error_text(shop.publish("1.10", {{"modern", kModern}})), "");
  // A variant that is not there, and one that was changed since it was built.
  Recipe recipe;
  recipe.name = "libs", recipe.version = "2";
  recipe.variants = {{.name = "gone",
                      .architectures = {},
                      .folder = {},
                      .command = {},
                      .include = {},
                      .exclude = {},
                      .floors = {}}};
  PublishOptions options;
  options.built_folder = shop.root + "/built";
  options.out_folder = shop.root + "/release";
  EXPECT_TRUE(
      has(error_text(publish(*shop.host, recipe, shop.key, options)), "variant gone is not built"));
  recipe.variants[0].name = "modern";
  EXPECT_TRUE(
      has(error_text(publish(*shop.host, recipe, shop.key, options)), "built for another version"));
  recipe.version = "1.10.0";
  write_text(shop.root + "/built/libs-1.10-modern.tar.zst", "changed");
  EXPECT_TRUE(has(error_text(publish(*shop.host, recipe, shop.key, options)),
                  "was changed since it was built"));
}

TEST(Publish, NotesSayWhatEachVariantAndModelNeeds) {
  Workshop shop;
  const auto code = fixture::fat_binary({fixture::cubin_entry(90), fixture::cubin_entry(100)});
  const auto shared = noise(2048, 1);
  shop.architectures = {{"gpu", {"90", "100"}}};
  shop.floors["gpu"] = {"550.54", "12.4", "9.1", "2.34", "x86-64-v3"};
  const auto published = shop.publish(
      "1.0", {{"cpu", {{"a", shared}}},
              {"gpu", {{"a", shared}, {"code", std::string(code.begin(), code.end())}}}});
  ASSERT_TRUE(published) << error_text(published);
  const auto& manifest = published->manifest;
  const auto row = [&](std::size_t at, std::size_t bytes, const std::string& needs) {
    return fmt::format("{} | {} | {} |\n", needs, format_bytes(bytes),
                       format_bytes(manifest.variants.at(at).archive_bytes()));
  };
  const auto key = shop.key.public_key().text();
  const auto head =
                 "# libs 1.0\n\n"
                 "| variant | GPUs (compute capability) | needs at least | installed | "
                 "download |\n|---|---|---|---|---|\n" +
                 row(0, 2048, "| cpu | none: CPU | -") +
                 row(1, 2048 + code.size(),
                     "| gpu | 90, 100 | driver 550.54, CUDA 12.4, cuDNN 9.1, glibc 2.34, CPU "
                     "x86-64-v3") +
                 fmt::format("\nAll variants hold {}; {} of them differ.\n",
                             format_bytes(4096 + code.size()), format_bytes(2048 + code.size())),
             end = fmt::format(
                 "\nInstall: `gpuready pack install URL --key {}`\n\nCheck by hand: "
                 "`minisign -V -P {} -m manifest.json`\n\nValid until {}.\n",
                 key, key, manifest.expires_utc);
  EXPECT_EQ(published->notes_name, "libs-1.0.md");
  EXPECT_EQ(read_text(shop.root + "/release/libs-1.0.md"), head + end);
  shop.models = {{"large", std::uint64_t{6} << 30}, {"small", 0}};
  ASSERT_EQ(error_text(shop.publish("1.0.1", {{"cpu", {{"a", shared}}}})), "");
  const auto notes = read_text(shop.root + "/release/libs-1.0.1.md");
  EXPECT_TRUE(has(notes,
                  " of them differ.\n\n| model | free GPU memory |\n|---|---|\n| large | 6 GiB |\n"
                  "| small | none: CPU |\n\nInstall: "))
      << notes;
}

TEST(Build, CollectsWhatTheRecipeWants) {
  Workshop shop;
  const auto folder = shop.root + "/f";
  write_text(folder + "/lib/a.so", "a");
  write_text(folder + "/lib/a.txt", "a");
  write_text(shop.root + "/outside.so", "outside");
  std::filesystem::create_symlink("a.so", folder + "/lib/a.so.1");
  std::filesystem::create_symlink("../../outside.so", folder + "/lib/b.so");
  VariantRecipe recipe;
  recipe.folder = folder;
  recipe.include = {"**/*.so*"};
  const auto entries = collect_files(*shop.host, recipe);
  ASSERT_TRUE(entries) << error_text(entries);
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[1].link, "a.so");
  EXPECT_EQ((*entries)[2].source, shop.root + "/outside.so");  // what it leads to, not the link

  std::filesystem::create_symlink("nowhere", folder + "/lib/c.so");
  EXPECT_TRUE(has(error_text(collect_files(*shop.host, recipe)), "a link that leads nowhere"));
  std::filesystem::remove(folder + "/lib/c.so");
  write_text(folder + "/lib/libcuda.so.1", "driver");
  EXPECT_TRUE(has(error_text(collect_files(*shop.host, recipe)), "a library of the driver"));
  recipe.exclude = {"**/libcuda.so*", "**/a.so"};
  EXPECT_TRUE(has(error_text(collect_files(*shop.host, recipe)), "which the recipe leaves out"));
}

TEST(Build, TheFloorOfGlibcIsWhatTheFilesNeedOrMore) {
  Workshop shop;
  write_text(shop.root + "/f/lib/a.so", "a");
  Recipe recipe;
  recipe.name = "libs", recipe.version = "3";
  VariantRecipe variant;
  variant.name = "cpu";
  variant.folder = shop.root + "/f";
  BuildOptions options;
  options.out_folder = shop.root;
  options.only_check = true;
  const auto needing = [](std::vector<std::optional<Version>> glibcs) {
    return [glibcs = std::move(glibcs)](const auto&) {
      Inspection found;
      for (const auto& glibc : glibcs) {
        FileReport& file = found.files.emplace_back();
        file.elf.emplace();
        if (glibc) file.elf->symbol_versions["GLIBC"] = *glibc;
      }
      found.files.emplace_back();  // not a library
      return found;
    };
  };
  struct {
    std::optional<std::string> declared, floor;
    bool gap;
  } const kCases[] = {{{}, "2.34", false},        {"2.33", "2.33", true},  {"2.4", "2.4", true},
                      {"2.34", "2.34", false},    {"2.35", "2.35", false}, {"2", "2", true},
                      {"2.34.1", "2.34.1", false}};
  options.scan = needing({Version{{2, 17}}, Version{{2, 34}}, std::nullopt});
  for (const auto& [declared, floor, gap] : kCases) {
    variant.floors.glibc = declared;
    const auto built = build_variant(*shop.host, recipe, variant, options);
    ASSERT_TRUE(built) << error_text(built);
    EXPECT_EQ(built->variant.floors.glibc, floor);
    const bool found =
        std::ranges::find(built->gaps,
                          "its files need glibc 2.34, and its floor is declared to be " +
                              declared.value_or("")) != built->gaps.end();
    EXPECT_EQ(found, gap) << declared.value_or("none");
  }
  options.scan = needing({std::nullopt});
  variant.floors.glibc.reset();
  EXPECT_EQ(build_variant(*shop.host, recipe, variant, options)->variant.floors.glibc,
            std::nullopt);
}

TEST(Build, CommandFindsTheArchitectures) {
  Workshop shop;
  Recipe recipe;
  recipe.name = "libs", recipe.version = "3";
  VariantRecipe variant;
  variant.name = "modern";
  variant.architectures = {"80", "90+PTX"};
  variant.folder = shop.root + "/out";
  variant.command = {
      "sh", "-c",
      "mkdir -p $PACK_FOLDER && echo $CUDAARCHS $TORCH_CUDA_ARCH_LIST > $PACK_FOLDER/said"};
  BuildOptions options;
  options.out_folder = shop.root;
  options.scan = [](const auto&) { return Inspection(); };
  ASSERT_EQ(error_text(build_variant(*shop.host, recipe, variant, options)), "");
  EXPECT_EQ(read_text(shop.root + "/out/said"), "80-real;90 8.0;9.0+PTX\n");
  variant.command = {"sh", "-c", "echo no compiler >&2; exit 3"};
  EXPECT_EQ(error_text(build_variant(*shop.host, recipe, variant, options)),
            "the build of modern failed (exited 3): no compiler");
}

}  // namespace
}  // namespace gpuready::pack
