#include "vm/clean/clean.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "host/atomic_file.h"
#include "jobs/helper.h"
#include "value/envelope.h"
#include "value/json.h"
#include "value/names.h"
#include "value/read_fields.h"
#include "vm/device.h"

namespace gpuready::vm {
namespace {

// What a driver and a test's own program keep for themselves is less.
constexpr double kLeastCovered = 0.9;
constexpr std::size_t kReportMaxBytes = 16 * MiB;

template <class T>
void compare(const char* what, const std::optional<T>& before, const std::optional<T>& now,
             std::vector<std::string>& changes) {
  const auto text = [](const T& value) -> std::string {
    if constexpr (std::is_same_v<T, bool>)
      return value ? "on" : "off";
    else
      return printable(value);
  };
  // What no earlier guest saw cannot be compared. What this one no longer sees may be hidden.
  if (before && before != now)
    changes.push_back(
        fmt::format("its {} was {} and is {}", what, text(*before), now ? text(*now) : "unknown"));
}

std::vector<std::string> changes_of(const Gpu& before, const Gpu& now) {
  std::vector<std::string> changes;
  compare("ECC mode", before.ecc.enabled_now, now.ecc.enabled_now, changes);
  compare("ECC mode after a restart", before.ecc.enabled_pending, now.ecc.enabled_pending, changes);
  compare("MIG mode", before.mig_enabled, now.mig_enabled, changes);
  compare("MIG mode after a reset", before.mig_pending, now.mig_pending, changes);
  compare("confidential computing mode", before.confidential_compute, now.confidential_compute,
          changes);
  compare("VBIOS", before.vbios_version, now.vbios_version, changes);
  return changes;
}

constexpr std::string_view kReport = "the report of its test";

Result<Machine> machine_of(const Json& report, std::string_view name) {
  return value_from_json<Machine>(member(report, "machine"), name);
}

Result<Json> read_report(Host& host, const std::string& path) {
  return Json::parse(TRY(host.read_own_file(path, kReportMaxBytes)), nullptr, /*exceptions=*/false);
}

// The report of the latest test that found this GPU clean, or that was accepted. Its address may
// be another's by then.
Result<std::string> kept_report(const std::string& folder, const Gpu& gpu) {
  const std::string name = gpu.uuid.value_or("");
  if (const auto uuid = after_prefix(name, "GPU-"); uuid && is_uuid(*uuid))
    return fmt::format("{}/{}.clean.json", folder, name);
  return fail(ErrorKind::device,
              "it has no UUID in " + std::string(kReport) + ", so it cannot be compared");
}

Result<void> compare_with_kept(const Gpu& now, const std::string& path, const PciAddress& device,
                               Host& host) {
  if (!host.exists(path)) return {};
  const auto machine = TRY(machine_of(TRY(read_report(host, path)), path));
  const auto before = std::ranges::find(machine.gpus, now.uuid, &Gpu::uuid);
  if (before == machine.gpus.end())
    return fail(ErrorKind::bad_input, path + ": it is of another GPU");
  const auto changes = changes_of(*before, now);
  if (changes.empty()) return {};
  return fail(ErrorKind::device,
              fmt::format("{}. Restore that, or accept it with gpuready vm recover --accept {}",
                          join(changes, "; "), device.text()));
}

// `gpu` is the device in the report, which may call it by another address.
Result<void> judge_and_keep(const Json& report, const Gpu& gpu, const PciAddress& device,
                            const std::string& folder, Host& host, Storage& storage) {
  const auto kept = kept_report(folder, gpu);
  auto judged = judge(report, *gpu.pci);
  if (judged && !kept) judged = std::unexpected(kept.error());
  if (judged) judged = compare_with_kept(gpu, *kept, device, host);
  TRY(write_file_atomically(judged ? *kept : unclean_report(folder, device), dump(report),
                            {.private_to_user = true}, storage));
  return judged;
}

}  // namespace

Result<void> judge(const Json& report, const PciAddress& device) {
  const auto envelope = TRY(value::read_document<Envelope>(report, kReport));
  bool memory = false;
  if (const auto& verdicts = member(report, "verdicts"); verdicts.is_array())
    for (const auto& written : verdicts) {
      const auto verdict = TRY(value_from_json<Verdict>(written, kReport));
      if (verdict.pci_address != device.text() || verdict.test != "memory") continue;
      if (verdict.status != VerdictStatus::passed)
        return fail(ErrorKind::device,
                    fmt::format("its memory test is {}: {}", name_of(verdict.status),
                                printable(verdict.reason)));
      const auto covered = verdict.coverage.value_or(Coverage{});
      const auto least = kLeastCovered * static_cast<double>(covered.total_bytes);
      if (covered.total_bytes == 0 || static_cast<double>(covered.tested_bytes) < least)
        return fail(
            ErrorKind::device,
            fmt::format("only {} of its {} were overwritten and verified",
                        format_bytes(covered.tested_bytes), format_bytes(covered.total_bytes)));
      memory = true;
    }
  if (!memory)
    return fail(ErrorKind::unsupported,
                "its memory was not overwritten: no driver here can test it");
  if (envelope.exit != Exit::ok)
    return fail(ErrorKind::device,
                "gpuready check: " + printable(envelope.conclusion.value_or("")));
  return {};
}

Result<void> clean(const PciAddress& device, const std::string& folder,
                   std::chrono::milliseconds deadline, Host& host, Storage& storage) {
  Job job = helper_job(
      {"check", "--level", "standard", "--device", device.text(), "--json", "-", "--quiet"});
  job.limits.time = deadline;
  const auto outcome = TRY(host.run(job));
  if (outcome.end != JobEnd::exited)
    return fail(ErrorKind::device,
                fmt::format("the test of its memory was {}", to_string(outcome.end)));
  const Json report = Json::parse(outcome.out, nullptr, false);
  if (!report.is_object())
    return fail(ErrorKind::unsupported,
                "its memory was not overwritten: " + printable(trim(outcome.err)));
  const auto machine = machine_of(report, kReport);
  const auto* gpu = machine ? machine->find_gpu(device) : nullptr;
  if (!gpu || !kept_report(folder, *gpu)) return judge(report, device);
  return judge_and_keep(report, *gpu, device, folder, host, storage);
}

std::string unclean_report(const std::string& folder, const PciAddress& device) {
  return fmt::format("{}/{}.unclean.json", folder, device.text());
}

Result<void> judge_guest(const Json& report, const GuestTest& test, Host& host, Storage& storage) {
  const auto machine = TRY(machine_of(report, kReport));
  if (machine.gpus.size() == 1 && machine.gpus.front().pci)
    return judge_and_keep(report, machine.gpus.front(), test.device, test.folder, host, storage);
  return fail(ErrorKind::unsupported,
              fmt::format("{} names {} GPUs instead of one", kReport, machine.gpus.size()));
}

Result<void> accept_report(const std::string& folder, const PciAddress& device, Host& host,
                           Storage& storage) {
  const auto path = unclean_report(folder, device);
  const auto machine = TRY(machine_of(TRY(read_report(host, path)), path));
  const auto* gpu = machine.gpus.size() == 1 ? &machine.gpus.front() : machine.find_gpu(device);
  if (gpu == nullptr) return fail(ErrorKind::bad_input, path + ": it does not name the device");
  return storage.rename(path, TRY(kept_report(folder, *gpu)), OnExisting::replace);
}

}  // namespace gpuready::vm
