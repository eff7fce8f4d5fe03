// Small questions about a Machine that several causes ask.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/cause.h"

namespace gpuready::doctor {

// Printable, on one line, at most 200 characters.
std::string quote(std::string_view text);
Evidence evidence(std::string_view source, std::string_view text);
Evidence evidence(const ApiStatus& status);

Match about(const Gpu& gpu);
Match about(const Machine& machine, const PciAddress& address);
Match about_all(const Machine& machine, Vendor vendor);  // every GPU of the vendor

// ---- GPUs
std::vector<const PciDevice*> gpus_on_bus(const Machine& machine, Vendor vendor);
const PciDevice* pci_device(const Machine& machine, const PciAddress& address);
bool any_gpu(const Machine& machine, Vendor vendor);
// NVML was asked about this GPU, listed it, and lost it in no call.
bool answers(const Machine& machine, const Gpu& gpu);
bool answers(const Machine& machine, const PciAddress& address);
// The first failed call about this GPU with this code, of NVML ("nvml") or the CUDA driver ("cu").
const ApiStatus* failed_call(const Gpu& gpu, std::string_view library, int code);
const ApiStatus* failed_start(const std::optional<ApiStatus>& start,
                              std::initializer_list<int> codes);
bool in_container(const Machine& machine);

// ---- kernel log
struct LogHit {
  std::size_t line = 0;           // index into Machine::kernel_log.lines
  std::optional<PciAddress> pci;  // of this line, else of its neighbours in the same message
  std::string text;               // joined with the lines that the message goes on with
};
// Every line that holds any of the texts. The driver writes long messages over several lines.
std::vector<LogHit> log_hits(const Machine& machine, std::initializer_list<std::string_view> any);
// One match for each GPU concerned, quoting at most two lines each. Lines that name no GPU match
// `fallback` when it is set, else the machine.
std::vector<Match> log_matches(const Machine& machine, std::initializer_list<std::string_view> any,
                               std::optional<Match> fallback = std::nullopt);
std::optional<PciAddress> pci_address_in(std::string_view text);

std::vector<const XidEvent*> xids(const Machine& machine, std::initializer_list<int> codes);
// Adds the Xids of these codes to the GPU's evidence; true when there was one.
bool add_xids(const Machine& machine, const Gpu& gpu, std::initializer_list<int> codes,
              Match& match);
// The log's addresses give the function as NVIDIA's driver prints it, often without.
bool same_slot(const PciAddress& a, const PciAddress& b);

// ---- nodes and libraries
const DeviceNode* node(const Machine& machine, std::string_view path);
std::vector<const DeviceNode*> gpu_nodes(
    const Machine& machine);  // /dev/nvidia0, /dev/nvidia1, ...
const LibraryFile* library(const Machine& machine, std::string_view name);
// The real path of libcuda.so.1: that which the probe loaded, else that which the search finds.
std::optional<std::string> cuda_library_path(const Machine& machine);

}  // namespace gpuready::doctor
