#include "bench/run/remote.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>

#include "base/characters.h"
#include "base/text.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kMostProgramBytes = 1u << 30, kMostDocumentBytes = 64u << 20;
constexpr std::size_t kMostAnswerBytes = 64u << 10;
// In the other machine's folder for temporary files, and six letters of mktemp's after it.
constexpr std::string_view kFolder = "/gpuready-bench.";
constexpr std::size_t kLetters = 6;

// A path as mktemp makes it there. What is removed in the end follows from it.
bool is_new_folder(std::string_view path) {
  return path.size() > kFolder.size() + kLetters && path.front() == '/' &&
         path.substr(0, path.size() - kLetters).ends_with(kFolder) &&
         std::ranges::all_of(path.substr(path.size() - kLetters), is_letter_or_digit) &&
         !path.contains("/../");
}

// `command` is one for the shell there.
Job ssh_job(const std::string& target, std::string command, JobLimits limits) {
  Job job;
  job.program = "ssh";
  job.args = {
      "-T", "-o",   "BatchMode=yes",   "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15",
      "--", target, std::move(command)};
  job.limits = limits;
  job.output_limit_bytes = kMostAnswerBytes;
  return job;
}

std::string last_line(const std::string& text) {
  const auto all = lines(trim(text));
  return all.empty() ? "it said nothing" : printable(all.back().substr(0, 500));
}

class Remote {
 public:
  Remote(const RemoteRun& run, const JobWatch& watch) : run_(run), watch_(watch) {}
  ~Remote() {
    if (!folder_.empty())  // also after an interrupt
      (void)run_job(ssh_job(run_.target, "rm -rf " + shell_quoted(folder_), {}));
  }

  // What the command wrote, where it ended with 0.
  Result<std::string> ask(const std::string& what, Job job) {
    const auto outcome = TRY(run_job(job, watch_));
    if (outcome.end == JobEnd::cancelled) return fail(ErrorKind::cancelled, what + ": interrupted");
    if (outcome.truncated)
      return fail(ErrorKind::io, fmt::format("{}: {} answered with more than {} bytes", what,
                                             run_.target, job.output_limit_bytes));
    if (outcome.end != JobEnd::exited || outcome.exit_code != 0)
      return fail(ErrorKind::io, fmt::format("{}: {} on {}: {}", what,
                                             outcome.end == JobEnd::exited
                                                 ? fmt::format("exit code {}", outcome.exit_code)
                                                 : std::string(to_string(outcome.end)),
                                             run_.target, last_line(outcome.err)));
    return outcome.out;
  }
  Result<std::string> ask(const std::string& what, std::string command) {
    return ask(what, ssh_job(run_.target, std::move(command), {}));
  }

  Result<void> same_kind_of_machine() {
    utsname ours{};
    uname(&ours);
    const std::string wanted = fmt::format("{} {}", ours.sysname, ours.machine);
    const std::string text = TRY(ask("uname", "uname -sm"));
    if (const auto all = lines(trim(text)); all.size() > 1)
      return fail(ErrorKind::io,
                  fmt::format("{} prints text at login on standard output ({}); disable that",
                              run_.target, printable(all[0].substr(0, 100))));
    const std::string theirs = last_line(text);
    if (theirs != wanted)
      return fail(ErrorKind::unsupported,
                  fmt::format("{} is {}, and this program is for {}: install gpuready there and "
                              "run bench there",
                              run_.target, theirs, wanted));
    return {};
  }

  Result<void> carry(std::string program) {
    Job job = ssh_job(
        run_.target,
        fmt::format(
            "umask 077; d=$(mktemp -d \"${{TMPDIR:-/tmp}}{}XXXXXX\") && {{ cat > \"$d/gpuready\" "
            "&& [ $(wc -c < \"$d/gpuready\") -eq {} ] && chmod 700 \"$d/gpuready\" && echo \"$d\" "
            "|| {{ rm -rf \"$d\"; exit 1; }}; }}",
            kFolder, program.size()),
        {.time = std::chrono::minutes(30)});
    job.input = std::move(program);
    const std::string folder = last_line(TRY(ask("copying this program", std::move(job))));
    if (!is_new_folder(folder))
      return fail(ErrorKind::io, fmt::format("{} answered {} to a request for a folder: the text "
                                             "that its shell prints at login may be the cause",
                                             run_.target, folder));
    folder_ = folder;
    return {};
  }

  // A run that is cut off there would go on: the shell ends it when no one listens any more.
  Result<std::string> run() {
    std::string command = "cd " + shell_quoted(folder_) + " && {";
    for (const auto& [name, value] : run_.variables)
      command += " export " + name + "=" + shell_quoted(value) + ";";
    command += " ./gpuready bench run --quiet --json=run.json";
    for (const std::string& arg : run_.args) command += " " + shell_quoted(arg);
    command +=
        " & p=$!; trap 'kill $p' HUP TERM PIPE; while kill -0 $p 2>/dev/null; do echo . || "
        "{ kill $p; wait $p; cd /; rm -rf " +
        shell_quoted(folder_) + "; exit 1; }; sleep 1; done; wait $p; exit 0; }";
    const auto outcome = TRY(run_job(ssh_job(run_.target, command, run_.limits), watch_));
    if (outcome.end == JobEnd::cancelled)
      return fail(ErrorKind::cancelled, "the run was interrupted");
    Job job = ssh_job(run_.target, "cat " + shell_quoted(folder_ + "/run.json"), {});
    job.output_limit_bytes = kMostDocumentBytes;
    const auto doc = ask("reading the run", std::move(job));
    if (!doc)
      return fail(ErrorKind::io, fmt::format("bench run on {} made no document: {}", run_.target,
                                             last_line(outcome.err)));
    return *doc;
  }

 private:
  const RemoteRun& run_;
  const JobWatch& watch_;
  std::string folder_;
};

}  // namespace

Result<std::string> run_remotely(const RemoteRun& run, Host& host, const JobWatch& watch) {
  if (run.target.empty() || run.target.front() == '-' ||
      run.target.find_first_of(" \t\r\n'\"$`\\;&|<>()") != std::string::npos)
    return fail(ErrorKind::bad_input,
                fmt::format("--remote {}: expected USER@HOST", printable(run.target)));
  Remote remote(run, watch);
  TRY(remote.same_kind_of_machine());
  TRY(remote.carry(TRY(host.read_file(run.binary, kMostProgramBytes))));
  return remote.run();
}

}  // namespace gpuready::bench
