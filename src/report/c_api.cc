// The C interface's documents. Nothing is thrown across it.
#include <cstdlib>
#include <ctime>

#include "base/clock.h"
#include "doctor/diagnose.h"
#include "gpuready/gpu_info.h"
#include "gpuready/gpuready.h"
#include "host/host.h"
#include "host/machine_id.h"
#include "report/c_document.h"
#include "report/conclude.h"

namespace {

using gpuready::Result;

// As `gpuready detect --full` and `gpuready doctor` make it.
gpuready::Json document_of(const gpuready::Machine& machine, bool diagnosed) {
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
  return to_json(report);
}

gpuready_status give_machine(char** json, bool diagnosed) {
  return gpuready::give_document(json, [&]() -> Result<gpuready::Json> {
    return document_of(*TRY(gpuready::inspect_machine()), diagnosed);
  });
}

}  // namespace

extern "C" {

gpuready_status gpuready_inspect_json(char** json) { return give_machine(json, false); }
gpuready_status gpuready_diagnose_json(char** json) { return give_machine(json, true); }
void gpuready_free(void* memory) { std::free(memory); }

}  // extern "C"
