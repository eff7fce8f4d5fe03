// A release as an OCI artifact: what a container registry keeps beside images. One manifest lists
// the release's files as layers, each with its name in an annotation and its SHA-256 as its digest.
// https://github.com/opencontainers/image-spec/blob/main/{manifest,image-layout}.md
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "host/host.h"
#include "host/storage.h"

namespace gpuready::pack {

inline constexpr std::string_view kOciManifestType = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::size_t kMostOciManifestBytes = 4u << 20;  // that registries accept

struct OciBlob {
  std::string digest;  // "sha256:..."
  std::uint64_t size_bytes = 0;
};
std::string oci_digest(const Sha256& hash);
// The files of a release, by name, that an artifact's manifest lists.
Result<std::map<std::string, OciBlob>> parse_oci_manifest(std::string_view text,
                                                          std::string_view name);
std::string oci_manifest_text(const std::map<std::string, OciBlob>& files);

// "host:5000/name/of/it:tag", or "...@sha256:..." for one that cannot change.
struct OciReference {
  std::string host, name;
  std::string reference;  // a tag ("latest" where none is named) or a digest
  bool pinned() const { return reference.starts_with("sha256:"); }
  std::string text() const { return host + "/" + name + (pinned() ? "@" : ":") + reference; }
};
Result<OciReference> parse_oci_reference(std::string_view text);

// Adds the files of a published folder to an image layout, under the tag; makes the layout where
// there is none. The index comes last, so that what it names is there.
Result<void> write_oci_layout(Host& host, const std::string& release_folder,
                              const std::vector<std::string>& files, const std::string& tag,
                              const std::string& layout_folder, Storage& storage = live_storage());

}  // namespace gpuready::pack
