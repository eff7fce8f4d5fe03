// Installing a release: trust first, then the choice, then the files, then the proof, then one
// rename.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/named.h"
#include "pack/release/minisign.h"
#include "pack/store/fetch.h"
#include "pack/store/load_proof.h"
#include "pack/store/model_proof.h"
#include "pack/store/origin.h"
#include "pack/store/store.h"

namespace gpuready::pack {

// Where a package lives, and where programs look up what was installed.
struct Places {
  std::string store;  // ~/.local/share/NAME/gpu-libs
  std::string info;   // ~/.config/NAME/gpu-package-info.json
};
Result<Places> default_places(Host& host, const std::string& name);
Result<std::string> home_folder(Host& host);
// An error where LD_LIBRARY_PATH cannot hold the name of a folder: the loader splits it at ':',
// ';'.
Result<void> check_searchable(const std::string& folder);

// A manifest that was checked: signed by the key, not expired.
struct Release {
  Manifest manifest;
  std::string text, signature;
  PublicKey key;
};
// `key`: the one to trust; without it the one that an earlier install of this package trusted.
// `store`: where that was remembered; empty: the default place of the package's name.
Result<Release> read_release(Host& host, Origin& origin, const std::optional<PublicKey>& key,
                             const std::string& store);
// Whether this release may follow what a store has seen: an older version, or another one of the
// same number, may hide a repair; a store holds one package. `where`: the release's origin.
Result<void> check_history(const StoreState& seen, const Release& release, const std::string& store,
                           const std::string& where);

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
  // For gpu-package-info.json: of the first GPU.
  std::optional<std::string> gpu_name, compute_capability;
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

// The folders below `root`, where a variant is installed, that hold libraries: for LD_LIBRARY_PATH.
std::vector<std::string> library_folders(const std::string& root, const Variant& variant);

}  // namespace gpuready::pack

namespace gpuready {
NAMES_OF(pack::InstallEnd, "installed", "unchanged", "planned", "refused", "not_loaded", "nothing",
         "failed");
}  // namespace gpuready
