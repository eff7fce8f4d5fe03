#include "slurm/look.h"

#include "machine/gpu_use.h"
#include "report/conclude.h"
#include "report/summary.h"
#include "value/document.h"
#include "value/fields.h"

namespace gpuready {
DOCUMENT_OF(slurm::Look, .name = "slurm-look", .title = "A look at a node", .input = true);
}  // namespace gpuready

namespace gpuready::slurm {

FIELDS_OF(LookedGpu) {
  visit.about("looked_gpu", "A GPU of the node.");
  FIELD(index, "As in reports.");
  FIELD(minor_number, "Of its device file.");
  FIELD(uuid, "The driver's name of it.");
  FIELD(pci, "PCI address.");
  FIELD(integrated, "It is part of the processor.");
  FIELD(mig, "It is divided into MIG instances.");
  FIELD(usable, "Nothing that was read speaks against it.");
  FIELD(given, "It belongs to this environment.");
  FIELD(reason, "Why it is not usable.");
  FIELD(pids, "Processes that compute on it.");
}
FIELDS_OF(LookedFinding) {
  visit.about("looked_finding", "An error.");
  FIELD(id, "Of the finding.", kAlways);
  FIELD(concerns, "GPUs or addresses.");
  FIELD(title, "What is wrong.", kAlways);
  FIELD(action, "What to do.");
  FIELD(gpus, "Indices.");
}
FIELDS_OF(Look) {
  visit("exit_code", &T::exit, "As doctor's.", {.as_number = true});
  FIELD(conclusion, "As doctor's.", kAlways);
  FIELD(findings, "Errors.", kAlways);
  FIELD(gpus, "GPUs.", kAlways);
}

Look look_of(const Report& report) {
  Look look{.exit = report.exit, .conclusion = report.conclusion.value_or("")};
  for (const Finding& finding : report.findings.value_or(std::vector<Finding>{}))
    if (finding.severity == Severity::error)
      look.findings.push_back({.id = finding.id,
                               .concerns = concerned_text(finding),
                               .title = finding.title,
                               .action = finding.action,
                               .gpus = finding.gpus});
  const auto access = usability(report);
  for (std::size_t i = 0; i < report.machine.gpus.size(); ++i) {
    const Gpu& gpu = report.machine.gpus[i];
    LookedGpu looked{.index = gpu.index,
                     .minor_number = gpu.minor_number,
                     .uuid = gpu.uuid,
                     .pci = gpu.pci,
                     .integrated = gpu.integrated,
                     .mig = gpu.mig_enabled.value_or(false),
                     .usable = access[i].use == GpuUse::usable,
                     .given = is_given(access[i].use),
                     .reason = access[i].reason};
    for (const GpuProcess& process : gpu.processes)
      if (process.kind == "compute") looked.pids.push_back(process.pid);
    look.gpus.push_back(std::move(looked));
  }
  return look;
}

Result<Look> parse_look(std::string_view text) {
  return value::read_document<Look>(TRY(parse_json(text, "the look")), "the look");
}

std::string look_text(const Look& look) { return dump(value::write_document(look)); }

}  // namespace gpuready::slurm
