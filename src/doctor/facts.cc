#include "doctor/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "base/vendor_codes.h"
#include "doctor/commands.h"
#include "doctor/known_faults.h"
#include "doctor/xid_table.h"
#include "machine/gpu_use.h"
#include "machine/nvidia/architectures.h"
#include "machine/system/kernel_log.h"
#include "value/vendors.h"

namespace gpuready::doctor {
namespace {
constexpr std::size_t kQuoteMax = 200;
constexpr std::size_t kMessageLines = 8;  // the driver's longest message has eight

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Lines of one message carry one time, or on older kernels times some microseconds apart; those
// without times are reported by the driver's prefix.
bool same_message(const LogLine& a, const LogLine& b) {
  if (!a.text.starts_with("NVRM:") || !b.text.starts_with("NVRM:")) return false;
  return !a.seconds || !b.seconds || std::abs(*a.seconds - *b.seconds) < 0.0005;
}

// "NVRM: GPU 0000:..." and "NVRM: The NVIDIA GPU ..." start a message; what follows goes on with
// it.
bool starts_message(const LogLine& line) {
  constexpr std::string_view kStarts[] = {"NVRM: GPU", "NVRM: The NVIDIA", "NVRM: This PCI",
                                          "NVRM: Xid"};
  return std::ranges::any_of(kStarts, [&](auto start) { return line.text.starts_with(start); });
}
}  // namespace

bool is_plain_arm(const Machine& machine) {
  return machine.system.architecture == "aarch64" && !machine.system.chassis_type;
}

// raspberrypi/linux 6947 and 7113; NVIDIA/open-gpu-kernel-modules 972;
// mariobalanica/arm-pcie-gpu-patches; AmpereComputing/linux-ampere-altra-erratum-pcie-65.
bool explain_arm_board(const Machine& machine, Vendor vendor, Match& match) {
  const auto& system = machine.system;
  const auto board = system.product_name.value_or("an ARM board");
  const bool altra = contains(to_lower(board), "altra"), pi = board.starts_with("Raspberry Pi");
  if (system.architecture != "aarch64" || system.hypervisor || system.jetson_release ||
      (altra ? vendor == Vendor::nvidia : !is_plain_arm(machine)))
    return false;
  match.explanation =
      altra
          ? "The processor's PCI Express can send combined writes to wrong addresses (erratum "
            "82288, PCIE_65), which damages what the driver writes into the GPU's memory."
          : "PCI Express of boards like this one is not coherent with the processor's caches, and "
            "the driver counts on that: the GPU reads stale data, whatever fails first.";
  std::string cure = "Build the kernel with the changes for GPUs on such boards ";
  if (vendor == Vendor::nvidia)
    cure =
        "Use a GPU from Turing on with NVIDIA's open kernel modules 580.95.05, built with the "
        "changes for such boards (pull request 972 of NVIDIA/open-gpu-kernel-modules). The kernel "
        "needs pages of 4 KiB (on a Raspberry Pi kernel=kernel8.img in config.txt).";
  else
    cure += std::string(altra ? "(AmpereComputing/linux-ampere-altra-erratum-pcie-65)"
                        : pi  ? "(for a Raspberry Pi 5: pull request 7113 of raspberrypi/linux)"
                              : "(mariobalanica/arm-pcie-gpu-patches, for RK3588)") +
            (vendor == Vendor::intel && pi ? ", with pages of 4 KiB" : "") +
            ". New firmware, another driver or another slot does not help.";
  match.cure = std::move(cure);
  match.command = "";
  match.action = Action::configure;
  match.terms = kByReboot;
  match.evidence.push_back(evidence("board", board));
  return true;
}

std::string quote(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    const bool blank = c == '\n' || c == '\t' || c == ' ';
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  if (out.size() <= kQuoteMax) return out;
  std::size_t end = kQuoteMax - 3;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;  // whole UTF-8
  return out.substr(0, end) + "...";
}

Evidence evidence(std::string_view source, std::string_view text) {
  auto quoted = quote(text);
  return {std::string(source), quoted.empty() ? "(empty)" : std::move(quoted)};
}

Evidence evidence(const ApiStatus& status) {
  return evidence(status.call, status.name.empty()
                                   ? fmt::format("returned {}", status.code)
                                   : fmt::format("returned {} ({})", status.code, status.name));
}

Match about(const Gpu& gpu) {
  Match match;
  match.gpus.push_back(gpu.index);
  if (gpu.pci) match.pci.push_back(*gpu.pci);
  return match;
}

Match about(const Machine& machine, const PciAddress& address) {
  for (const auto& gpu : machine.gpus)
    if (gpu.pci && same_slot(*gpu.pci, address)) return about(gpu);
  Match match;
  match.pci.push_back(address);
  return match;
}

Match about_xid(int code) {
  const auto* entry = find_xid(code);
  const std::string cure = capitalized(
      std::string(entry ? describe(entry->action) : "look it up in NVIDIA's Xid catalog"));
  Match match;
  match.title = fmt::format("Xid {}: {}", code, entry ? entry->name : "unknown");
  match.explanation = entry ? std::string(entry->meaning)
                            : "The driver reported an event that is in no published list.";
  match.cure = cure + ".";
  if (entry) match.action = action_of(*entry);
  if (entry && entry->action == XidAction::reset_gpu)
    match.command = "nvidia-smi --gpu-reset -i {pci}";
  if (entry && entry->action == XidAction::follow_recovery_action)
    match.command = "nvidia-smi -q -i {pci} | grep 'Recovery Action'";
  match.own_cure = match.action == Action::replace;
  return match;
}

// It translates system calls; its "kernel" has a capital M (4.4.0-19041-Microsoft).
bool in_wsl1(const Machine& machine) {
  return machine.system.kernel_release.ends_with("-Microsoft");
}

Match about_all(const Machine& machine, Vendor vendor) {
  Match match;
  for (const auto& gpu : machine.gpus) {
    if (gpu.vendor != vendor || gpu.faked) continue;
    match.gpus.push_back(gpu.index);
    if (gpu.pci) match.pci.push_back(*gpu.pci);
  }
  return match;
}

std::vector<const PciDevice*> gpus_on_bus(const Machine& machine, Vendor vendor) {
  std::vector<const PciDevice*> found;
  for (const auto& device : machine.pci)
    if (device.is_gpu && vendor_of(device) == vendor) found.push_back(&device);
  return found;
}

const PciDevice* pci_device(const Machine& machine, const PciAddress& address) {
  for (const auto& device : machine.pci)
    if (device.address == address) return &device;
  return nullptr;
}

const PciDevice* vfio_gpu(const Machine& machine, const std::optional<PciAddress>& address) {
  const auto* device = address ? pci_device(machine, *address) : nullptr;
  return device && device->is_gpu && device->driver.value_or("") == "vfio-pci" ? device : nullptr;
}

bool any_gpu(const Machine& machine, Vendor vendor) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(),
                     [&](const Gpu& gpu) { return gpu.vendor == vendor && !gpu.faked; }) ||
         !gpus_on_bus(machine, vendor).empty();
}

