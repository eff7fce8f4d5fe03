#include "slurm/scontrol.h"

#include <fmt/format.h>

#include "base/text.h"
#include "jobs/trusted_path.h"

namespace gpuready::slurm {
namespace {

constexpr const char* kFolders[] = {"/usr/bin", "/usr/local/bin", "/opt/slurm/bin",
                                    "/usr/local/slurm/bin", "/cm/shared/apps/slurm/current/bin"};

// It becomes root's, and whoever changes it becomes root.
Result<void> check(Host& host, const std::string& path) {
  const auto status = TRY(host.status(path));
  if (status.kind != FileKind::regular || (status.mode & 0111) == 0)
    return fail(ErrorKind::not_found, path + " is not a program");
  return host.kind() == HostKind::live ? check_only_ours(path) : Result<void>();
}

// The folders beside those of the slurmd that runs: sbin/../bin.
std::vector<std::string> beside_slurmd(Host& host) {
  std::vector<std::string> paths;
  for (const std::string& pid : host.list_directory("/proc").value_or(std::vector<std::string>{})) {
    if (!parse_uint(pid) || host.read_text("/proc/" + pid + "/comm") != "slurmd") continue;
    const auto program = host.read_link("/proc/" + pid + "/exe");
    if (!program) continue;
    const std::string folder(*program, 0, program->rfind('/'));
    paths.push_back(folder.substr(0, folder.rfind('/')) + "/bin/scontrol");
    paths.push_back(folder + "/scontrol");
  }
  return paths;
}

Result<std::string> ask(Host& host, const Slurm& slurm, std::vector<std::string> args) {
  Job job;
  job.program = slurm.scontrol;
  job.args = std::move(args);
  // No variable of a job may change what is asked.
  job.keeps = [](std::string_view name) { return name == "SLURM_CONF"; };
  if (slurm.conf) job.env.emplace_back("SLURM_CONF", *slurm.conf);
  job.env.emplace_back("LC_ALL", "C");
  job.limits.time = slurm.patience;
  job.time_to_stop = std::chrono::milliseconds(200);
  const auto outcome = TRY(host.run(job));
  const std::string what = fmt::format("{} {}", slurm.scontrol, job.args.front());
  if (outcome.end == JobEnd::timed_out || outcome.end == JobEnd::hung)
    return fail(ErrorKind::timed_out,
                fmt::format("{}: no answer within {} s: is slurmctld running and reachable?", what,
                            std::chrono::duration<double>(slurm.patience).count()));
  if (outcome.end != JobEnd::exited || outcome.exit_code != 0) {
    const auto told = lines(trim(outcome.err.empty() ? outcome.out : outcome.err));
    return fail(ErrorKind::io, fmt::format("{} failed: {}", what,
                                           told.empty() ? std::string(to_string(outcome.end))
                                                        : printable(told.back())));
  }
  return outcome.out;
}

}  // namespace

Result<std::string> find_scontrol(Host& host) {
  std::vector<std::string> paths;
  for (const char* folder : kFolders) paths.push_back(std::string(folder) + "/scontrol");
  for (auto& path : beside_slurmd(host)) paths.push_back(std::move(path));
  std::optional<Error> refused;
  for (const std::string& path : paths) {
    const auto checked = check(host, path);
    if (checked) return path;
    if (checked.error().kind == ErrorKind::no_permission && !refused) refused = checked.error();
  }
  if (refused) return std::unexpected(*refused);
  return fail(ErrorKind::not_found,
              "scontrol is neither in a usual folder nor beside a running slurmd: name it by "
              "--scontrol");
}

Result<Node> show_node(Host& host, const Slurm& slurm, const std::string& name) {
  return parse_node(TRY(ask(host, slurm, {"show", "node", name})), name);
}

Result<void> drain_node(Host& host, const Slurm& slurm, const std::string& name,
                        const std::string& reason) {
  TRY(ask(host, slurm, {"update", "NodeName=" + name, "State=DRAIN", "Reason=" + reason}));
  return {};
}

Result<void> resume_node(Host& host, const Slurm& slurm, const std::string& name) {
  TRY(ask(host, slurm, {"update", "NodeName=" + name, "State=RESUME"}));
  return {};
}

}  // namespace gpuready::slurm
