// A release in a container registry, by the OCI distribution protocol: its manifest says which blob
// each file is, and blobs are files of an HTTP server, ranges included.
// https://github.com/opencontainers/distribution-spec/blob/main/spec.md
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/sha256.h"
#include "base/text.h"
#include "pack/release/oci.h"
#include "pack/store/origin.h"

namespace gpuready::pack {
namespace {

constexpr const char* kTokenVariable = "GPUREADY_OCI_TOKEN";

class OciOrigin final : public Origin {
 public:
  OciOrigin(std::string where, OciReference reference, std::unique_ptr<Origin> http)
      : where_(std::move(where)), reference_(std::move(reference)), http_(std::move(http)) {}

  std::string where() const override { return where_; }
  bool has_ranges() const override { return http_->has_ranges(); }
  unsigned parallel() const override { return http_->parallel(); }

  Result<std::string> file(const std::string& name, std::size_t limit_bytes) override {
    const auto blob = TRY(find(name));
    if (blob.size_bytes > limit_bytes)
      return fail(ErrorKind::too_large,
                  fmt::format("{}: {} is larger than {} bytes", where_, name, limit_bytes));
    auto text = TRY(with_hint(http_->file(path_of(blob), limit_bytes)));
    TRY(check(name, blob, sha256(text)));
    return text;
  }

  Result<void> whole(const std::string& name, const ByteSink& sink) override {
    const auto blob = TRY(find(name));
    Sha256Stream hash;
    TRY(with_hint(http_->whole(path_of(blob), [&](std::string_view bytes) {
      hash.add(bytes);
      return sink(bytes);
    })));
    return check(name, blob, hash.finish());
  }

  Result<void> range(const std::string& name, std::uint64_t size_bytes, ByteRange range,
                     const ByteSink& sink) override {
    const auto blob = TRY(find(name));
    if (blob.size_bytes != size_bytes)
      return fail(ErrorKind::io, fmt::format("{}: {} has {} bytes, and the manifest says {}",
                                             where_, name, blob.size_bytes, size_bytes));
    return with_hint(http_->range(path_of(blob), size_bytes, range, sink));
  }

 private:
  static std::string path_of(const OciBlob& blob) { return "blobs/" + blob.digest; }

  // The manifest is read when the first file is asked for.
  Result<OciBlob> find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (files_.empty()) TRY(read_manifest());
    const auto found = files_.find(name);
    if (found == files_.end())
      return fail(ErrorKind::not_found, fmt::format("{}: it has no file {}", where_, name));
    return found->second;
  }

  Result<void> read_manifest() {
    const auto text =
        TRY(with_hint(http_->file("manifests/" + reference_.reference, kMostOciManifestBytes)));
    if (const auto digest = oci_digest(sha256(text));
        reference_.pinned() && digest != reference_.reference)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: the registry sends a manifest of {}", where_, digest));
    files_ = TRY(parse_oci_manifest(text, where_));
    return {};
  }

  Result<void> check(const std::string& name, const OciBlob& blob, const Sha256& hash) const {
    if (const auto digest = oci_digest(hash); digest != blob.digest)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: {} is of {}, and the registry's manifest says {}", where_, name,
                              digest, blob.digest));
    return {};
  }

  template <class T>
  static Result<T> with_hint(Result<T> result) {
    if (!result && result.error().kind == ErrorKind::no_permission)
      result.error().message +=
          fmt::format(" ({} holds the bearer token of a registry that wants one)", kTokenVariable);
    return result;
  }

  std::string where_;
  OciReference reference_;
  std::unique_ptr<Origin> http_;
  std::mutex mutex_;
  std::map<std::string, OciBlob> files_;
};

bool is_loopback(std::string_view host) {
  const auto name =
      host.starts_with('[') ? host.substr(0, host.find(']') + 1) : host.substr(0, host.find(':'));
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

}  // namespace

Result<std::unique_ptr<Origin>> open_oci_origin(Host& host, const std::string& where,
                                                OriginOptions options) {
  const auto plain = after_prefix(where, "oci+http://");
  const auto reference =
      TRY(parse_oci_reference(plain ? *plain : after_prefix(where, "oci://").value_or(where)));
  options.headers.push_back(fmt::format("Accept: {}", kOciManifestType));
  if (const auto token = host.environment(kTokenVariable); token && !token->empty()) {
    if (plain && !is_loopback(reference.host))
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: {} is sent only over https", where, kTokenVariable));
    if (token->find_first_of("\r\n") != token->npos)
      return fail(ErrorKind::bad_input, fmt::format("{} has a line break", kTokenVariable));
    options.headers.push_back("Authorization: Bearer " + *token);
  }
  auto http = TRY(open_http_origin(
      fmt::format("{}://{}/v2/{}/", plain ? "http" : "https", reference.host, reference.name),
      options));
  return std::make_unique<OciOrigin>(
      fmt::format("{}://{}", plain ? "oci+http" : "oci", reference.text()), reference,
      std::move(http));
}

}  // namespace gpuready::pack