namespace {
// Of NVIDIA's GPU, by its driver or its chip's name: "9.0".
std::string capability_of(const Machine& machine, const PciAddress& address) {
  const auto* gpu = machine.find_gpu(address);
  const auto* device = pci_device(machine, address);
  const auto chip = nvidia_chip_capability(device ? device->name.value_or("") : "");
  return gpu && gpu->compute_capability ? *gpu->compute_capability : std::string(chip.value_or(""));
}
}  // namespace

std::optional<std::uint64_t> capability_major(const Machine& machine, const PciAddress& address) {
  const auto capability = capability_of(machine, address);
  return parse_uint(capability.substr(0, capability.find('.')));
}

// microsoft/WSL, issue 7162: nvidia-smi shows ERR! for the load.
bool is_unread_in_wsl(const Machine& machine, const Gpu& gpu, const ApiStatus& status) {
  const auto& cuda = machine.nvidia.cuda_start;
  return machine.system.wsl2 && status.code == nvml_code::kUnknown && gpu.nvml_index && cuda &&
         cuda->ok() && gpu.visible_to_cuda.value_or(true) &&
         status.call.starts_with("nvmlDeviceGet") &&
         !status.call.starts_with("nvmlDeviceGetHandle");
}

bool answers(const Machine& machine, const Gpu& gpu) {
  if (!nvml_started(machine) || !gpu.nvml_index) return false;
  const auto* unknown = failed_call(gpu, "nvml", nvml_code::kUnknown);
  return !failed_call(gpu, "nvml", nvml_code::kGpuIsLost) &&
         !failed_call(gpu, "nvml", nvml_code::kResetRequired) &&
         (!unknown || is_unread_in_wsl(machine, gpu, *unknown));
}

bool works(const Machine& machine, const Gpu& gpu) {
  constexpr std::string_view kDrained[] = {"gpu_reset", "node_reboot", "bus_reset",
                                           "system_reboot"};
  return answers(machine, gpu) &&
         std::ranges::find(kDrained, gpu.recovery_action.value_or("")) == std::end(kDrained);
}

