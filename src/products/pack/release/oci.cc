#include "pack/release/oci.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "host/atomic_file.h"
#include "host/folders.h"
#include "host/mapped_file.h"
#include "pack/release/manifest.h"

namespace gpuready::pack {
namespace {

constexpr std::string_view kIndexType = "application/vnd.oci.image.index.v1+json";
constexpr std::string_view kEmptyType = "application/vnd.oci.empty.v1+json", kEmpty = "{}";
constexpr std::string_view kArtifactType = "application/vnd.gpuready.pack.v1";
constexpr std::string_view kFileType = "application/vnd.gpuready.pack.file.v1";
constexpr const char* kTitle = "org.opencontainers.image.title";
constexpr const char* kRefName = "org.opencontainers.image.ref.name";
constexpr std::string_view kSha256 = "sha256:";
constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789._-/";
constexpr std::string_view kTagCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
constexpr std::string_view kHostCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";

bool is_digest(std::string_view text) {
  const auto hex = after_prefix(text, kSha256);
  return hex && is_sha256(*hex);
}

bool is_made_of(std::string_view text, std::string_view characters, std::size_t most) {
  return !text.empty() && text.size() <= most && text.find_first_not_of(characters) == text.npos;
}

Json descriptor(std::string_view type, const OciBlob& blob) {
  return {{"mediaType", type}, {"digest", blob.digest}, {"size", blob.size_bytes}};
}

class LayoutWriter {
 public:
  LayoutWriter(Host& host, std::string folder, Storage& storage)
      : host_(host), folder_(std::move(folder)), storage_(storage) {}

  Result<OciBlob> add(std::string_view content) {
    OciBlob blob{oci_digest(sha256(content)), content.size()};
    const auto path =
        fmt::format("{}/blobs/sha256/{}", folder_, blob.digest.substr(kSha256.size()));
    const auto there = host_.status(path);
    if (there && there->size_bytes == blob.size_bytes) return blob;
    constexpr std::size_t kWriteBytes = 4u << 20;
    auto out = TRY(AtomicFile::create(path, {}, storage_));
    for (; !content.empty(); content.remove_prefix(std::min(kWriteBytes, content.size())))
      TRY(out.write(content.substr(0, kWriteBytes)));
    TRY(out.commit());
    return blob;
  }

  // The index's entries but that of this tag.
  Result<Json> others(const std::string& tag) {
    const auto path = folder_ + "/index.json";
    const auto text = host_.read_file(path, kMostOciManifestBytes);
    Json kept = Json::array();
    if (!text && text.error().kind == ErrorKind::not_found) return kept;
    if (!text) return std::unexpected(text.error());
    const Json index = TRY(parse_json(*text, path));
    for (const auto& entry : member(index, "manifests"))
      if (get_string(member(entry, "annotations"), kRefName) != tag) kept.push_back(entry);
    return kept;
  }

 private:
  Host& host_;
  std::string folder_;
  Storage& storage_;
};

}  // namespace

std::string oci_digest(const Sha256& hash) { return std::string(kSha256) + to_hex(hash); }

Result<std::map<std::string, OciBlob>> parse_oci_manifest(std::string_view text,
                                                          std::string_view name) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::bad_input, printable(fmt::format("{}: {}", name, why)));
  };
  const Json doc = TRY(parse_json(text, name, kMostOciManifestBytes));
  if (get_string(doc, "mediaType") == kIndexType || !member(doc, "manifests").empty())
    return refuse("an index of several images, and no release: name one of them by its digest");
  std::map<std::string, OciBlob> files;
  for (const auto& layer : member(doc, "layers")) {
    const auto title = get_string(member(layer, "annotations"), kTitle);
    const auto digest = get_string(layer, "digest");
    const auto size = get_uint(layer, "size");
    if (!title) continue;  // of an image
    if (const auto wrong = wrong_with_name(*title)) return refuse(*title + ": " + *wrong);
    if (!digest || !is_digest(*digest) || !size)
      return refuse(*title + ": its digest is not a SHA-256, or its size is missing");
    if (!files.emplace(*title, OciBlob{*digest, *size}).second)
      return refuse(*title + " is listed twice");
  }
  if (!files.contains(std::string(kManifestName)))
    return refuse(fmt::format("it holds no {}: not a release of gpuready", kManifestName));
  return files;
}

std::string oci_manifest_text(const std::map<std::string, OciBlob>& files) {
  Json doc = {{"schemaVersion", 2},
              {"mediaType", kOciManifestType},
              {"artifactType", kArtifactType},
              {"config", descriptor(kEmptyType, {oci_digest(sha256(kEmpty)), kEmpty.size()})},
              {"layers", Json::array()}};
  for (const auto& [name, blob] : files) {
    doc["layers"].push_back(descriptor(kFileType, blob));
    doc["layers"].back()["annotations"] = {{kTitle, name}};
  }
  return dump(doc);
}

Result<OciReference> parse_oci_reference(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(
        ErrorKind::bad_input,
        printable(fmt::format("{}: {}: write HOST/NAME:TAG or HOST/NAME@sha256:...", text, why)));
  };
  OciReference found;
  const auto slash = text.find('/');
  if (slash == text.npos) return refuse("no name follows the registry");
  found.host = text.substr(0, slash);
  auto rest = text.substr(slash + 1);
  if (const auto at = rest.find('@'); at != rest.npos) {
    found.reference = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!is_digest(found.reference)) return refuse("its digest is not sha256: and 64 digits");
    rest = rest.substr(0, rest.find(':'));  // a tag besides says nothing
  } else {
    const auto colon = rest.find(':');
    found.reference = colon == rest.npos ? "latest" : rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!is_made_of(found.reference, kTagCharacters, 128) || found.reference.front() == '.' ||
        found.reference.front() == '-')
      return refuse("its tag is malformed");
  }
  found.name = rest;
  if (!is_made_of(found.host, kHostCharacters, 255)) return refuse("its registry is malformed");
  if (!is_made_of(found.name, kNameCharacters, 255)) return refuse("its name is malformed");
  if (found.name.find("//") != found.name.npos || found.name.front() == '/' ||
      found.name.back() == '/')
    return refuse("its name is malformed");
  for (const auto part : split(found.name, "/"))
    if (part.front() == '.' || part.back() == '.') return refuse("its name is malformed");
  return found;
}

Result<void> write_oci_layout(Host& host, const std::string& release_folder,
                              const std::vector<std::string>& files, const std::string& tag,
                              const std::string& layout_folder, Storage& storage) {
  TRY(make_folders(layout_folder + "/blobs/sha256", storage));
  LayoutWriter writer(host, layout_folder, storage);
  std::map<std::string, OciBlob> blobs;
  for (const auto& name : files) {
    const auto file = TRY(MappedFile::open(release_folder + "/" + name));
    const auto bytes = file.bytes();
    blobs[name] = TRY(writer.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  TRY(writer.add(kEmpty));
  auto entry = descriptor(kOciManifestType, TRY(writer.add(oci_manifest_text(blobs))));
  entry["artifactType"] = kArtifactType;
  entry["annotations"] = {{kRefName, tag}};
  Json index = {{"schemaVersion", 2}, {"mediaType", kIndexType}};
  index["manifests"] = TRY(writer.others(tag));
  index["manifests"].push_back(std::move(entry));
  TRY(write_file_atomically(layout_folder + "/oci-layout", "{\"imageLayoutVersion\": \"1.0.0\"}\n",
                            {}, storage));
  return write_file_atomically(layout_folder + "/index.json", dump(index), {}, storage);
}

}  // namespace gpuready::pack
