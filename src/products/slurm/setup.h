// What `slurm install` writes: three scripts, and lines for slurm.conf.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/storage.h"
#include "slurm/conf.h"

namespace gpuready::slurm {

struct Hook {
  std::string_view name;     // "health": of the subcommand, and of its script
  std::string_view setting;  // "HealthCheckProgram"
};
inline constexpr Hook kHooks[] = {
    {"health", "HealthCheckProgram"}, {"prolog", "Prolog"}, {"epilog", "Epilog"}};

struct SetupFile {
  std::string path, content;
};
// A hook that slurm.conf gives to another program.
struct Taken {
  std::string setting, program, place, how;
};
struct Setup {
  std::vector<SetupFile> scripts;
  std::vector<std::string> lines;  // for slurm.conf
  std::vector<Taken> taken;
  std::vector<std::string> notes;
};
struct SetupChoice {
  std::string gpuready;                                 // its path
  std::string folder;                                   // of the scripts
  std::optional<std::string> scontrol = {}, conf = {};  // named in the scripts
  int interval_s = 300;
};
// Whether Slurm reads this as the path of a hook: without blanks, quotes, comments and patterns.
bool can_be_value(std::string_view path);
Result<void> check_hook_folder(const std::string& folder);  // an absolute one of these
Setup plan_setup(const Conf& slurm_conf, const SetupChoice& choice);

// slurm.conf with the lines at its end.
std::string with_lines(std::string_view slurm_conf, const std::vector<std::string>& lines);
// The scripts before slurm.conf, which names them; its text was read before.
Result<void> write_setup(Storage& storage, const std::string& folder, const Setup& setup,
                         const std::string& slurm_conf, std::string_view text);

}  // namespace gpuready::slurm
