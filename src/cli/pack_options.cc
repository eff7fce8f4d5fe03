#include "cli/pack_options.h"

#include <filesystem>

#include "cli/password.h"

namespace gpuready::cli {
namespace {

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

Result<pack::Recipe> read_recipe(Host& host, const std::string& path) {
  const auto text = TRY(host.read_file(path));
  return pack::parse_recipe(text, path,
                            std::filesystem::path(absolute(path)).parent_path().string());
}

Result<pack::PublicKey> read_public_key(Host& host, const std::string& text) {
  const auto file = host.read_file(text, 4096);
  if (file) return pack::parse_public_key(*file, text);
  const auto key = pack::parse_public_key(text, "--key");
  if (key) return key;
  return fail(ErrorKind::bad_input,
              "--key " + text + ": neither a file with a public key nor such a key (RWQ...)");
}

Option key_option(std::optional<std::string>& key) {
  return {.name = "--key",
          .value = &key,
          .help = "The public key to trust: a file, or RWQ...; needed once, then it is remembered",
          .type = "KEY"};
}

Option place_option(std::optional<std::string>& folder) {
  return {.name = "--to",
          .value = &folder,
          .help = "Where the package lives, instead of ~/.local/share/NAME/gpu-libs",
          .type = "FOLDER"};
}

Result<pack::Places> places_of(Host& host, const std::string& name,
                               const std::optional<std::string>& folder) {
  if (!folder) return pack::default_places(host, name);
  const auto store = absolute(*folder);
  return pack::Places{store, store + "/gpu-package-info.json"};
}

Result<InstalledPackage> open_here(const std::optional<std::string>& name,
                                   const std::optional<std::string>& folder) {
  if (!name && !folder)
    return fail(ErrorKind::bad_input, "name the package, or its folder with --to");
  InstalledPackage here;
  here.places = TRY(places_of(*here.host, name.value_or(""), folder));
  if (!here.store().exists())
    return fail(ErrorKind::not_found, here.places.store + ": no package is installed there");
  return here;
}

Result<CurrentVersion> read_current(const pack::Store& store) {
  const auto number = TRY(store.current());
  if (!number) return fail(ErrorKind::not_found, store.root() + ": no version is current");
  CurrentVersion current{TRY(store.installed(*number)), {}, TRY(store.manifest_of(*number))};
  const auto where = store.generation_path(*number);
  current.manifest = TRY(pack::parse_manifest(current.text, where));
  if (!current.manifest.find(current.installed.variant))
    return fail(ErrorKind::bad_input, where + ": its manifest lacks its variant");
  return current;
}

Option password_option(std::optional<std::string>& file) {
  return {.name = "--password-file",
          .value = &file,
          .help = "Read the key's password from the first line of FILE; -: standard input",
          .type = "FILE"};
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
