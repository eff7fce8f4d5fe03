#include "jobs/replace.h"

#include <unistd.h>

#include <cerrno>

namespace gpuready {

Error replace_program(const std::string& path, const std::vector<std::string>& args) {
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const auto& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  ::execve(path.c_str(), argv.data(), environ);
  return fail_errno("cannot start " + path, errno).error();
}

}  // namespace gpuready
