// What several subcommands of `gpuready pack` share.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command_line.h"
#include "host/host.h"
#include "pack/release/minisign.h"
#include "pack/release/recipe.h"
#include "pack/store/install.h"

namespace gpuready::cli {

// The recipe in a file.
Result<pack::Recipe> read_recipe(Host& host, const std::string& path);

// A public key: the file of one, or its one line of text.
Result<pack::PublicKey> read_public_key(Host& host, const std::string& text);

Option key_option(std::optional<std::string>& key);

// --to: where the package lives, else the default place of its name.
Option place_option(std::optional<std::string>& folder);
Result<pack::Places> places_of(Host& host, const std::string& name,
                               const std::optional<std::string>& folder);

// The store of an installed package.
struct InstalledPackage {
  std::unique_ptr<Host> host = make_live_host();
  pack::Places places;
  pack::Store store() const { return pack::Store(*host, live_storage(), places.store); }
};
Result<InstalledPackage> open_here(const std::optional<std::string>& name,
                                   const std::optional<std::string>& folder);

// Its current version.
struct CurrentVersion {
  pack::Installed installed;
  pack::Manifest manifest;
  std::string text;  // of the manifest
  pack::Variant variant() const { return *manifest.find(installed.variant); }
};
Result<CurrentVersion> read_current(const pack::Store& store);

Option password_option(std::optional<std::string>& file);
// Asks for its password where it has one and no file is given.
Result<pack::SecretKey> read_secret_key(Host& host, const std::string& path,
                                        const std::optional<std::string>& password_file);

}  // namespace gpuready::cli
