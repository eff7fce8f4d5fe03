// Makes releases for tests: variants from texts, published into a folder of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/clock.h"
#include "host/host.h"
#include "pack/release/build.h"
#include "pack/release/publish.h"
#include "pack/release/scan.h"
#include "pack/store/install.h"

namespace gpuready::pack {

inline std::string error_text(const auto& result) { return result ? "" : result.error().message; }

inline std::string read_text(const std::string& path) {
  std::ostringstream text;  // in pieces: byte by byte it was half of a test's time under sanitizers
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}
inline void write_text(const std::string& path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Text that compresses badly.
inline std::string noise(std::size_t bytes, unsigned seed) {
  std::string text;
  for (std::uint32_t value = seed * 2654435761u + 1; text.size() < bytes;) {
    value = value * 1664525u + 1013904223u;
    text += static_cast<char>(value >> 24);
  }
  return text;
}

struct Workshop {
  Workshop() { EXPECT_NE(::mkdtemp(root.data()), nullptr); }
  ~Workshop() { std::filesystem::remove_all(root); }
  Workshop(const Workshop&) = delete;

  using Files = std::map<std::string, std::string>;  // a text that begins with "-> " is a link
  Result<Published> publish(const std::string& version,
                            const std::map<std::string, Files>& variants,
                            const std::string& to = "release",
                            std::uint64_t part_bytes = 2'000'000'000, unsigned expires_days = 365) {
    Recipe recipe;
    recipe.name = "libs";
    recipe.version = version;
    recipe.expires_days = expires_days;
    recipe.models = models;
    std::filesystem::create_directories(root + "/built");
    std::filesystem::create_directories(root + "/" + to);
    for (const auto& [name, files] : variants) {
      VariantRecipe variant;
      variant.name = name;
      variant.folder = root + "/source/" + name;
      if (const auto declared = architectures.find(name); declared != architectures.end())
        variant.architectures = declared->second;
      if (const auto named = probes.find(name); named != probes.end())
        variant.probes = named->second;
      if (const auto named = floors.find(name); named != floors.end())
        variant.floors = named->second;
      std::filesystem::remove_all(variant.folder);
      for (const auto& [path, text] : files) {
        if (text.starts_with("-> ")) {
          std::filesystem::create_directories(
              std::filesystem::path(variant.folder + "/" + path).parent_path());
          std::filesystem::create_symlink(text.substr(3), variant.folder + "/" + path);
        } else {
          write_text(variant.folder + "/" + path, text);
        }
      }
      BuildOptions options;
      options.out_folder = root + "/built";
      options.level = 1;
      options.scan = [](const auto&) { return Inspection(); };
      if (!variant.architectures.empty()) options.scan = scan_entries;
      const auto built = build_variant(*host, recipe, variant, options);
      if (!built) return std::unexpected(built.error());
      recipe.variants.push_back(variant);
    }
    PublishOptions options;
    options.built_folder = root + "/built";
    options.out_folder = root + "/" + to;
    options.part_bytes = part_bytes;
    options.now_unix_seconds = host->identity()->unix_seconds;
    options.chain = chain;
    if (publish_storage != nullptr) options.storage = publish_storage;
    return pack::publish(*host, recipe, key, options);
  }

  InstallOptions options() const {
    InstallOptions install;
    install.places = {root + "/store", root + "/config/gpu-package-info.json"};
    return install;
  }
  InstallOutcome install(const std::string& variant, const InstallOptions& how,
                         const std::string& from = "release") {
    InstallTarget target;
    target.variant = variant;
    return install(target, how, from);
  }
  InstallOutcome install(const InstallTarget& target, const InstallOptions& how,
                         const std::string& from = "release") {
    const auto origin = open_origin(*host, from.find("://") == from.npos ? root + "/" + from : from,
                                    origin_options);
    if (!origin) return ended(InstallEnd::failed, origin.error());
    const auto release = read_release(*host, **origin, trusted, how.places.store);
    if (!release) return ended(InstallEnd::refused, release.error());
    return pack::install(*host, **origin, *release, target, how);
  }

  static InstallOutcome ended(InstallEnd end, const Error& error) {
    InstallOutcome outcome;
    outcome.end = end;
    outcome.error = error;
    return outcome;
  }

  // What programs see.
  std::string installed(const std::string& path) const {
    return read_text(root + "/store/current/" + path);
  }

  // In memory where there is such a place: every file is synced, which takes a disk its time.
  std::string root =
      (std::filesystem::is_directory("/dev/shm") ? std::string("/dev/shm") : GPUREADY_BINARY_DIR) +
      "/gpuready-workshopXXXXXX";
  std::unique_ptr<Host> host = make_live_host();
  SecretKey key = make_secret_key().value();
  std::optional<PublicKey> trusted = key.public_key();
  OriginOptions origin_options = {};
  std::optional<KeyChain> chain = {};
  Storage* publish_storage = nullptr;
  std::map<std::string, std::vector<std::string>> architectures = {};  // of variants for GPUs
  std::map<std::string, std::vector<Probe>> probes = {};
  std::map<std::string, Floors> floors = {};
  std::vector<Model> models = {};
};

}  // namespace gpuready::pack
