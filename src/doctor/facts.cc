#include "doctor/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/vendor_codes.h"
#include "value/vendors.h"

namespace gpuready::doctor {
namespace {
constexpr std::size_t kQuoteMax = 200;
constexpr std::size_t kMessageLines = 8;  // the driver's longest message has eight

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Lines of one message carry one time; recordings without times are told by the driver's prefix.
bool same_message(const LogLine& a, const LogLine& b) {
  if (!trim(a.text).starts_with("NVRM:") || !trim(b.text).starts_with("NVRM:")) return false;
  return a.seconds == b.seconds || !a.seconds || !b.seconds;
}

// "NVRM: GPU 0000:..." and "NVRM: The NVIDIA GPU ..." start a message; what follows goes on with
// it.
bool starts_message(const LogLine& line) {
  const auto text = trim(line.text);
  return contains(text, "NVRM: GPU") || contains(text, "NVRM: The NVIDIA") ||
         contains(text, "NVRM: This PCI") || contains(text, "NVRM: Xid");
}
}  // namespace

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
    if (device.is_gpu && device.vendor_id == pci_id_of(vendor)) found.push_back(&device);
  return found;
}

const PciDevice* pci_device(const Machine& machine, const PciAddress& address) {
  for (const auto& device : machine.pci)
    if (device.address == address) return &device;
  return nullptr;
}

bool any_gpu(const Machine& machine, Vendor vendor) {
  return std::any_of(machine.gpus.begin(), machine.gpus.end(),
                     [&](const Gpu& gpu) { return gpu.vendor == vendor && !gpu.faked; }) ||
         !gpus_on_bus(machine, vendor).empty();
}

bool answers(const Machine& machine, const Gpu& gpu) {
  if (!machine.nvidia.nvml_start || !machine.nvidia.nvml_start->ok() || !gpu.nvml_index)
    return false;
  return !failed_call(gpu, "nvml", nvml_code::kGpuIsLost) &&
         !failed_call(gpu, "nvml", nvml_code::kResetRequired) &&
         !failed_call(gpu, "nvml", nvml_code::kUnknown);
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

bool same_slot(const PciAddress& a, const PciAddress& b) {
  return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
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

std::vector<LogHit> log_hits(const Machine& machine, std::initializer_list<std::string_view> any) {
  const auto& log = machine.kernel_log.lines;
  std::vector<LogHit> hits;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const auto& text = log[i].text;
    if (std::none_of(any.begin(), any.end(), [&](auto part) { return contains(text, part); }))
      continue;
    std::size_t first = i, last = i;
    while (first > 0 && i - first < kMessageLines && !starts_message(log[first]) &&
           same_message(log[first - 1], log[i]))
      --first;
    while (last + 1 < log.size() && last - first + 1 < kMessageLines &&
           same_message(log[last + 1], log[i]) && !starts_message(log[last + 1]))
      ++last;
    LogHit hit{.line = i, .pci = pci_address_in(text), .text = std::string(trim(text))};
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

std::vector<Match> log_matches(const Machine& machine, std::initializer_list<std::string_view> any,
                               std::optional<Match> fallback) {
  std::vector<Match> matches;
  for (const auto& hit : log_hits(machine, any)) {
    Match found = hit.pci ? about(machine, *hit.pci) : fallback.value_or(Match{});
    auto it = std::find_if(matches.begin(), matches.end(), [&](const Match& match) {
      return match.gpus == found.gpus && match.pci == found.pci;
    });
    if (it == matches.end()) it = matches.insert(matches.end(), std::move(found));
    if (it->evidence.size() < 2) it->evidence.push_back(evidence("kernel log", hit.text));
  }
  return matches;
}

std::vector<const XidEvent*> xids(const Machine& machine, std::initializer_list<int> codes) {
  std::vector<const XidEvent*> found;
  for (const auto& event : machine.kernel_log.xids)
    if (std::find(codes.begin(), codes.end(), event.code) != codes.end()) found.push_back(&event);
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

}  // namespace gpuready::doctor
