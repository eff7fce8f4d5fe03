// From built variants to a release: a folder that any HTTP server or object store can serve.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"
#include "host/storage.h"
#include "pack/release/key_chain.h"
#include "pack/release/minisign.h"
#include "pack/release/recipe.h"

namespace gpuready::pack {

struct PublishOptions {
  std::string built_folder, out_folder;
  std::uint64_t part_bytes = 2'000'000'000;  // GitHub's assets are below 2 GiB
  std::int64_t now_unix_seconds = 0;
  std::optional<KeyChain> chain = {};  // of keys, where the one that signs is not the first
  // What else keeps a release from being published; empty: nothing does.
  std::function<std::vector<std::string>(const Manifest&)> gate = {};
  Storage* storage = &live_storage();
};

struct Published {
  Manifest manifest;
  std::string notes_name;
  std::vector<std::string> gaps;   // that the recipe accepts
  std::vector<std::string> files;  // of the folder: all that is to be uploaded
};

// Whether a recipe may follow the release in a folder, by name and version.
Result<void> check_version(Host& host, const Recipe& recipe, const PublicKey& key,
                           const std::string& folder);

// Copies the archives, cut where they are too large for one file, and writes the release notes, the
// bill of materials, the manifest and its signature, in this order. Refuses, with every reason: a
// variant that is not built or was changed since, code that is not what the recipe declares, a
// version that the folder's manifest has reached already.
Result<Published> publish(Host& host, const Recipe& recipe, const SecretKey& key,
                          const PublishOptions& options);

}  // namespace gpuready::pack
