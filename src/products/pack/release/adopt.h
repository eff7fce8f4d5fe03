// Packages that exist as archives (.tar.gz, .tar.xz, .tar.zst, .zip), made into variants of a
// release: unpacked, scanned, and packed again so that single files can be fetched.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/host.h"
#include "host/storage.h"
#include "pack/release/build.h"

namespace gpuready::pack {

struct ExistingPackage {
  std::string variant, path;
};
// "legacy=some/file.tar.gz", or a file whose name ends with the variant: "cuda-libs-legacy.tar.gz".
Result<ExistingPackage> parse_existing_package(std::string_view text);
// One for each variant, and for all that the recipe, which is called `recipe_name`, has.
Result<std::vector<ExistingPackage>> parse_existing_packages(const std::vector<std::string>& texts,
                                                             const Recipe& recipe,
                                                             const std::string& recipe_name);

// What options say of a release, in place of a recipe or in addition to it.
struct AdoptedRelease {
  std::optional<std::string> name, version;
  std::vector<std::string> system_libraries;
  std::vector<std::string> waivers;  // for parse_waiver()
};
Result<Recipe> adopted_recipe(const std::optional<Recipe>& recipe, const AdoptedRelease& named);

// Writes the files and links of an archive into a folder that does not exist yet. Refused, and what
// was written stays: a name or link that leads out of the folder or through a link, a name that is
// there twice, devices, checksums that do not fit, an archive that was made to unpack to far more
// than it is.
Result<void> unpack_archive(Host& host, const std::string& path, const std::string& folder,
                            Storage& storage = live_storage());

struct AdoptOptions {
  // Its own. What was unpacked stays there until the release is published: a refusal costs no work.
  std::string work_folder;
  std::vector<std::string> exclude;
  BuildOptions build;  // its folders and commands are not looked at
};
// The variants, built into `work_folder`. Those that `recipe` names are built as it says; of
// others, which it gets, the architectures are what the scan finds. `publish` is called before the
// folder is removed.
Result<void> adopt(Host& host, Recipe& recipe, const std::vector<ExistingPackage>& packages,
                   const AdoptOptions& options,
                   const std::function<Result<void>(const std::string& built_folder)>& publish);

}  // namespace gpuready::pack
