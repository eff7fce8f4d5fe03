#include "pack/store/read_release.h"

#include <fmt/format.h>

#include <future>

#include "base/clock.h"
#include "base/sha256.h"
#include "pack/release/key_chain.h"
#include "pack/store/program_info.h"

namespace gpuready::pack {
namespace {

Result<PublicKey> remembered_key(Host& host, const std::string& text, const std::string& where,
                                 std::string store) {
  // The name is not trusted yet: it only says where the trusted key would be.
  const auto manifest = TRY(parse_manifest(text, where));
  if (store.empty()) store = TRY(default_places(host, manifest.name)).store;
  const auto state = TRY(Store(host, live_storage(), store).state());
  if (!state.key)
    return fail(ErrorKind::bad_input,
                fmt::format("no key is trusted for {} yet: give the maker's public key with --key "
                            "(from where you trust it, not from {})",
                            manifest.name, where));
  return parse_public_key(*state.key, store + "/state.json");
}

// The newest key that the trusted one leads to by the release's own chain of keys.
Result<std::optional<PublicKey>> successor(Origin& origin, const Release& release) {
  const auto text = origin.file(std::string(kKeyChainName), kMostKeyChainBytes);
  if (!text && text.error().kind == ErrorKind::not_found) return std::nullopt;
  if (!text) return std::unexpected(text.error());
  const auto chain = parse_key_chain(*text, kKeyChainName);
  if (!chain) return std::nullopt;  // the signature's own error says more
  const auto newest = newest_key(*chain, chain->package, release.key);
  // The manifest is not trusted yet; its name is that of the chain, or the chain is another's.
  const auto manifest = parse_manifest(release.text, kManifestName);
  if (!manifest || manifest->name != chain->package || newest == release.key) return std::nullopt;
  return newest;
}

// "1, 2, 5"
}  // namespace

Result<Release> read_release(Host& host, Origin& origin, const std::optional<PublicKey>& key,
                             const std::string& store) {
  const auto where =
      origin.where() + (origin.where().ends_with('/') ? "" : "/") + std::string(kManifestName);
  Release release;
  Result<std::string> signed_by = fail(ErrorKind::bad_input, where);
  // A release that is being published has its manifest for a moment before its signature.
  for (int attempt = 0; attempt < 2 && !signed_by; ++attempt) {
    // Both at once: over one connection the second answer may wait 40 ms for our acknowledgement
    // of the first, where the server sends its headers by themselves.
    auto signature = std::async(std::launch::async, [&] {
      return origin.file(std::string(kSignatureName), kMostSignatureBytes);
    });
    release.text = TRY(origin.file(std::string(kManifestName), kMostManifestBytes));
    release.signature = TRY(signature.get());
    release.key = key ? *key : TRY(remembered_key(host, release.text, where, store));
    signed_by = verify_signature(release.key, release.text, release.signature, where);
    if (!signed_by)
      if (const auto newer = TRY(successor(origin, release))) {
        release.key = *newer;
        signed_by = verify_signature(release.key, release.text, release.signature, where);
      }
  }
  TRY(signed_by);
  release.manifest = TRY(parse_manifest(release.text, where));
  if (TRY(host.identity()).unix_seconds > *parse_utc(release.manifest.expires_utc))
    return fail(
        ErrorKind::bad_input,
        fmt::format("{}: the release expired on {}: a server that is not kept up may hide a "
                    "repair; ask its maker for a new one",
                    where, release.manifest.expires_utc));
  return release;
}

Result<void> check_history(const StoreState& seen, const Release& release, const std::string& store,
                           const std::string& where) {
  const auto& offered = release.manifest;
  if (!seen.name.empty() && seen.name != offered.name)
    return fail(ErrorKind::bad_input,
                fmt::format("{} holds the package {}, not {}", store, seen.name, offered.name));
  if (!seen.highest_version) return {};
  const auto version = *parse_version(offered.version);
  const auto highest = parse_version(*seen.highest_version);
  if (!highest)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: the highest version seen, \"{}\", is not a version", store,
                            printable(*seen.highest_version)));
  if (version < *highest)
    return fail(
        ErrorKind::bad_input,
        fmt::format("{} offers version {}, and {} was seen before: a server that goes back may "
                    "hide a repair (gpuready pack rollback goes back on purpose, and gpuready pack "
                    "uninstall --forget forgets what was seen)",
                    where, offered.version, *seen.highest_version));
  if (version == *highest && seen.highest_sha256 &&
      *seen.highest_sha256 != to_hex(sha256(release.text)))
    return fail(ErrorKind::bad_input,
                fmt::format("{} offers a version {} that is not the one seen before: a release is "
                            "changed only under a higher version",
                            where, offered.version));
  return {};
}

}  // namespace gpuready::pack
