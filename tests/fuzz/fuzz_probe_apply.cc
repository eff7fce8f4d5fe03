// Any probe's document, as lines on the wire or as stored JSON, applied to a machine that knows
// some GPUs already. Whatever it says, indices and paths of the result must hold together.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "host/probe_document.h"
#include "machine/nvidia/cuda_visibility.h"
#include "machine/sources.h"

namespace {
using namespace gpuready;

void require(bool holds) {
  if (!holds) std::abort();
}

Machine known_machine() {
  Machine machine;
  auto& first = gpu_at(machine, {0, 0x17, 0, 0}, Vendor::nvidia);
  first.uuid = "GPU-aa";
  first.mig_enabled = true;
  first.mig.emplace_back().uuid = "MIG-bb";
  gpu_at(machine, {0, 0x18, 0, 0}, Vendor::nvidia);
  return machine;
}

void check(Machine& machine) {
  finish_gpus(machine);
  derive_topology(machine);
  const auto count = static_cast<int>(machine.gpus.size());
  for (int i = 0; i < count; ++i) require(machine.gpus[static_cast<std::size_t>(i)].index == i);
  for (const auto& path : machine.paths)
    require(path.gpu_a >= 0 && path.gpu_a < path.gpu_b && path.gpu_b < count);
  (void)cuda_visibility(machine);
}
}  // namespace

// The first byte chooses the source (bit 0) and the form (bit 1).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool cuda = (data[0] & 1) != 0, lines = (data[0] & 2) != 0;
  ProbeDocument document;
  if (lines) {
    document = probe_document_from_lines(text, cuda ? "cuda" : "nvml");
  } else {
    const auto json = parse_json(text, "input");
    if (!json) return 0;
    auto stored = probe_document_from_json(*json, "input");
    if (!stored) return 0;
    document = std::move(*stored);
  }
  auto machine = known_machine();
  cuda ? apply_cuda(document, machine) : apply_nvml(document, machine);
  check(machine);
  return 0;
}
