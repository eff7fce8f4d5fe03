// Installing a release, each step from the value of the one before: plan, fetch and verify, test,
// switch by one rename.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/named.h"
#include "pack/store/fetch.h"
#include "pack/store/load_proof.h"
#include "pack/store/model_proof.h"
#include "pack/store/origin.h"
#include "pack/store/program_info.h"
#include "pack/store/read_release.h"
#include "pack/store/store.h"

namespace gpuready::pack {

enum class InstallEnd {
  installed,
  unchanged,   // this variant of this version is current already, and all its files are there
  planned,     // --dry-run
  refused,     // not trusted: signature, hash, expiry, or a version below one seen before
  not_loaded,  // the load test failed
  nothing,     // the release has nothing for this machine, and no variant for the CPU
  failed,      // anything else: not reached, no space, no permission
};

// What of the machine is in the records, and what is tested.
struct InstallTarget {
  std::string variant;
  std::vector<std::string> gpus;  // "9.0 NVIDIA H200"
  std::optional<std::string> machine;
  InfoGpu gpu;
  // Children of the load test, for the files in this folder. Empty: nothing is tested.
  std::function<std::vector<LoadPlan>(const std::string& folder, const Variant& variant)> plans =
      {};
  // The first of these that loads is recorded; folders are filled in.
  std::vector<ModelPlan> models = {};
};

struct InstallOptions {
  Places places;
  bool dry_run = false;
  bool always_test = false;  // also what is installed already
  bool verify = false;       // hash every installed file, also those that look unchanged
  unsigned at_once = 0;
  std::chrono::seconds fetch_limit = kUsualFetchLimit;
  std::function<void(std::string_view step, std::uint64_t done, std::uint64_t total)> progress = {};
  const std::atomic<bool>* cancel = nullptr;
  LockWait wait = {};
  Storage* storage = &live_storage();
  std::function<LoadResult(const LoadPlan&)> load_test = [](const LoadPlan& plan) {
    return run_load_test(plan);
  };
  std::function<std::optional<std::string>(const ModelPlan&, const std::atomic<bool>* cancel)>
      model_test = run_model_test;
};

// One load test of an installation.
struct TriedLoad {
  std::string chosen;  // the variant, or set of them, that was to be installed
  LoadPlan plan;
  LoadResult result;
};

struct InstallOutcome {
  InstallEnd end = InstallEnd::failed;
  std::optional<Error> error;
  std::optional<Installed> installed;
  std::string folder;                         // that programs use: <store>/current
  std::uint64_t files = 0, reused_files = 0;  // of the variant; those that were there before
  std::uint64_t content_bytes = 0, fetched_bytes = 0, written_bytes = 0, to_fetch_bytes = 0;
  bool without_ranges = false;
  std::vector<TriedLoad> tried;
  std::vector<std::string> rejected_models;  // those that did not load, and why
  std::vector<std::string> notes;            // what else did not go as it should
};

InstallOutcome install(Host& host, Origin& origin, const Release& release,
                       const InstallTarget& target, const InstallOptions& options);

// The generation that was current before, or the one that is named.
Result<Installed> roll_back(Host& host, Storage& storage, const Places& places,
                            std::optional<std::uint64_t> number, const LockWait& wait = {});

struct Collected {
  std::vector<std::uint64_t> generations;
  StoreOutcome objects;
};
// Removes generations but the current one and the one before it, and what no other needs.
Result<Collected> collect_garbage(Host& host, Storage& storage, const Places& places,
                                  const LockWait& wait = {});
// The key and the highest version that was seen stay, so that no server goes back behind it later;
// with `forget` they go, too.
Result<void> uninstall(Host& host, Storage& storage, const Places& places, bool forget = false,
                       const LockWait& wait = {});

}  // namespace gpuready::pack

namespace gpuready {
NAMES_OF(pack::InstallEnd, "installed", "unchanged", "planned", "refused", "not_loaded", "nothing",
         "failed");
}  // namespace gpuready