bool computes(const Machine& machine, const Gpu& gpu) {
  const auto& cuda = machine.nvidia.cuda_start;
  return works(machine, gpu) && (!cuda || cuda->ok());
}

bool runs_now(const Machine& machine, const PciAddress& address) {
  const auto* device = pci_device(machine, address);
  if (device != nullptr && vendor_of(*device) != Vendor::nvidia) return !unbound(*device);
  return std::ranges::any_of(machine.gpus, [&](const Gpu& gpu) {
    return gpu.pci && same_slot(*gpu.pci, address) && works(machine, gpu);
  });
}

bool may_have_recovered(const Machine& machine, const PciAddress& address) {
  const auto* device = pci_device(machine, address);
  const bool asked = machine.nvidia.nvml_start && device && device->runtime_status != "suspended";
  // radeon and gim offer no compute, and drive the GPU all the same.
  const bool driven = device && device->driver && vendor_of(*device) != Vendor::nvidia &&
                      vendor_of_writer(*device->driver) == vendor_of(*device);
  return runs_now(machine, address) || driven || (device && !asked && !unbound(*device));
}

bool answers(const Machine& machine, const PciAddress& address) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(), [&](const Gpu& gpu) {
    return gpu.pci && same_slot(*gpu.pci, address) && answers(machine, gpu);
  });
}

const ApiStatus* failed_call(const Gpu& gpu, std::string_view library, int code) {
  for (const auto& status : gpu.errors)
    if (status.code == code && status.call.starts_with(library)) return &status;
  return nullptr;
}

const ApiStatus* failed_start(const std::optional<ApiStatus>& start,
                              std::initializer_list<int> codes) {
  if (!start || std::find(codes.begin(), codes.end(), start->code) == codes.end()) return nullptr;
  return &*start;
}

bool in_container(const Machine& machine) { return machine.container.runtime.has_value(); }

bool not_given(const Machine& machine, const Gpu& gpu) {
  const auto use = access_to(machine, gpu).use;
  return use == GpuUse::not_ours || use == GpuUse::display_only;
}

bool not_given(const Machine& machine, const PciAddress& address) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(), [&](const Gpu& gpu) {
    return gpu.pci && same_slot(*gpu.pci, address) && not_given(machine, gpu);
  });
}

std::optional<Match> suspects(const Machine& machine, Vendor vendor) {
  Match match, unanswering;
  const auto add = [&](Match& into, const PciDevice& device) {
    const Match found = about(machine, device.address);
    into.gpus.insert(into.gpus.end(), found.gpus.begin(), found.gpus.end());
    into.pci.insert(into.pci.end(), found.pci.begin(), found.pci.end());
  };
  for (const auto* device : gpus_on_bus(machine, vendor)) {
    if (device->runtime_status == "suspended" || not_given(machine, device->address)) continue;
    if (unbound(*device))
      add(match, *device);
    else if (vendor == Vendor::nvidia && !answers(machine, device->address))
      add(unanswering, *device);
  }
  // While NVML does not start nothing is listed: a GPU without its driver is then the likelier one.
  const bool listed = nvml_started(machine);
  if (listed || match.pci.empty()) {
    match.gpus.insert(match.gpus.end(), unanswering.gpus.begin(), unanswering.gpus.end());
    match.pci.insert(match.pci.end(), unanswering.pci.begin(), unanswering.pci.end());
  }
  if (match.gpus.empty() && match.pci.empty()) return std::nullopt;
  std::sort(match.gpus.begin(), match.gpus.end());
  std::sort(match.pci.begin(), match.pci.end());
  return match;
}

// "0000:af:00.0", "PCI:0000:01:00", "0000:01:00": domain, bus and device at least.
std::optional<PciAddress> pci_address_in(std::string_view text) {
  for (std::size_t colon = text.find(':'); colon != text.npos; colon = text.find(':', colon + 1)) {
    std::size_t start = colon;
    while (start > 0 && is_hex(text[start - 1])) --start;
    if (colon - start < 4 || colon - start > 8 || (start > 0 && text[start - 1] == 'x')) continue;
    std::size_t end = colon;
    int colons = 0;
    while (end < text.size() && (is_hex(text[end]) || (text[end] == ':' && colons < 2)))
      colons += text[end++] == ':';
    if (colons < 2) continue;
    while (end > colon && text[end - 1] == ':') --end;
    std::string address(text.substr(start, end - start));
    const bool has_function = end + 1 < text.size() && text[end] == '.' && is_hex(text[end + 1]);
    address += has_function ? std::string(text.substr(end, 2)) : ".0";
    if (auto parsed = parse_pci_address(address)) return parsed;
  }
  return std::nullopt;
}

