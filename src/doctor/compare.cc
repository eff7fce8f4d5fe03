#include "doctor/compare.h"

#include <fmt/format.h>

#include "doctor/facts.h"

namespace gpuready::doctor {
namespace {

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

std::span<const CounterLimit> counter_limits() { return kCounterLimits; }

std::vector<Cause> change_causes() {
  using enum Action;
  std::vector<Cause> rows = {
      {.id = "gpu-lost",
       .title = "A GPU of the baseline is gone",
       .explanation = "A GPU that the baseline holds is no longer in this machine.",
       .cure =
           "Run gpuready doctor for the cause; reseat the GPU or cut the power and start again.",
       .action = power_cycle},
      {.id = "ecc-errors-increased",
       .title = "Uncorrectable memory errors occurred",
       .explanation = "The count of errors that ECC could not correct has risen; data was lost.",
       .cure = "Reset the GPU and repeat; if it recurs, have it replaced.",
       .action = reset_gpu},
      {.id = "rows-remapped",
       .title = "Memory rows were replaced",
       .explanation =
           "Rows or pages of memory that showed errors were taken out of use, or wait for it.",
       .cure = "Reset the GPU, and watch whether the count goes on rising.",
       .action = reset_gpu},
      {.id = "new-xid",
       .title = "The driver reported an error event",
       .explanation = "Xids were reported while the work ran.",
       .cure = "Follow the action for this Xid.",
       .action = check_again},
      {.id = "gpu-replaced",
       .severity = Severity::warning,
       .title = "Another GPU stands at this address",
       .explanation = "The GPU at this address is not the one of the baseline.",
       .cure = "If that was intended, record a new baseline.",
       .action = check_again},
      {.id = "gpu-moved",
       .severity = Severity::info,
       .title = "The GPU has another PCI address",
       .explanation =
           "The same GPU is found at another address, as happens when cards are added or moved."},
      {.id = "gpu-added",
       .severity = Severity::info,
       .title = "A GPU that the baseline does not hold",
       .explanation = "This GPU was not in the machine when the baseline was recorded."},
      {.id = "gpu-count-changed",
       .title = "The number of GPUs has changed",
       .explanation = "The machine has another number of GPUs than the baseline.",
       .action = check_again},
      {.id = "driver-changed",
       .severity = Severity::info,
       .title = "A driver has changed",
       .explanation = "Another version than in the baseline is installed."},
      {.id = "link-reduced",
       .severity = Severity::warning,
       .title = "The PCI Express link is narrower or slower at most",
       .explanation = "The link offers less than it did in the baseline.",
       .cure = "Reseat the GPU and its riser; check the firmware's settings.",
       .action = replace},
      {.id = "nvlinks-lost",
       .title = "NVLinks were lost",
       .explanation = "Fewer NVLinks are up than in the baseline.",
       .cure = "Reset all GPUs of the fabric together; check bridges and Fabric Manager.",
       .action = reset_gpu},
      {.id = "ecc-mode-changed",
       .severity = Severity::warning,
       .title = "The ECC mode has changed",
       .explanation = "Memory protection is not what it was in the baseline.",
       .cure = "Set it with nvidia-smi -e 1, then reset the GPU.",
       .action = configure,
       .terms = kByReload},
      {.id = "memory-reduced",
       .severity = Severity::warning,
       .title = "The GPU offers less memory",
       .explanation =
           "The GPU's memory is smaller than in the baseline: ECC, a reservation or failed banks.",
       .action = check_again},
      {.id = "corrected-errors-increased",
       .severity = Severity::warning,
       .title = "Correctable memory errors occurred",
       .explanation = "ECC corrected errors; no data was lost, and a memory cell may be failing.",
       .cure = "Watch the count; many errors are a reason for replacement.",
       .action = check_again},
      {.id = "pcie-errors-increased",
       .severity = Severity::warning,
       .title = "PCI Express errors occurred",
       .explanation = "The link repeated packets or reported errors.",
       .cure = "Reseat the GPU and its riser; check retimers and signal quality.",
       .action = replace},
      {.id = "network-errors-increased",
       .severity = Severity::warning,
       .title = "A network port had link errors",
       .explanation = "More errors than a good link has came up since the baseline.",
       .cure = "Clean or replace the cable or transceiver, and watch whether the count goes on "
               "rising.",
       .action = replace},
      {.id = "nvlink-errors-increased",
       .severity = Severity::warning,
       .title = "NVLink errors occurred",
       .explanation = "NVLinks repeated packets, retrained or found checksum errors.",
       .cure = "Check the bridge or board; watch whether the count goes on rising.",
       .action = check_again},
  };
  for (auto& row : rows) row.backing = Backing::looked, row.apart = true;
  return rows;
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

}  // namespace gpuready::doctor
