// A node as Slurm and /proc show it, for tests of `slurm`. Its scontrol notes what it is asked.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "doubles/memory_storage.h"
#include "host/atomic_file.h"
#include "host/recording/replay.h"

namespace gpuready::slurm {

// A machine with nothing but what `recording` lists.
inline std::unique_ptr<Host> scripted(Recording recording = {}) {
  recording.closed_world = true;
  return make_closed_world_host(std::move(recording));
}

// How a child ended, and what it wrote.
inline JobOutcome ended(JobEnd end, int exit_code = 0, std::string out = "", std::string err = "") {
  JobOutcome outcome;
  outcome.end = end, outcome.exit_code = exit_code;
  outcome.out = std::move(out), outcome.err = std::move(err);
  return outcome;
}

class FakeSlurm final : public Host {
 public:
  static constexpr const char* kRecord = "/kept/slurm-n1.json";

  FakeSlurm() { (void)disk.make_folder("/kept", 0755); }

  std::string states = "IDLE", reason = "(null)";
  std::string broken;               // the state to which an update fails: "DRAIN"
  std::vector<std::string> asked;   // command lines
  std::vector<std::string> record;  // what was kept when each was asked
  std::vector<Job> jobs;
  MemoryStorage disk;
  Recording machine;

  HostKind kind() const override { return HostKind::scripted; }
  Result<JobOutcome> run(const Job& job) override {
    jobs.push_back(job);
    asked.push_back(job.program + " " + join(job.args, " "));
    record.push_back(disk.content(kRecord).value_or("none"));
    if (job.args.at(0) == "show")
      return ended(JobEnd::exited, 0,
                   "NodeName=n1 X=1\n   State=" + states + " Y=1\n   Reason=" + reason +
                       " [root@2026-11-26T04:01:02]\n");
    const std::string state = job.args.at(2).substr(std::string_view("State=").size());
    if (state == broken) return ended(JobEnd::exited, 1, "", "slurm_update error\n");
    return JobOutcome{};
  }
  Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) override {
    if (const auto kept = disk.content(path)) return *kept;
    return scripted(machine)->read_file(path, limit_bytes);
  }
  Result<std::string> read_link(const std::string& path) override {
    return scripted(machine)->read_link(path);
  }
  Result<std::string> real_path(const std::string& path) override { return path; }
  Result<std::vector<std::string>> list_directory(const std::string& path) override {
    return scripted(machine)->list_directory(path);
  }
  Result<FileStatus> status(const std::string& path) override {
    return scripted(machine)->status(path);
  }
  Result<void> may_open(const std::string&) override { return {}; }
  Result<FileSystemSpace> space(const std::string&) override { return FileSystemSpace{}; }
  std::optional<std::string> environment(const std::string& name) override {
    return scripted(machine)->environment(name);
  }
  Result<SystemIdentity> identity() override { return scripted(machine)->identity(); }
  Result<std::string> kernel_log() override { return std::string(); }
  std::vector<ProbeDocument> probe(const std::vector<ProbeRequest>&) override { return {}; }
};

}  // namespace gpuready::slurm
