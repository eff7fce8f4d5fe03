// Whether a release is trusted: its signature, its age, and what was seen before.
#pragma once

#include <optional>
#include <string>

#include "pack/release/manifest.h"
#include "pack/release/minisign.h"
#include "pack/store/origin.h"
#include "pack/store/store.h"

namespace gpuready::pack {

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

}  // namespace gpuready::pack
