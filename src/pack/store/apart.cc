#include "pack/store/apart.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "host/folders.h"
#include "jobs/helper.h"
#include "jobs/privileges.h"
#include "jobs/supervise.h"

namespace gpuready::pack {
namespace {

// Where the user's own variables lead into his home.
constexpr const char* kOfTheUser[] = {"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                                      "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "MAIL"};
constexpr const char* kNobody = "nobody";
// The home of nobody where none can be made, as Debian has it.
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

}  // namespace

Job job_apart(std::vector<std::string> args) {
  Job job = helper_job(std::move(args));
  job.supervises = true;
  job.env.emplace_back("GPUREADY_OCI_TOKEN", std::nullopt);  // it is the registry's to know
  return job;
}

int run_apart(const std::function<int(const Result<void>& ready)>& body) {
  if (geteuid() != 0) return supervise([&] { return body({}); });
  const auto home = new_home();
  return supervise(
      [&] {
        const auto dropped = drop_privileges();
        if (dropped) move_into(home);
        return body(dropped);
      },
      // As the user who filled it: he cannot lead us to what is not his.
      [&] {
        if (drop_privileges()) (void)remove_tree(*make_live_host(), live_storage(), home);
      });
}

}  // namespace gpuready::pack
