// The C interface's documents. Nothing is thrown across it.
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "base/c_status.h"
#include "base/clock.h"
#include "doctor/diagnose.h"
#include "gpuready/gpu_info.h"
#include "gpuready/gpuready.h"
#include "host/host.h"
#include "host/machine_id.h"
#include "report/conclude.h"

namespace {

using gpuready::Result;

// As `gpuready detect --full` and `gpuready doctor` make it.
std::string document_of(const gpuready::Machine& machine, bool diagnosed) {
  gpuready::Report report;
  report.command = diagnosed ? "doctor" : "detect";
  report.tool_version = GPUREADY_VERSION;
  report.created_utc = gpuready::format_utc(std::time(nullptr));
  const auto host = gpuready::make_live_host();
  report.machine_id = gpuready::machine_id(*host);
  report.boot_id = gpuready::boot_id(*host);
  report.machine = machine;
  if (diagnosed) report.findings = gpuready::diagnose(report.machine);
  gpuready::conclude(report, {});
  return gpuready::dump(to_json(report));
}

gpuready_status give_document(char** json, bool diagnosed) {
  return gpuready::c_call([&]() -> Result<void> {
    if (json == nullptr) return gpuready::null_pointer("json");
    *json = nullptr;
    const auto text = document_of(*TRY(gpuready::inspect_machine()), diagnosed);
    auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    *json = copy;
    return {};
  });
}

}  // namespace

extern "C" {

gpuready_status gpuready_inspect_json(char** json) { return give_document(json, false); }
gpuready_status gpuready_diagnose_json(char** json) { return give_document(json, true); }
void gpuready_free(void* memory) { std::free(memory); }

}  // extern "C"
