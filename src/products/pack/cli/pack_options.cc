#include "pack/cli/pack_options.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/paths.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "host/folders.h"
#include "pack/cli/password.h"
#include "pack/store/installed.h"

namespace gpuready::cli {
namespace {

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

Option code_path_option(std::string& path) {
  return {
      .name = "PATH",
      .value = &path,
      .help =
          "A file with device code, an archive (wheel, zip, tar, deb, container image), a folder "
          "of them, or a URL",
      .required = true,
      .files = Files::read};
}

Result<pack::Inspection> inspect_shown(Host& host, const std::string& path, bool quiet) {
  ProgressLine progress(quiet);
  auto inspection = pack::inspect_path(
      host, path, [&](const std::string& file) { progress.show("Reading " + file); });
  progress.clear();
  return inspection;
}

Option release_option(std::string& from) {
  return {.name = "FROM",
          .value = &from,
          .help = "A release: a folder, its manifest.json, an http(s) URL, or oci://HOST/NAME:TAG",
          .required = true,
          .files = Files::read,
          .files_of = files_of_release};
}

Option signing_key_option(std::string& key) {
  return {.name = "--key",
          .value = &key,
          .help = "The private key that signs (gpuready pack key makes one)",
          .type = "FILE",
          .required = true,
          .files = Files::read};
}

Option release_folder_option(std::string& folder) {
  return {.name = "--to",
          .value = &folder,
          .help = "The folder of the release",
          .type = "FOLDER",
          .required = true,
          .files = Files::read};
}

Result<void> make_named_folder(const char* option, const std::string& folder) {
  const auto made = make_folders(folder);
  if (made) return made;
  return fail(made.error().kind,
              fmt::format("{} {}: the folder cannot be made ({}): name one that you may write to",
                          option, folder, made.error().message),
              made.error().code);
}

Result<pack::Recipe> read_recipe(Host& host, const std::string& path, bool uses_folders) {
  const bool is_default = path == kDefaultRecipe;
  const auto text = is_default ? host.read_believed(path) : host.read_file(path);
  if (!text && is_default && text.error().kind != ErrorKind::not_found)
    return fail(text.error().kind,
                fmt::format("{}. To trust the recipe, name it: ./{}", text.error().message, path));
  if (!text) return std::unexpected(text.error());
  return pack::parse_recipe(
      *text, path, std::filesystem::path(absolute(path)).parent_path().string(), uses_folders);
}

std::vector<std::string> files_of_recipe(const std::string& path) {
  std::vector<std::string> files = {path};
  const auto host = make_live_host();
  if (const auto recipe = read_recipe(*host, path))
    for (const auto& variant : recipe->variants) files.push_back(variant.folder);
  return files;
}

std::vector<std::string> files_of_release(const std::string& from) {
  if (base_name(from) != "manifest.json") return {from};
  return {from, std::filesystem::path(absolute(from)).parent_path().string()};
}

std::vector<std::string> files_of_package(const std::string& name) {
  const auto host = make_live_host();
  const auto places = pack::default_places(*host, name);
  return places ? std::vector{places->store, places->info} : std::vector<std::string>{};
}

Option key_option(std::optional<std::string>& key) {
  return {.name = "--key",
          .value = &key,
          .help = "The public key to trust: a file, or RWQ...; needed once, then it is remembered",
          .type = "KEY",
          .files = Files::read};
}

Option place_option(std::optional<std::string>& folder) {
  return {.name = "--to",
          .value = &folder,
          .help = "Folder of the package, instead of ~/.local/share/NAME/gpu-libs",
          .type = "FOLDER",
          .files = Files::read};
}

Result<InstalledPackage> open_here(const std::optional<std::string>& name,
                                   const std::optional<std::string>& folder, bool or_remembered) {
  if (!name && !folder)
    return fail(ErrorKind::bad_input, "name the package, or its folder with --to");
  InstalledPackage here;
  here.places = TRY(pack::places_of(*here.host, name.value_or(""), folder));
  if (!or_remembered || !here.store().remembers()) TRY(pack::check_installed(here.store()));
  if (name) TRY(pack::check_name(here.store(), *name));
  return here;
}

Option wait_option(double& seconds) {
  return {
      .name = "--wait",
      .value = &seconds,
      .help =
          "How long to wait if another gpuready process holds this package's lock (default: 5 min)",
      .range = Range{0, 86400},
      .seconds = true};
}

pack::LockWait lock_wait(double seconds, bool quiet) {
  catch_interrupts();
  pack::LockWait wait;
  wait.limit = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  wait.cancel = &interrupted();
  if (!quiet)
    wait.begins = [seconds] {
      complain(fmt::format(
          "another gpuready process holds this package's lock; waiting at most {:.0f} s", seconds));
    };
  return wait;
}

Option level_option(unsigned& level) {
  return {.name = "--zstd-level",
          .value = &level,
          .help = "zstd level, 1 to 19 (default: 9)",
          .type = "N",
          .range = Range{1, 19}};
}

Option password_option(std::optional<std::string>& file) {
  return {.name = "--password-file",
          .value = &file,
          .help = "Read the key's password from the first line of FILE; -: standard input",
          .type = "FILE",
          .files = Files::read};
}

Result<pack::SecretKey> read_secret_key(Host& host, const std::string& path,
                                        const std::optional<std::string>& password_file) {
  const auto file = TRY(host.read_file(path, 4096));
  std::string password;
  if (TRY(pack::is_encrypted(file, path)))
    password = TRY(read_password(host, password_file, "Password of " + path, false));
  return pack::parse_secret_key(file, password, path);
}

}  // namespace gpuready::cli
