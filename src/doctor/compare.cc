#include "doctor/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "doctor/facts.h"

namespace gpuready::doctor {
namespace {

constexpr ChangeRow kRows[] = {
    {"gpu-lost", Severity::error, "A GPU of the baseline is gone",
     "A GPU that the baseline holds is no longer in this machine.",
     "Run gpuready doctor for the cause; reseat the GPU or cut the power and start again."},
    {"ecc-errors-increased", Severity::error, "Uncorrectable memory errors occurred",
     "The count of errors that ECC could not correct has risen; data was lost.",
     "Reset the GPU and repeat; if it recurs, have it replaced."},
    {"rows-remapped", Severity::error, "Memory rows were replaced",
     "Rows or pages of memory that showed errors were taken out of use, or wait for it.",
     "Reset the GPU, and watch whether the count goes on rising."},
    {"new-xid", Severity::error, "The driver reported an error event",
     "Xids were reported while the work ran.", "Follow the action for this Xid."},
    {"gpu-replaced", Severity::warning, "Another GPU stands at this address",
     "The GPU at this address is not the one of the baseline.",
     "If that was intended, record a new baseline."},
    {"gpu-moved", Severity::info, "The GPU has another PCI address",
     "The same GPU is found at another address, as happens when cards are added or moved.", ""},
    {"gpu-added", Severity::info, "A GPU that the baseline does not hold",
     "This GPU was not in the machine when the baseline was recorded.", ""},
    {"gpu-count-changed", Severity::error, "The number of GPUs has changed",
     "The machine has another number of GPUs than the baseline.", ""},
    {"driver-changed", Severity::info, "A driver has changed",
     "Another version than in the baseline is installed.", ""},
    {"link-reduced", Severity::warning, "The PCI Express link is narrower or slower at most",
     "The link offers less than it did in the baseline.",
     "Reseat the GPU and its riser; check the firmware's settings."},
    {"nvlinks-lost", Severity::error, "NVLinks were lost",
     "Fewer NVLinks are up than in the baseline.",
     "Reset all GPUs of the fabric together; check bridges and Fabric Manager."},
    {"ecc-mode-changed", Severity::warning, "The ECC mode has changed",
     "Memory protection is not what it was in the baseline.",
     "Set it with nvidia-smi -e 1, then reset the GPU."},
    {"memory-reduced", Severity::warning, "The GPU offers less memory",
     "The GPU's memory is smaller than in the baseline: ECC, a reservation or failed banks.", ""},
    {"corrected-errors-increased", Severity::warning, "Correctable memory errors occurred",
     "ECC corrected errors; no data was lost, and a memory cell may be failing.",
     "Watch the count; many errors are a reason for replacement."},
    {"pcie-errors-increased", Severity::warning, "PCI Express errors occurred",
     "The link repeated packets or reported errors.",
     "Reseat the GPU and its riser; check retimers and signal quality."},
    {"nvlink-errors-increased", Severity::warning, "NVLink errors occurred",
     "NVLinks repeated packets, retrained or found checksum errors.",
     "Check the bridge or board; watch whether the count goes on rising."},
};

constexpr CounterLimit kCounterLimits[] = {
    {"pcie-errors-increased", "PCI Express replays", 8 * 60, 8,
     "NVIDIA DCGM's health watch allows 8 replays a minute"},
    {"corrected-errors-increased", "corrected ECC errors", 10, 10,
     "two errors at one address have a row remapped (NVIDIA, GPU Memory Error Management), so that "
     "a healthy memory has a handful"},
};

class Rising {
 public:
  template <class Number>
  void check(std::string_view id, std::string source, const std::optional<Number>& before,
             const std::optional<Number>& after) {
    if (before && after && *after > *before)
      changes_.push_back(
          {id, std::move(source), fmt::format("was {}, is {}", *before, *after),
           static_cast<std::uint64_t>(*after) - static_cast<std::uint64_t>(*before)});
  }
  std::vector<Change> take() { return std::move(changes_); }

