// From a recipe to variants: runs the build command where there is one, collects the files of the
// folder, scans what they hold, and writes the archive.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"
#include "pack/code/inspect.h"
#include "pack/release/archive.h"
#include "pack/release/recipe.h"

namespace gpuready::pack {

// The files and links of a folder that the recipe wants, by path. A link that leads out of the
// folder becomes the file that it leads to. Refused: a link that leads nowhere, devices, a library
// of the driver.
Result<std::vector<ArchiveEntry>> collect_files(Host& host, const VariantRecipe& recipe);

using Scanner = std::function<Result<Inspection>(const std::vector<ArchiveEntry>& entries)>;

struct BuildOptions {
  std::string out_folder;
  int level = 9;
  bool run_commands = true;
  bool only_check = false;  // no archive, whatever is found
  Scanner scan;
  std::function<void(const std::string& variant, const std::string& what)> progress = {};
  JobWatch watch = {};
  Storage* storage = &live_storage();
};
struct BuiltVariant {
  Variant variant;
  // Why its folder is not whole: what it needs is not there, or what is there may not be. With any,
  // it is not published.
  std::vector<std::string> gaps;
  std::vector<std::string> waived = {};  // gaps that the recipe accepts, with its reasons
};
// All that keeps it from being published: declared_beside_scanned(), and its gaps.
std::vector<std::string> problems_of(const BuiltVariant& built);
// Writes <variant>.variant.json into the folder and, if nothing keeps it from being published,
// <name>-<version>-<variant>.tar.zst, which takes long.
Result<BuiltVariant> build_variant(Host& host, const Recipe& recipe, const VariantRecipe& variant,
                                   const BuildOptions& options);

std::string archive_name(const Recipe& recipe, std::string_view variant);
Result<BuiltVariant> read_variant(Host& host, const std::string& folder, std::string_view name);

// The architectures that every file with device code loads on, as a recipe would declare them. An
// error: there is device code, and no GPU of NVIDIA's loads all files.
Result<std::vector<std::string>> architectures_of_code(const Variant& variant);

// Why a variant's code is not what its maker says: a file that does not load on a GPU that is
// declared, or an architecture that every file has code for and that is not declared. Empty: they
// agree.
std::vector<std::string> declared_beside_scanned(const Variant& variant);

}  // namespace gpuready::pack
