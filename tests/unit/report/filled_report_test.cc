#include "samples.h"
#include "unit/value/fill.h"

namespace gpuready::samples {

Report filled() {
  Report out;
  out.command = "text 1001";
  out.tool_version = "text 1002";
  out.created_utc = "text 1003";
  out.machine_id = "0123456789abcdef0123456789abcdef";
  out.boot_id = "fedcba9876543210fedcba9876543210";
  out.machine = value::filled<Machine>(10000);
  out.findings = {value::filled<Finding>(20000)};
  out.accepted = {value::filled<Finding>(25000)};
  out.level = "standard";
  out.verdicts = {value::filled<Verdict>(30000)};
  out.obligations.assign(out.machine.gpus.size(), {value::filled<Obligation>(35000)});
  out.samples = value::filled<Samples>(40000);
  out.conclusion = "text 1283";
  out.notes = {"text 1284"};
  out.exit = Exit::unknown;
  out.duration_ms = 1285.5;
  return out;
}

}  // namespace gpuready::samples