 private:
  std::vector<Change> changes_;
};

}  // namespace

std::span<const ChangeRow> change_rows() { return kRows; }

std::span<const CounterLimit> counter_limits() { return kCounterLimits; }

Finding change_finding(std::string_view id, Match match) {
  Finding finding;
  finding.id = match.id.value_or(std::string(id));
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const ChangeRow& candidate) { return candidate.id == id; });
  const bool known = row != std::end(kRows);
  finding.severity = match.severity.value_or(known ? row->severity : Severity::warning);
  finding.title = match.title.value_or(known ? std::string(row->title) : std::string(id));
  finding.explanation = match.explanation.value_or(known ? std::string(row->explanation) : "");
  finding.gpus = std::move(match.gpus);
  finding.pci = std::move(match.pci);
  finding.evidence = std::move(match.evidence);
  if (match.cure)
    finding.cure = std::move(match.cure);
  else if (known && !row->cure.empty())
    finding.cure = std::string(row->cure);
  if (match.command && !match.command->empty()) finding.command = std::move(match.command);
  return finding;
}

std::vector<Change> lasting_increases(const Gpu& before, const Gpu& after) {
  Rising rising;
  rising.check("ecc-errors-increased", "uncorrected ECC errors (lifetime)",
               before.ecc.lifetime.uncorrected, after.ecc.lifetime.uncorrected);
  rising.check("corrected-errors-increased", "corrected ECC errors (lifetime)",
               before.ecc.lifetime.corrected, after.ecc.lifetime.corrected);
  rising.check("rows-remapped", "rows remapped for uncorrectable errors",
               before.remapping.uncorrected, after.remapping.uncorrected);
  rising.check("rows-remapped", "rows remapped for correctable errors", before.remapping.corrected,
               after.remapping.corrected);
  rising.check("rows-remapped", "pages retired for double-bit errors", before.retired.double_bit,
               after.retired.double_bit);
  rising.check("rows-remapped", "pages retired for single-bit errors", before.retired.single_bit,
               after.retired.single_bit);
  return rising.take();
}

std::vector<Change> running_increases(const Gpu& before, const Gpu& after) {
  Rising rising;
  rising.check("ecc-errors-increased", "uncorrected ECC errors (since boot)",
               before.ecc.since_boot.uncorrected, after.ecc.since_boot.uncorrected);
  rising.check("corrected-errors-increased", "corrected ECC errors (since boot)",
               before.ecc.since_boot.corrected, after.ecc.since_boot.corrected);
  const auto flag = [](const std::optional<bool>& value) {
    return value ? std::optional<int>(*value) : std::nullopt;
  };
  rising.check("rows-remapped", "row remapping pending", flag(before.remapping.pending),
               flag(after.remapping.pending));
  rising.check("rows-remapped", "row remapping failed", flag(before.remapping.failed),
               flag(after.remapping.failed));
  rising.check("rows-remapped", "page retirement pending", flag(before.retired.pending),
               flag(after.retired.pending));
  const auto &then = before.pcie_errors, &now = after.pcie_errors;
  rising.check("pcie-errors-increased", "PCI Express replays", then.replays, now.replays);
  rising.check("pcie-errors-increased", "AER correctable errors", then.correctable,
               now.correctable);
  rising.check("pcie-errors-increased", "AER non-fatal errors", then.nonfatal, now.nonfatal);
  rising.check("pcie-errors-increased", "AER fatal errors", then.fatal, now.fatal);
  for (const auto& old : before.nvlinks)
    for (const auto& link : after.nvlinks) {
      if (old.link != link.link) continue;
      const auto name = [&](std::string_view what) {
        return fmt::format("NVLink {} {}", link.link, what);
      };
      rising.check("nvlink-errors-increased", name("replays"), old.replay_errors,
                   link.replay_errors);
      rising.check("nvlink-errors-increased", name("recoveries"), old.recovery_errors,
                   link.recovery_errors);
      rising.check("nvlink-errors-increased", name("checksum errors"), old.crc_errors,
                   link.crc_errors);
    }
  for (const auto& [block, count] : after.ras_errors) {
    const auto old = before.ras_errors.find(block);
    if (old == before.ras_errors.end()) continue;
    rising.check(block.ends_with("_ue") ? "ecc-errors-increased" : "corrected-errors-increased",
                 "RAS " + block, std::optional(old->second), std::optional(count));
  }
  return rising.take();
}

void sort_by_severity(std::vector<Finding>& findings) {
  std::vector<Finding> sorted;
  sorted.reserve(findings.size());
  for (const auto severity : {Severity::error, Severity::warning, Severity::info})
    for (auto& finding : findings)
      if (finding.severity == severity) sorted.push_back(std::move(finding));
  findings = std::move(sorted);
}

}  // namespace gpuready::doctor
