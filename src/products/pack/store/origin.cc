#include "pack/store/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/text.h"
#include "host/mapped_file.h"
#include "pack/release/manifest.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kPiece = 4u << 20;

class FolderOrigin final : public Origin {
 public:
  FolderOrigin(Host& host, std::string folder) : host_(host), folder_(std::move(folder)) {}
  std::string where() const override { return folder_; }

  Result<std::string> file(const std::string& name, std::size_t limit_bytes) override {
    return host_.read_file(folder_ + "/" + name, limit_bytes);
  }

  Result<void> whole(const std::string& name, const ByteSink& sink) override {
    return hand_out(TRY(mapped(name)), sink);
  }

  Result<void> range(const std::string& name, std::uint64_t size_bytes, ByteRange range,
                     const ByteSink& sink) override {
    const auto bytes = TRY(mapped(name));
    if (bytes.size() != size_bytes)
      return fail(ErrorKind::truncated,
                  fmt::format("{}/{}: it has {} bytes, and the manifest says {}", folder_, name,
                              bytes.size(), size_bytes));
    return hand_out(bytes.substr(range.offset, range.length), sink);
  }
  bool is_local() const override { return true; }
  unsigned parallel() const override { return 8; }

 private:
  static Result<void> hand_out(std::string_view rest, const ByteSink& sink) {
    for (; !rest.empty(); rest.remove_prefix(std::min(kPiece, rest.size())))
      TRY(sink(rest.substr(0, kPiece)));
    return {};
  }
  Result<std::string_view> mapped(const std::string& name) {
    const std::lock_guard lock(mutex_);
    auto known = files_.find(name);
    if (known == files_.end())
      known = files_.emplace(name, TRY(MappedFile::open(folder_ + "/" + name))).first;
    const auto bytes = known->second.bytes();
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  Host& host_;
  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, MappedFile> files_;
};

}  // namespace

Result<std::unique_ptr<Origin>> open_origin(Host& host, std::string where,
                                            const OriginOptions& options) {
  const auto scheme = where.substr(0, std::min(where.find("://"), where.size()));
  if (scheme == "oci" || scheme == "oci+http") return open_oci_origin(host, where, options);
  if (where.ends_with("/" + std::string(kManifestName)))
    where.resize(where.size() - kManifestName.size());
  if (where == kManifestName) where = ".";
  if (scheme == "http" || scheme == "https") return open_http_origin(where, options);
  if (const auto path = after_prefix(where, "file://")) {
    where = *path;
  } else if (where.find("://") != where.npos) {
    return fail(
        ErrorKind::unsupported,
        fmt::format("{}: only http, https, oci and file URLs and folders are installed from",
                    where));
  }
  while (where.size() > 1 && where.ends_with('/')) where.pop_back();
  const auto status = host.status(where);
  if (!status) return fail(ErrorKind::bad_input, status.error().message, status.error().code);
  if (status->kind != FileKind::directory)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: not a folder and not named {}", where, kManifestName));
  return std::make_unique<FolderOrigin>(host, where);
}

}  // namespace gpuready::pack