bool says_any(std::string_view line, std::span<const std::string_view> patterns) {
  const auto message = parse_message(line);
  return message && std::any_of(patterns.begin(), patterns.end(),
                                [&](auto pattern) { return says(*message, pattern); });
}

std::vector<LogHit> log_hits(const Machine& machine, const Ids& any) {
  const auto& log = machine.kernel_log.lines;
  std::vector<LogHit> hits;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const auto& text = log[i].text;
    if (!says_any(text, any)) continue;
    std::size_t first = i, last = i;
    while (first > 0 && i - first < kMessageLines && !starts_message(log[first]) &&
           same_message(log[first - 1], log[i]))
      --first;
    while (last + 1 < log.size() && last - first + 1 < kMessageLines &&
           same_message(log[last + 1], log[i]) && !starts_message(log[last + 1]))
      ++last;
    LogHit hit{.line = i,
               .count = 1 + log[i].left_out,
               .pci = pci_address_in(text),
               .text = std::string(trim(text))};
    if (!hit.pci) {
      // Quote the message whole, without the prefix that each of its lines repeats.
      std::string whole;
      for (std::size_t k = first; k <= last; ++k) {
        const auto line = trim(log[k].text);
        whole += k == first ? std::string(line) : " " + std::string(trim(line.substr(5)));
        if (!hit.pci) hit.pci = pci_address_in(line);
      }
      if (last > first) hit.text = std::move(whole);
    }
    hits.push_back(std::move(hit));
  }
  return hits;
}

bool is_of_another_vendor(const LogHit& hit, const PciDevice& device) {
  const auto message = parse_message(hit.text);
  const auto vendor = message ? vendor_of_writer(message->writer) : std::nullopt;
  return vendor.value_or(vendor_of(device)) != vendor_of(device);
}

std::optional<std::pair<std::size_t, Evidence>> first_reason(const Machine& machine,
                                                             const Ids& lines, const Match& match,
                                                             std::size_t first) {
  const auto* device = match.pci.empty() ? nullptr : pci_device(machine, match.pci.front());
  auto hits = log_hits(machine, lines);
  std::erase_if(hits,
                [&](const LogHit& hit) { return device && is_of_another_vendor(hit, *device); });
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (const auto& hit : hits) {
      const auto& line = machine.kernel_log.lines[hit.line].text;
      const bool about_it =
          !hit.pci || std::ranges::any_of(match.pci, [&](const PciAddress& address) {
            return same_slot(address, *hit.pci);
          });
      if (hit.line >= first && about_it && says_any(line, std::span(&lines[i], 1)))
        return std::pair(i, evidence("kernel log", line));
    }
  return std::nullopt;
}

namespace {
// What went wrong is logged first, without an address; that the start failed follows, with it.
std::optional<PciAddress> next_failed_start(const Machine& machine, std::size_t line) {
  constexpr std::size_t kNear = 60;
  const auto& log = machine.kernel_log.lines;
  for (std::size_t i = line; i < log.size() && i < line + kNear; ++i) {
    if (!says_any(log[i].text, {"NVRM: ...RmInitAdapter failed", "NVRM: ...rm_init_adapter failed",
                                "nvidia: probe of ", "nvidia: probe with driver nvidia failed"}))
      continue;
    if (const auto address = pci_address_in(log[i].text)) return address;
  }
  return std::nullopt;
}

constexpr std::string_view kNvlinkLoads = "nvidia-nvlink: Nvlink Core is being initialized";
constexpr std::string_view kDriverLoads = "NVRM: loading NVIDIA UNIX ";

// The newest line that reports a load reports the module that is loaded now.
bool names_loaded_version(const Machine& machine) {
  const auto& version = machine.nvidia.module_version;
  const auto& log = machine.kernel_log.lines;
  const auto newest = std::find_if(
      log.rbegin(), log.rend(), [](const LogLine& line) { return says(line.text, kDriverLoads); });
  if (!machine.nvidia.module_loaded || !version || newest == log.rend()) return true;
  const auto words = split(newest->text, " ");
  return std::ranges::find(words, *version) != words.end();
}
}  // namespace

std::size_t load_line(const Machine& machine) {
  const auto& log = machine.kernel_log.lines;
  if (!names_loaded_version(machine)) return 0;
  // The GPUs are probed between these two lines.
  for (const auto part : {kNvlinkLoads, kDriverLoads}) {
    std::optional<std::size_t> newest;
    bool said = machine.nvidia.module_loaded;
    for (std::size_t i = log.size(); i > 0; --i) {
      const auto& text = log[i - 1].text;
      said |= says_any(text, {"NVRM: ...The NVIDIA probe routine", "NVRM: ...of the NVIDIA devices",
                              "NVRM: ...No NVIDIA devices probed", "NVRM: ...No NVIDIA GPU found"});
      if (!says(text, part)) continue;
      if (!newest) newest = i - 1;
      // udev loads a module that fails again and again: the load that has not said yet how it ended
      // does not make the one before it history.
      if (said) return i - 1;
    }
    if (newest) return *newest;
  }
  return 0;
}

