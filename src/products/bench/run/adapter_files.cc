#include "bench/run/adapter_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "bench/run/adapters.h"
#include "host/atomic_file.h"
#include "host/folders.h"
#include "jobs/trusted_path.h"

namespace gpuready::bench {
namespace {

std::string name_of_all() {
  std::string all;
  for (const AdapterFile& file : adapter_files())
    all += fmt::format("{}\n{}\n", file.name, file.text.size()) + std::string(file.text);
  const Sha256 sum = sha256(all);
  std::string name = "adapters-";
  for (int i = 0; i < 8; ++i) name += fmt::format("{:02x}", sum[static_cast<std::size_t>(i)]);
  return name;
}

// Where no one else has put anything, and no one else can; an error says who could.
Result<void> make_ours(const std::string& path, Storage& storage) {
  const auto made = storage.make_folder(path, 0700);
  if (!made && made.error().code != EEXIST) return made;
  return check_only_ours(path);
}

Result<void> check_what_exists(std::string path, Host& host) {
  while (!host.exists(path) && path != "/" && path != ".") path = folder_of(path);
  return check_only_ours(path);
}

// Beside the results; and where another user could change these, the folders of programs' own
// files.
std::vector<std::string> places(const std::string& results, Host& host) {
  std::vector<std::string> found{results};
  const auto add = [&](const char* variable, const std::string& below) {
    const auto folder = host.environment(variable);
    if (folder && folder->starts_with('/')) found.push_back(*folder + below);
  };
  add("XDG_CACHE_HOME", "/gpuready");
  add("HOME", "/.cache/gpuready");
  if (geteuid() == 0) found.emplace_back("/var/cache/gpuready");
  return found;
}

}  // namespace

Result<std::string> place_adapters(const std::string& results, Host& host, Storage& storage) {
  std::optional<Error> refused;
  for (const std::string& folder : places(results, host)) {
    if (const auto ours = check_what_exists(folder, host); !ours) {
      if (!refused) refused = ours.error();
      continue;
    }
    TRY(make_folders(folder, storage, folder == results ? 0777 : 0700));
    const std::string place = folder + "/" + name_of_all();
    if (const auto ours = make_ours(place, storage); !ours) {
      if (ours.error().kind != ErrorKind::no_permission) return std::unexpected(ours.error());
      if (!refused) refused = ours.error();
      continue;
    }
    for (const AdapterFile& file : adapter_files()) {
      const std::string path = place + "/" + file.name;
      // Also when a file of that name was changed: what runs is what the name says.
      if (const auto there = host.read_file(path); there && *there == file.text) continue;
      TRY(write_file_atomically(path, file.text, {}, storage));
    }
    return storage.real_path(place);
  }
  return fail(ErrorKind::no_permission,
              fmt::format("the adapters' scripts have no folder that only you can write: {}; name "
                          "one with --results or in XDG_CACHE_HOME",
                          refused->message));
}

Result<std::string> adapters_in(const std::string& folder, Host& host) {
  auto path = host.real_path(folder);
  if (path && host.status(*path + "/torch_eager.py")) return path;
  return fail(ErrorKind::not_found, printable(folder) +
                                        ": the adapters' scripts (torch_eager.py and others) are "
                                        "missing; omit --scripts to use this program's");
}

}  // namespace gpuready::bench
