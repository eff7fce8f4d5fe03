// Kept results for tests of `slurm`.
#pragma once

#include <cstdint>
#include <string>

#include "report/kept_results.h"

namespace gpuready::slurm {

inline KeptResult kept(const std::string& subject, Standing standing, Level level = Level::quick,
                       std::int64_t tested_unix_seconds = 0) {
  KeptResult result;
  result.subject = subject, result.standing = standing, result.level = level;
  result.tested_unix_seconds = tested_unix_seconds, result.reason = "why";
  return result;
}
inline StatusReport good_since(std::int64_t unix_seconds, Level level = Level::quick) {
  StatusReport status;
  status.standing = Standing::good;
  status.results = {kept("GPU 3", Standing::good, level, unix_seconds)};
  return status;
}

}  // namespace gpuready::slurm
