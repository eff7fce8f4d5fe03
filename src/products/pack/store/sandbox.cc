#include "pack/store/sandbox.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <random>

#include "base/paths.h"
#include "base/text.h"
#include "host/folders.h"
#include "jobs/helper.h"
#include "jobs/landlock.h"
#include "jobs/privileges.h"
#include "jobs/supervise.h"
#include "jobs/variables.h"

namespace gpuready::pack {
namespace {

// Where the user's own variables lead into his home.
constexpr const char* kOfTheUser[] = {"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                                      "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "MAIL"};
constexpr const char* kNobody = "nobody";
// The home of `nobody` where none can be made, as Debian has it.
constexpr const char* kNoHome = "/nonexistent";

std::string new_home() {
  std::random_device random;
  return fmt::format("/tmp/gpuready-home-{:08x}{:08x}", random(), random());
}

void move_into(const std::string& home) {
  // A name that is taken is somebody else's.
  const bool made = live_storage().make_folder(home, 0700).has_value();
  const char* folder = made ? home.c_str() : kNoHome;
  setenv("HOME", folder, 1);
  if (made) setenv("TMPDIR", folder, 1);
  setenv("USER", kNobody, 1);
  setenv("LOGNAME", kNobody, 1);
  for (const char* name : kOfTheUser) unsetenv(name);
}

// Of CUDA's own, all: which GPU is seen, how code is loaded.
bool is_given(std::string_view name) {
  return is_basic_variable(name) || name.starts_with("CUDA_");
}

// After rights were dropped.
std::string reachable_name_of_current_folder() {
  char name[PATH_MAX];
  const bool reachable = getcwd(name, sizeof name) != nullptr && access(name, R_OK | X_OK) == 0;
  return reachable ? name : ".";
}

// `folders` as sandbox_job() wrote them.
void find_libraries_in(const std::string& package, std::string_view folders) {
  std::vector<std::string> all;
  for (const auto folder : split(folders, ":")) all.push_back(package + "/" + std::string(folder));
  if (const char* before = getenv("LD_LIBRARY_PATH"); before != nullptr && *before != 0)
    all.emplace_back(before);
  setenv("LD_LIBRARY_PATH", join(all, ":").c_str(), 1);
}

// Devices, what MPS has, and its own home are all that a load test writes to, as in a container
// whose root is read-only. Of an ordinary user's home it reads the package and where libraries are.
void confine_load_test(const std::string& package, const std::string& own_home) {
  Confinement allowed;
  const char* mps = getenv("CUDA_MPS_PIPE_DIRECTORY");
  allowed.writable = {"/dev", "/proc", mps != nullptr ? mps : "/tmp/nvidia-mps"};
  if (!own_home.empty()) allowed.own.push_back(own_home);
  if (const char* home = getenv("HOME"); own_home.empty() && home != nullptr) {
    allowed.hidden = home;
    allowed.readable = {package, "/proc/self/exe"};
    if (const char* cuda = getenv("GPUREADY_LIBCUDA"); cuda != nullptr && folder_of(cuda) != "/")
      allowed.readable.push_back(folder_of(cuda));
    if (const char* libraries = getenv("LD_LIBRARY_PATH"))
      for (const auto folder : split(libraries, ":")) allowed.readable.emplace_back(folder);
  }
  confine(allowed);
}

}  // namespace

std::string PackageFolder::inside(const std::string& path) const {
  if (path == folder) return ".";
  return std::string(after_prefix(path, folder + "/").value_or(path));
}

Job sandbox_job(const std::string& command, const PackageFolder& package,
                std::vector<std::string> args) {
  std::vector<std::string> libraries;
  for (const auto& folder : package.library_folders) libraries.push_back(package.inside(folder));
  args.insert(args.begin(), {command, package.folder, join(libraries, ":")});
  Job job = helper_job(std::move(args));
  job.supervises = true;
  job.keeps = is_given;
  return job;
}

int run_in_sandbox(std::span<const std::string> args, SandboxNetwork network,
                   const std::function<int(const SandboxChild&)>& body) {
  if (args.size() < 2) return 2;
  const bool root = geteuid() == 0;
  const auto home = root ? new_home() : std::string();
  return supervise(
      [&] {
        SandboxChild child{{}, ".", args.subspan(2)};
        if (chdir(args[0].c_str()) != 0) child.ready = fail_errno(args[0], errno);
        if (root && network == SandboxNetwork::offline) (void)unshare(CLONE_NEWNET);
        if (child.ready) child.ready = drop_privileges();
        if (child.ready) {
          if (root) move_into(home);
          child.folder = reachable_name_of_current_folder();
          find_libraries_in(child.folder, args[1]);
          if (network == SandboxNetwork::offline) confine_load_test(child.folder, home);
        }
        return body(child);
      },
      // As the user who filled it: he cannot lead us to what is not his.
      [&] {
        if (root && drop_privileges()) (void)remove_tree(*make_live_host(), live_storage(), home);
      });
}

}  // namespace gpuready::pack
