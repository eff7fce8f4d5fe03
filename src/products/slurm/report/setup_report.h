// What `slurm install` and `slurm doctor` found, as documents and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "slurm/setup.h"

namespace gpuready {

struct SlurmInstallReport {
  std::string conf;  // slurm.conf
  std::vector<slurm::SetupFile> files = {};
  std::vector<std::string> lines = {};
  std::vector<slurm::Taken> taken = {};
  std::vector<std::string> hints = {};
  bool written = false;
};

struct SlurmDoctorReport {
  std::string node;
  std::vector<std::string> files = {};  // that were read
  std::vector<Finding> findings = {};
  std::vector<std::string> unseen = {};
  std::optional<std::string> bus_unread = {};
  std::size_t gpus = 0;
};

std::string conclusion(const SlurmInstallReport& report);
std::string conclusion(const SlurmDoctorReport& report);
std::string render_terminal(const SlurmInstallReport& report, const TerminalStyle& style);
std::string render_terminal(const SlurmDoctorReport& report, const TerminalStyle& style);

}  // namespace gpuready