std::size_t past_until(const Machine& machine) {
  const bool all = std::ranges::all_of(
      gpus_on_bus(machine, Vendor::nvidia),
      [&](const PciDevice* device) { return may_have_recovered(machine, device->address); });
  return all ? load_line(machine) : 0;
}

std::vector<LogHit> resumes(const Machine& machine) {
  return log_hits(machine, {"PM: suspend exit", "PM: hibernation exit", "ACPI: PM: Waking up",
                            "PM: resume of devices complete"});
}

std::vector<Match> log_matches(const Machine& machine, const Ids& any) {
  constexpr std::size_t kQuoted = 2;
  std::vector<Match> matches;
  std::vector<std::size_t> counts;
  const auto first = load_line(machine);
  for (const auto& hit : log_hits(machine, any)) {
    if (hit.line < first) continue;
    const auto address = hit.pci ? hit.pci : next_failed_start(machine, hit.line);
    auto found = address ? about(machine, *address) : suspects(machine, Vendor::nvidia);
    if (!found) continue;
    const auto known = std::find_if(matches.begin(), matches.end(), [&](const Match& match) {
      return match.gpus == found->gpus && match.pci == found->pci;
    });
    const auto place = static_cast<std::size_t>(known - matches.begin());
    if (known == matches.end()) {
      matches.push_back(std::move(*found));
      counts.push_back(0);
    }
    counts[place] += hit.count;
    auto& quoted = matches[place].evidence;
    if (quoted.size() < kQuoted) quoted.push_back(evidence("kernel log", hit.text));
  }
  for (std::size_t i = 0; i < matches.size(); ++i)
    if (counts[i] > kQuoted)
      matches[i].evidence.back().source = fmt::format("kernel log ({} such lines)", counts[i]);
  return matches;
}

