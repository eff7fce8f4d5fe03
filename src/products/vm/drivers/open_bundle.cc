#include "vm/drivers/open_bundle.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/text.h"
#include "base/units.h"
#include "host/mapped_file.h"

namespace gpuready::vm {
namespace {

constexpr std::size_t kBundleFileMaxBytes = 16 * MiB;

std::string list_of(const std::string& folder) { return folder + "/" + std::string(kBundleFile); }

}  // namespace

Result<DriverBundle> open_bundle(Host& host, const std::string& folder) {
  const auto path = list_of(folder);
  const auto text = host.read_believed(path, kBundleFileMaxBytes);
  if (!text && text.error().kind == ErrorKind::no_permission) return std::unexpected(text.error());
  if (!text)
    return fail(
        text.error().kind == ErrorKind::not_found ? ErrorKind::bad_input : text.error().kind,
        fmt::format("{} is not a driver bundle: {}", folder, text.error().message));
  return bundle_from_text(*text, path);
}

bool leads_out_of_bundle(Host& host, const std::string& folder, const std::string& path) {
  const auto real = host.real_path(folder), there = host.real_path(folder + "/" + path);
  return there && (!real || !there->starts_with(*real == "/" ? *real : *real + "/"));
}

std::vector<std::string> verify_bundle(Host& host, const std::string& folder,
                                       const DriverBundle& bundle) {
  std::vector<std::string> found;
  for (const auto& file : bundle.files) {
    const auto path = folder + "/" + file.path;
    if (!host.real_path(path)) {
      found.push_back(file.path + " is missing");
      continue;
    }
    if (leads_out_of_bundle(host, folder, file.path)) {
      found.push_back(file.path + " leads out of the bundle");
      continue;
    }
    const auto mapped = MappedFile::open(path);
    if (!mapped)
      found.push_back("cannot read " + mapped.error().message);
    else if (mapped->bytes().size() != file.size_bytes)
      found.push_back(fmt::format("{} has {} bytes; it had {}", file.path, mapped->bytes().size(),
                                  file.size_bytes));
    else if (to_hex(sha256(mapped->bytes())) != file.sha256)
      found.push_back(file.path + " has other bytes than when it was collected");
  }
  return found;
}

Result<std::optional<std::string>> current_bundle(Host& host, const std::string& folder) {
  const auto link = fmt::format("{}/{}", folder, kCurrent);
  const auto target = host.read_link(link);
  if (!target && !host.exists(link)) return std::optional<std::string>();
  if (!target)
    return fail(ErrorKind::bad_input, link +
                                          " is not a link; rename it, so that a bundle can be "
                                          "made current");
  if (target->find('/') != target->npos || !is_safe_relative(*target) ||
      !host.exists(list_of(folder + "/" + *target)))
    return fail(ErrorKind::bad_input,
                fmt::format("{} points to \"{}\", which is not a bundle of this folder; remove it",
                            link, printable(*target)));
  return std::optional(*target);
}

Result<BundleList> list_bundles(Host& host, const std::string& folder) {
  BundleList found;
  const auto names = TRY(host.list_directory(folder));
  const auto current = current_bundle(host, folder).value_or(std::nullopt);
  for (const auto& name : names) {
    const auto path = folder + "/" + name;
    if (name.starts_with(".") || name == kCurrent || !host.exists(list_of(path))) continue;
    if (auto bundle = open_bundle(host, path))
      found.bundles.push_back({path, std::move(*bundle), name == current});
    else
      found.problems.push_back(printable(bundle.error().message) +
                               "; collect it again, or remove it");
  }
  return found;
}

}  // namespace gpuready::vm
