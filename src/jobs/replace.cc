#include "jobs/replace.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "jobs/program.h"

namespace gpuready {

Error replace_program(const std::string& path, const std::vector<std::string>& args,
                      std::uint64_t data_bytes) {
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const auto& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  // Last: we ourselves may have more already, and could allocate nothing from here on.
  const rlimit limit{data_bytes, data_bytes};
  if (data_bytes > 0 && setrlimit(RLIMIT_DATA, &limit) != 0)
    return fail_errno("RLIMIT_DATA", errno).error();
  ::execve(path.c_str(), argv.data(), environ);
  return fail_errno("cannot start " + path, errno).error();
}

Error replace_by_command(std::span<const std::string> command) {
  const auto program = find_program(command[0]);
  if (!program) return program.error();
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_DFL);
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execve(program->c_str(), argv.data(), environ);
  return fail_errno("cannot start " + command[0], errno).error();
}

}  // namespace gpuready
