// What several subcommands of `gpuready pack` share.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command_line.h"
#include "host/host.h"
#include "pack/code/inspect.h"
#include "pack/release/minisign.h"
#include "pack/release/recipe.h"
#include "pack/store/install_best.h"
#include "pack/store/installed.h"

namespace gpuready::cli {

// PATH: what is read for device code, and reading it, with the files named as they come.
Option code_path_option(std::string& path);
Result<pack::Inspection> inspect_shown(Host& host, const std::string& path, bool quiet);

// FROM: a release; --key: the private key that signs one; --to: the folder that it is published in.
Option release_option(std::string& from);
Option signing_key_option(std::string& key);
Option release_folder_option(std::string& folder);

// Makes a folder, and all above it, that an option names.
Result<void> make_named_folder(const char* option, const std::string& folder);

// What these name: a recipe and the folders in it, a release, an installed package.
std::vector<std::string> files_of_recipe(const std::string& path);
std::vector<std::string> files_of_release(const std::string& from);
std::vector<std::string> files_of_package(const std::string& name);
inline constexpr const char* kDefaultRecipe = "pack.toml";
// The recipe in a file. Root does not take the default one where another user could have put it.
Result<pack::Recipe> read_recipe(Host& host, const std::string& path, bool uses_folders = true);

Option key_option(std::optional<std::string>& key);

// --to: where the package lives, else the default place of its name.
Option place_option(std::optional<std::string>& folder);

// The store of an installed package.
struct InstalledPackage {
  std::unique_ptr<Host> host = make_live_host();
  pack::Places places;
  pack::Store store() const { return pack::Store(*host, live_storage(), places.store); }
};
// `or_remembered`: also one that was uninstalled, if the store still knows its key and version.
Result<InstalledPackage> open_here(const std::optional<std::string>& name,
                                   const std::optional<std::string>& folder,
                                   bool or_remembered = false);

inline constexpr double kUsualWaitSeconds =
    std::chrono::duration<double>(pack::kUsualLockWait).count();
// --wait: for the lock of a store, which another gpuready may hold.
Option wait_option(double& seconds);
// Says on standard error that it waits.
pack::LockWait lock_wait(double seconds, bool quiet);

// --zstd-level: of zstd, for archives.
Option level_option(unsigned& level);

Option password_option(std::optional<std::string>& file);
// Asks for its password where it has one and no file is given.
Result<pack::SecretKey> read_secret_key(Host& host, const std::string& path,
                                        const std::optional<std::string>& password_file);

}  // namespace gpuready::cli