namespace {
const Gpu* gpu_of(const Machine& machine, const XidEvent& event) {
  for (const auto& gpu : machine.gpus)
    if (event.pci ? gpu.pci && same_slot(*event.pci, *gpu.pci) : machine.gpus.size() == 1)
      return &gpu;
  return nullptr;
}

bool is_one_of(int code, std::initializer_list<int> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// NVLink 5's links may be up again, and the GPU waits for its reset.
bool is_fatal_link_event(const XidEvent& event) {
  return event.code >= 144 && event.code <= 150 &&
         xid_severity(event.code, event.line) == Severity::error && contains(event.line, " Fatal");
}

// What the log says after an Xid, found in one pass, for a log can have thousands of them.
class LogAfterXids {
 public:
  explicit LogAfterXids(const Machine& machine) : machine_(machine) {
    const auto& log = machine.kernel_log.lines;
    for (std::size_t i = 0; i < log.size(); ++i) {
      if (says_any(log[i].text, {kNvlinkLoads, kDriverLoads})) newest_load_ = i;
      const auto xid = parse_xid(log[i].text);
      if (!xid) continue;
      lines_[{log[i].seconds, log[i].text}] = i;
      if (xid->code == 154 && xid->pci && needs_no_recovery(log[i].text))
        recovered_[slot_of(*xid->pci)] = i;
    }
    for (const auto& event : machine.kernel_log.xids)
      if (const auto* gpu = gpu_of(machine, event); gpu && asked_for_reset(event, *gpu))
        reset_.insert(gpu);
  }

  // From before the driver was last loaded, or before the GPU was last recovered (an Xid 154
  // that asks for no action), and the GPU runs now.
  bool is_past(const XidEvent& event) const {
    const auto at = lines_.find({event.seconds, event.line});
    if (event.source != "kernel log" || at == lines_.end()) return false;
    const auto line = at->second;
    const auto recovered = event.pci ? recovered_.find(slot_of(*event.pci)) : recovered_.end();
    return (newest_load_ > line || (recovered != recovered_.end() && recovered->second > line)) &&
           (!event.pci || may_have_recovered(machine_, *event.pci));
  }
  // The driver asked for a reset of the GPU, and asks no more.
  bool was_reset(const Gpu& gpu) const { return reset_.contains(&gpu); }

 private:
  static PciAddress slot_of(PciAddress address) {
    address.function = 0;
    return address;
  }
  static bool asked_for_reset(const XidEvent& event, const Gpu& gpu) {
    return event.code == 154 ? gpu.recovery_action == "none"
                             : event.code == 63 && gpu.remapping.pending == false;
  }

  const Machine& machine_;
  std::map<std::pair<std::optional<double>, std::string_view>, std::size_t> lines_;
  std::map<PciAddress, std::size_t> recovered_;
  std::size_t newest_load_ = 0;
  std::set<const Gpu*> reset_;
};

// A reset or a reload of the driver sets the volatile counters to zero and takes bad rows out.
bool traces_are_gone(const LogAfterXids& log, const Gpu& gpu, int code) {
  const bool clean = gpu.remapping.failed.value_or(false) == false &&
                     gpu.remapping.pending.value_or(false) == false &&
                     gpu.retired.pending.value_or(false) == false;
  // A contained error may be in no counter, nor one that the firmware may have missed.
  if (is_one_of(code, {94, 140}) && !log.was_reset(gpu)) return false;
  if (is_one_of(code, {48, 94, 95, 140, 171, 172}))
    return clean && gpu.ecc.since_boot.uncorrected == 0u && !failed_call(gpu, "cu", 214);
  if (is_one_of(code, {63, 64}))
    return clean && (gpu.remapping.pending.has_value() || gpu.retired.pending.has_value());
  return code == 154 && gpu.recovery_action == "none";
}
}  // namespace

std::optional<int> named_cause(const XidEvent& event) {
  constexpr std::string_view kCause = "caused by previous Xid ";
  const auto at = event.line.find(kCause);
  if (at == event.line.npos) return std::nullopt;
  const auto text = std::string_view(event.line).substr(at + kCause.size());
  const auto code = parse_uint(text.substr(0, text.find_first_not_of("0123456789")));
  if (!code || *code > 100'000) return std::nullopt;
  return static_cast<int>(*code);
}

namespace {
XidState state_of(const Machine& machine, const LogAfterXids& log, const XidEvent& event) {
  if (log.is_past(event)) return XidState::past;
  const int code = named_cause(event).value_or(event.code);
  const auto* gpu = gpu_of(machine, event);
  // A container that can read its host's log reads of GPUs that it was not given.
  if (!gpu) return in_container(machine) && event.pci ? XidState::past : XidState::present;
  if (not_given(machine, *gpu) || traces_are_gone(log, *gpu, code)) return XidState::past;
  if (is_fatal_link_event(event)) return log.was_reset(*gpu) ? XidState::past : XidState::present;
  const bool linked = !gpu->nvlinks.empty() &&
                      std::all_of(gpu->nvlinks.begin(), gpu->nvlinks.end(),
                                  [](const NvLink& link) { return link.up.value_or(false); });
  const bool of_links = is_one_of(code, {74, 136, 144, 145, 146, 149, 155});
  if (linked && of_links && works(machine, *gpu)) return XidState::survived;
  const bool goes_on = code == 79 ? works(machine, *gpu)
                                  : is_one_of(code, {54, 109, 119, 120}) && computes(machine, *gpu);
  return goes_on ? XidState::survived : XidState::present;
}
}  // namespace

std::vector<XidState> xid_states(const Machine& machine) {
  const LogAfterXids log(machine);
  std::vector<XidState> states;
  for (const auto& event : machine.kernel_log.xids) states.push_back(state_of(machine, log, event));
  return states;
}

std::vector<const XidEvent*> xids(const Machine& machine, std::initializer_list<int> codes) {
  std::vector<const XidEvent*> found;
  std::optional<LogAfterXids> log;
  for (const auto& event : machine.kernel_log.xids) {
    if (!is_one_of(event.code, codes)) continue;
    if (!log) log.emplace(machine);
    if (state_of(machine, *log, event) != XidState::past) found.push_back(&event);
  }
  return found;
}

bool add_xids(const Machine& machine, const Gpu& gpu, std::initializer_list<int> codes,
              Match& match) {
  bool any = false;
  for (const auto* event : xids(machine, codes)) {
    const bool here =
        event->pci ? gpu.pci && same_slot(*event->pci, *gpu.pci) : machine.gpus.size() == 1;
    if (!here) continue;
    any = true;
    if (match.evidence.size() < 4) match.evidence.push_back(evidence(event->source, event->line));
  }
  return any;
}

std::optional<std::string> override_target(const Machine& machine) {
  const auto& value = machine.visibility.hsa_override_gfx_version;
  if (!value) return std::nullopt;
  const auto parts = split(*value, ".");
  if (parts.size() != 3) return std::nullopt;
  const auto major = parse_uint(parts[0]), minor = parse_uint(parts[1]),
             stepping = parse_uint(parts[2]);
  if (!major || !minor || !stepping || *major > 99 || *minor > 15 || *stepping > 15)
    return std::nullopt;
  return fmt::format("gfx{}{:x}{:x}", *major, *minor, *stepping);
}

const DeviceNode* node(const Machine& machine, std::string_view path) {
  for (const auto& node : machine.nodes)
    if (node.path == path) return &node;
  return nullptr;
}

std::vector<const DeviceNode*> gpu_nodes(const Machine& machine) {
  std::vector<const DeviceNode*> found;
  for (const auto& node : machine.nodes)
    if (const auto minor = after_prefix(node.path, "/dev/nvidia"); minor && parse_uint(*minor))
      found.push_back(&node);
  return found;
}

const LibraryFile* library(const Machine& machine, std::string_view name) {
  for (const auto& file : machine.nvidia.libraries)
    if (file.name == name) return &file;
  return nullptr;
}

std::optional<std::string> cuda_library_path(const Machine& machine) {
  if (machine.nvidia.cuda_library) return machine.nvidia.cuda_library;
  const auto* file = library(machine, "libcuda.so.1");
  if (!file) return std::nullopt;
  return file->real_path ? file->real_path : std::optional(file->path);
}

std::vector<const PciDevice*> without_driver(const Machine& machine, Vendor vendor) {
  std::vector<const PciDevice*> found;
  if (machine.system.wsl2) return found;
  const bool given_others = vendor == Vendor::nvidia && in_container(machine) &&
                            machine.nvidia.nvml_device_count.value_or(0) > 0;
  if (given_others) return found;
  for (const auto* device : gpus_on_bus(machine, vendor))
    if (unbound(*device)) found.push_back(device);
  return found;
}

Evidence driver_of(const PciDevice& device) {
  return evidence(fmt::format("/sys/bus/pci/devices/{}/driver", device.address.text()),
                  device.driver ? "-> " + *device.driver : "no driver is bound");
}

Match at_device(const Machine& machine, const PciDevice& device) {
  Match match = about(machine, device.address);
  match.evidence.push_back(driver_of(device));
  if (is_spare(machine, device)) {
    match.severity = Severity::info;
    match.standing = Standing::chosen;
  }
  return match;
}

bool needs_newer_kernel(const Machine& machine, Match& match) {
  const auto& release = machine.system.kernel_release;
  const auto* early = kernel_too_old(machine, match.gpus);
  // Red Hat brings newer drivers to old kernels.
  if (early == nullptr || contains(release, ".el")) return false;
  const bool amd = early->vendor == Vendor::amd;
  if (amd && machine.amd.module_version) return false;  // AMD's own driver is newer
  match.evidence.push_back(evidence("kernel release", release));
  match.explanation = "The kernel is older than the first that supports this GPU.";
  const auto family = family_of(machine);
  match.cure = fmt::format(
      "Install a newer kernel, with a linux-firmware that knows the GPU, and reboot: {} supports "
      "this GPU.{}",
      early->fixed,
      family == Family::debian
          ? fmt::format(" Debian has one in the backports of its releases "
                        "(linux-image-amd64, with {}) or in its next.",
                        amd ? "firmware-amd-graphics" : "firmware-misc-nonfree")
      : family == Family::ubuntu
          ? fmt::format(" Ubuntu has one in linux-generic-hwe{} or in its next release.",
                        contains(machine.system.os_name.value_or(""), " 24.04") ? "-24.04" : "")
          : "");
  match.command = "";
  match.action = Action::configure;
  match.terms = kByReboot;
  return true;
}

// A line about a GPU that works now reports an earlier attempt, and is not a finding.
std::vector<Match> refused(const Facts& facts, const Ids& any) {
  if (any.empty() || !any_gpu(facts.machine, Vendor::nvidia)) return {};
  auto matches = log_matches(facts.machine, any);
  std::erase_if(matches, [&](const Match& match) {
    return std::all_of(match.pci.begin(), match.pci.end(), [&](const PciAddress& address) {
      return answers(facts.machine, address) || not_given(facts.machine, address);
    });
  });
  return matches;
}

bool runs_like(const Machine& machine, const PciAddress& address) {
  const auto* device = pci_device(machine, address);
  return device && std::ranges::any_of(machine.pci, [&](const PciDevice& other) {
           return other.address != address && other.vendor_id == device->vendor_id &&
                  other.device_id == device->device_id && runs_now(machine, other.address);
         });
}

namespace {
// From which branch on every GPU of these chips is known (names of the PCI ID Repository).
struct KnownFrom {
  std::string_view chip;
  std::uint64_t branch;
};
constexpr KnownFrom kKnownFrom[] = {{"GP1", 470},
                                    {"GV100", 470},
                                    {"TU1", 535},
                                    {"GA100", 535},
                                    {"GH100 [H100 SXM5 80GB]", 530},
                                    {"GH100[H100 SXM5 80GB]", 530},  // as older lists write it
                                    {"GH100 [H100 PCIe]", 530},
                                    {"GH100", 570}};
}  // namespace

bool driver_knows(const Machine& machine, const PciAddress& address, std::string_view refusal) {
  if (runs_like(machine, address)) return true;
  constexpr std::string_view kBefore = "NVIDIA ", kAfter = " driver release";
  const auto* device = pci_device(machine, address);
  const auto end = refusal.find(kAfter);
  const auto at = end == refusal.npos ? end : refusal.rfind(kBefore, end);
  if (!device || at == refusal.npos) return false;
  const auto version = refusal.substr(at + kBefore.size(), end - at - kBefore.size());
  const auto branch = parse_uint(version.substr(0, version.find('.')));
  return std::ranges::any_of(kKnownFrom, [&](const KnownFrom& known) {
    return device->name.value_or("").starts_with(known.chip) && branch >= known.branch;
  });
}

bool hmm_is_off(const Machine& machine) {
  const auto found = machine.nvidia.params.find("uvm_disable_hmm");
  return found != machine.nvidia.params.end() && found->second == "Y";
}

bool may_do_without_gsp(const Machine& machine, const PciAddress& gpu) {
  constexpr std::uint64_t kHopper = 9;
  return capability_major(machine, gpu).value_or(0) < kHopper;
}

// What helps: issues of NVIDIA's open-gpu-kernel-modules about laptops.
void add_gsp_advice(const Machine& machine, Match& match, std::string_view first_step) {
  const auto& nvidia = machine.nvidia;
  const auto* gpu = match.pci.empty() ? nullptr : machine.find_gpu(match.pci.front());
  if (!gpu || gpu->vendor != Vendor::nvidia || in_container(machine) || machine.system.hypervisor)
    return;
  const bool mobile = contains(gpu->name, "Laptop GPU") || is_laptop(machine.system);
  const bool open = nvidia.module_flavour == "open";
  const auto on = nvidia.params.find("EnableGpuFirmware");
  if (!mobile || (!open && on != nvidia.params.end() && on->second == "0")) return;
  const auto hits = log_hits(
      machine, {"NVRM: ...GSP RM heartbeat timed out", "NVRM: ...Cannot initialize GSP firmware RM",
                "NVRM: ..._kgspProcessRpcEvent: Attempted to process RPC event",
                "NVRM: ...Assertion failed: 0 @ kernel_gsp", "NVRM: ...rpcRecvPoll timedout for fn",
                "NVRM: ...returned from status @ kernel_gsp", "NVRM: Xid (*): 119,",
                "NVRM: Xid (*): 120,", "NVRM: ...returned from kgspWaitForRmInitDone"});
  if (hits.empty() || hits.back().line < load_line(machine)) return;
  if (const auto said = evidence("kernel log", hits.back().text);
      std::ranges::find(match.evidence, said.quote, &Evidence::quote) == match.evidence.end())
    match.evidence.push_back(said);
  const bool needs_it = !may_do_without_gsp(machine, match.pci.front());
  const std::string_view setting =
      needs_it ? "NVreg_DynamicPowerManagement=0x00" : "NVreg_EnableGpuFirmware=0";
  match.cure = capitalized(fmt::format(
      "{}{}: set {} for nvidia in /etc/modprobe.d, and rebuild the initramfs{}. If it fails again, "
      "{}install another branch of the driver.",
      first_step.empty() ? "" : fmt::format("{} Before that, ", first_step),
      needs_it ? "keep the GPU awake, since this kind does not run without its GSP"
      : open ? "install the proprietary flavour of the driver and turn the GSP off, which the open "
               "one needs"
             : "turn the GSP off, which this flavour of the driver can do without",
      setting, first_step.empty() ? "; then reboot" : "",
      needs_it ? "" : "keep the GPU awake (NVreg_DynamicPowerManagement=0x00), or "));
  match.command = fmt::format(
      "{}echo options nvidia {} > /etc/modprobe.d/nvidia-gsp.conf && {{do:rebuild-initramfs}}",
      open && !needs_it ? "{do:install-proprietary-driver} && " : "", setting);
}

int links_up(const Gpu& gpu) {
  return static_cast<int>(std::ranges::count_if(
      gpu.nvlinks, [](const NvLink& link) { return link.up.value_or(false); }));
}

}  // namespace gpuready::doctor
