#include "jobs/program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "jobs/trusted_path.h"

namespace gpuready {
namespace {

constexpr const char* kDefaultPath = "/bin:/usr/bin";  // as execvp(3)

// 0, or why it cannot be run.
int cannot_run(const std::string& path) {
  struct stat facts{};
  if (stat(path.c_str(), &facts) != 0) return errno;
  if (!S_ISREG(facts.st_mode)) return EACCES;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  const std::string what = "cannot start " + name;
  if (name.empty() || name.contains('\0')) return fail_errno(what, ENOENT);
  if (name.contains('/')) {
    if (const int error = cannot_run(name); error != 0) return fail_errno(what, error);
    return name;
  }
  const char* path = std::getenv("PATH");
  int error = ENOENT;
  std::optional<Error> refused;
  for (const auto folder : split(path != nullptr ? path : kDefaultPath, ":")) {
    const std::string found = std::string(folder) + "/" + name;
    const int why = cannot_run(found);
    if (why == EACCES) error = EACCES;
    if (why != 0) continue;
    const auto ours = geteuid() == 0 ? check_only_ours(found) : Result<void>();
    if (ours) return found;
    if (!refused) refused = ours.error();
  }
  if (!refused) return fail_errno(what, error);
  return fail(ErrorKind::no_permission,
              fmt::format("{}: {}, so root does not run it; give the program's path, or a PATH of "
                          "folders that only root may write",
                          what, refused->message));
}

std::string only_our_folders(const std::string& path) {
  if (geteuid() != 0) return path;
  std::vector<std::string> kept;
  for (const auto folder : split(path, ":"))
    if (folder.starts_with('/') && check_only_ours(std::string(folder))) kept.emplace_back(folder);
  return join(kept, ":");
}

}  // namespace gpuready
