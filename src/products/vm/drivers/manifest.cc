#include "vm/drivers/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "vm/drivers/driver_files.h"

namespace gpuready::vm {
namespace {

constexpr std::size_t kVersionLine = 1, kFirstFile = 8;

}  // namespace

Result<InstallerManifest> parse_installer_manifest(std::string_view text, std::string_view name) {
  const auto all = lines(text);
  if (all.size() <= kFirstFile || !is_driver_version(trim(all[kVersionLine])))
    return fail(ErrorKind::bad_input, fmt::format("{}: not the list of an installer", name));
  InstallerManifest manifest{std::string(trim(all[kVersionLine])), {}};
  for (std::size_t at = kFirstFile; at < all.size() && !trim(all[at]).empty(); ++at) {
    const auto words = split(all[at], " ");
    if (words.size() < 3 || !parse_uint(words[1], 8))
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: line {} does not name a file, its mode and type", name, at + 1));
    const bool link = words[2].ends_with("SYMLINK") || words[2].ends_with("NEWSYM");
    if (!link && std::find(words.begin(), words.end(), "COMPAT32") == words.end())
      manifest.files.push_back(printable(words[0]));
  }
  return manifest;
}

}  // namespace gpuready::vm
