#include "pack/store/program_info.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "host/atomic_file.h"
#include "host/folders.h"
#include "pack/release/recipe.h"

namespace gpuready::pack {
namespace {

// The range as the seed's installers write it: "sm_75-86".
std::string architecture_range(const Variant& variant) {
  std::vector<CudaTarget> targets;
  for (const auto& text : variant.architectures)
    if (const auto architecture = parse_architecture(text)) targets.push_back(architecture->target);
  if (targets.empty()) return "cpu";
  const auto [least, most] = std::ranges::minmax(targets);
  return least == most ? least.sm() : fmt::format("{}-{}", least.sm(), most.number());
}

Result<std::string> home_folder(Host& host) {
  const auto home = host.environment("HOME");
  if (!home || !home->starts_with('/'))
    return fail(ErrorKind::bad_input, "HOME is not set: name the folder with --to");
  return *home;
}

Result<void> make_info_folder(const Places& places, Storage& storage) {
  return make_folders(places.info.substr(0, places.info.rfind('/')), storage);
}

}  // namespace

Result<std::string> packages_folder(Host& host) { return TRY(home_folder(host)) + "/.local/share"; }

Result<void> check_searchable(const std::string& folder) {
  if (folder.find_first_of(":;") == folder.npos) return {};
  return fail(ErrorKind::bad_input,
              folder +
                  ": the system's loader splits LD_LIBRARY_PATH at ':' and ';', so nothing "
                  "would be found there: name another folder with --to");
}

Result<Places> default_places(Host& host, const std::string& name) {
  if (const auto wrong = wrong_with_name(name))
    return fail(ErrorKind::bad_input, name + ": " + *wrong);
  const auto home = TRY(home_folder(host));
  return Places{fmt::format("{}/{}/gpu-libs", TRY(packages_folder(host)), name),
                fmt::format("{}/.config/{}/gpu-package-info.json", home, name)};
}

std::string info_text(const Manifest& manifest, const Variant& variant, const Installed& installed,
                      const InfoGpu& gpu, const Places& places) {
  Json doc;
  doc["variant"] = variant.name;
  doc["architectures"] = architecture_range(variant);
  if (const auto capability =
          gpu.compute_capability ? parse_cuda_target(*gpu.compute_capability) : std::nullopt) {
    doc["smVersion"] = capability->major * 10 + capability->minor;
    doc["computeCap"] = capability->capability();
  }
  put(doc, "gpuName", gpu.name);
  put(doc, "model", installed.model);
  doc["version"] = manifest.version;
  const auto folders =
      library_folders(places.store + "/current", *manifest.find(members_of(variant.name).front()));
  doc["libsPath"] = folders.empty() ? places.store + "/current" : folders.front();
  doc["installedAt"] = installed.installed_utc;
  return dump(doc);
}

Result<void> prepare_info(const Places& places, Storage& storage) {
  if (places.info.empty()) return {};
  const auto begun = [&]() -> Result<AtomicFile> {
    TRY(make_info_folder(places, storage));
    return AtomicFile::create(places.info, kStoreFile, storage);  // nothing is left of it
  }();
  if (begun) return {};
  return fail(ErrorKind::io,
              fmt::format("{}: programs look there for what is installed, and it cannot be written "
                          "({}): move away what is in its place, or name another folder with --to",
                          places.info, begun.error().message),
              begun.error().code);
}

Result<void> write_info(Host& host, const Places& places, const std::string& text,
                        Storage& storage) {
  if (places.info.empty() || host.read_file(places.info).value_or("") == text) return {};
  TRY(make_info_folder(places, storage));
  return write_file_atomically(places.info, text, kStoreFile, storage);
}

std::vector<std::string> library_folders(const std::string& root, const Variant& variant) {
  std::vector<std::string> folders;
  for (const auto& file : variant.files) {
    const auto slash = file.path.rfind('/');
    const auto name = file.path.substr(slash + 1);
    if (name.find(".so") == name.npos) continue;
    const auto folder = root + (slash == file.path.npos ? "" : "/" + file.path.substr(0, slash));
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(folder);
  }
  return folders;
}

}  // namespace gpuready::pack
