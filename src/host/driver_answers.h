// What drivers answered when their files were read and opened in a child (`gpuready __probe
// files`).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/host.h"

namespace gpuready {

class DriverAnswers {
 public:
  // A child has `timeout`, and a little for each question.
  explicit DriverAnswers(std::chrono::milliseconds timeout = std::chrono::seconds(3))
      : timeout_(timeout) {}

  // Reads all of them. Without a helper program nothing is known after, and the caller reads for
  // itself.
  void ask(const std::vector<std::string>& paths);
  // nullptr: not asked.
  const Result<std::string>* find(const std::string& path) const;

  // The key of a question in the probe's document.
  static std::string key(const std::string& path) { return "read(" + path + ")"; }

 private:
  std::chrono::milliseconds timeout_;
  std::map<std::string, Result<std::string>> answers_;
};

}  // namespace gpuready
