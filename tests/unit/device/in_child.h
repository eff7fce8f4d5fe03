// Runs code in a forked child, where a fake driver may be loaded afresh, may crash and is gone
// after.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gpuready {

inline std::string fake_cuda_path(const std::string& name = "fake_cuda") {
  return std::string(GPUREADY_BINARY_DIR) + "/fake_drivers/" + name + ".so";
}

// What `work` returned; "signal N" when the child died. The variables are set in the child alone.
inline std::string in_child_with(const std::vector<std::pair<std::string, std::string>>& variables,
                                 const std::function<std::string()>& work) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe_ends[0]);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    const std::string text = work();
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t count = ::write(pipe_ends[1], text.data() + at, text.size() - at);
      if (count <= 0) break;
      at += static_cast<std::size_t>(count);
    }
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return text;
}

inline std::string in_child(const std::string& fake_cuda, const std::function<std::string()>& work,
                            const std::string& library = "fake_cuda") {
  return in_child_with({{"FAKE_CUDA", fake_cuda}, {"GPUREADY_LIBCUDA", fake_cuda_path(library)}},
                       work);
}

inline constexpr const char* kFakeGpu0 = "GPU-fa4e0000-0000-0000-0000-000000000000";
inline constexpr const char* kFakeGpu1 = "GPU-fa4e0000-0000-0000-0000-000000000001";

}  // namespace gpuready
