// The fields of the report of a machine and of a self-test.
#pragma once

#include "base/statistics.h"
#include "report/kept_results.h"
#include "report/policy.h"
#include "report/report.h"
#include "report/selftest_report.h"
#include "report/summary.h"
#include "value/action.h"
#include "value/document.h"
#include "value/fields.h"

namespace gpuready {

// One GPU by every name that others know it by, and what the report says of it.
struct GpuStatus {
  const Gpu* gpu;
  GpuState status;
  std::string reason;
  std::optional<std::vector<std::string>> findings;  // their ids; absent: not asked
  std::optional<Action> action;
  std::vector<Obligation> obligations;
};
FIELDS_OF(GpuStatus) {
  visit.about("gpu_status", "What the report says of a GPU.");
  DERIVED(index, it.gpu->index, "In machine.gpus, findings and messages; integrated GPUs count.",
          {.always = true, .least = 0});
  DERIVED(uuid, it.gpu->uuid, "The driver's name of the GPU.");
  DERIVED(pci, it.gpu->pci, "PCI address.");
  DERIVED(nvml_index, it.gpu->nvml_index, "NVML's index, which nvidia-smi shows.");
  DERIVED(cuda_ordinal, it.gpu->cuda_ordinal,
          "The CUDA driver's number of the GPU under this environment.");
  FIELD(
      status,
      "ready: every obligation that it owes is held; attention: ready, with a warning; degraded: "
      "slower or less sound than it should be; "
      "ready_in_part: its MIG instances here are ready; not_ready: unusable, failed, or an error "
      "is known; unknown: a test gave no answer; not_tested: a test was asked for and not run; "
      "in_use: not tested, because others use it; suspended: asleep, and left so; no_problem: "
      "diagnosed without a finding; warned: diagnosed with a warning; found: nothing more was "
      "asked; hidden: CUDA_VISIBLE_DEVICES gives this environment other GPUs; not_ours: on the "
      "host's bus, and not given to this container or job; display_only: it drives a display, and "
      "nothing asked it to compute; not_proven: it passed, through a "
      "library that an environment variable names; faked: exists nowhere.");
  FIELD(reason, "Why, in one sentence.");
  FIELD(findings, "Ids of the findings about it, folded ones as well; absent: not asked.");
  FIELD(action, "The strongest action of the findings about it; absent: not asked.");
  FIELD(obligations, "What it owes before it is ready, and how that ended; absent: nothing here.");
  visit.hidden(&T::gpu);
}
std::vector<GpuStatus> statuses_of(const Report& report);
std::vector<std::string> injected_faults_of(const Report& report);

FIELDS_OF(Report) {
  visit.hidden(kBase<Envelope>);
  DERIVED(injected_faults, injected_faults_of(it),
          "Classes of faults that were injected on purpose: then nothing is proven. Absent: none.");
  DERIVED(gpu_status, statuses_of(it),
          "What the report says of each GPU, which has here every index and name that it has "
          "elsewhere.",
          kAlways);
  FIELD(machine, "What is there.", kAlways);
  FIELD(findings, "Root causes, the most severe first; absent: not asked; empty: none.");
  DERIVED(action, it.findings ? std::optional(strongest_action(*it.findings)) : std::nullopt,
          "The strongest action of the findings: what the machine needs; absent: not asked.");
  FIELD(accepted, "Findings that --accept names: they are listed and do not count; absent: none.");
  FIELD(level, "Level of the tests; absent: nothing was to be tested.");
  FIELD(verdicts, "Results of tests; absent: nothing was to be tested.");
  FIELD(samples,
        "What was sampled on the GPUs while their tests ran; absent: nothing was to be sampled.");
  visit.hidden(&T::by_named_libraries, &T::obligations);
}
DOCUMENT_OF(Report, "report", "gpuready report",
            "What gpuready found out about one machine. A field that no source reported is "
            "absent: never null, 0 or NaN. Units are in the names of the keys.",
            "The command's exit code: 0 all that was asked holds, 1 unhealthy, 2 wrong usage "
            "or bad input, 3 what was required is absent, 4 undetermined, 130 "
            "it was interrupted.");

FIELDS_OF(PolicyReport) {
  FIELD(source, "The policy's file.", kAlways);
  FIELD(expected, "What it wants, in words.", kAlways);
  FIELD(unmet, "What of it this machine does not have, in words.", kAlways);
  FIELD(accepted, "What it accepts today, and why.", kAlways);
  FIELD(expired, "What it no longer accepts.", kAlways);
}
DOCUMENT_OF(PolicyReport, "policy-check", "A policy", "Whether a machine meets a policy.",
            "0: the machine meets it; 2: the file is wrong; 3: something is absent.");

FIELDS_OF(KeptResult) {
  visit.about("kept_result", "The latest result of one GPU, or of the machine.");
  FIELD(subject, "GPU 3, as numbered then, or the machine.", kAlways);
  FIELD(uuid, "The driver's name of the GPU.");
  FIELD(pci, "PCI address.");
  FIELD(standing,
        "good; bad: until a test of its level passes; retest: bad in an earlier boot or with "
        "another driver; unknown: the latest test gave no answer; absent: what was required is; "
        "expired: good too long ago, in an earlier boot or with another driver; never_tested.");
  FIELD(level, "That passed; of a bad GPU the lowest that clears it.");
  FIELD(failed, "Tests that failed; a bad GPU is cleared when they pass.");
  FIELD(endurance_seconds, "Of a bad GPU, the least --duration that clears it.", {.unit = "s"});
  FIELD(hammer, "Tested with --hammer; a bad GPU is then cleared only with --hammer.");
  FIELD(tested_unix_seconds, "When.");
  FIELD(boot_id, "The kernel's random id of the boot then.");
  FIELD(driver_version,
        "Versions of NVIDIA's and AMD's kernel modules then; absent: none has its own.");
  FIELD(reason, "Why, in one sentence.");
  FIELD(action, "The strongest action of the findings about it then; absent: not asked.");
  FIELD(obligations, "What it owed then, and how that ended.");
}
FIELDS_OF(KeptResults) {
  FIELD(machine_id, "As in other documents.");
  FIELD(results, "Of each GPU, then of the machine.", kAlways);
}
DOCUMENT_OF(KeptResults, .name = "results", .title = "Results that were kept",
            .description = "What check and test keep for status. Only gpuready writes it.",
            .input = true);
FIELDS_OF(StatusReport) {
  FIELD(standing, "The most urgent of the results'.");
  FIELD(line, "The same in one line of at most 80 bytes of ASCII.", kAlways);
  FIELD(valid_seconds, "How long a good result counts.");
  FIELD(results, "Of each GPU, then of the machine, as they count now.", kAlways);
}
DOCUMENT_OF(StatusReport, "status", "A status",
            "What the latest tests of a machine say of it now, without testing anything.",
            "0: good; 1: bad; 3: what was required is absent; 4: never tested, too long ago, "
            "before the latest boot, with another driver, or not tested again since it was bad.");

FIELDS_OF(SelfTestRow) {
  visit.about("selftest_row", "One test of one device against one class of faults.");
  FIELD(subject, "The device: GPU 0, or the host.", kAlways);
  FIELD(executor, "What ran it.", kAlways);
  FIELD(test, "The test that was tried.", kAlways);
  FIELD(fault, "The class that was injected; absent for clean runs.");
  DERIVED(faults, it.fault ? it.faults : 0, "How many were injected in each trial.", kAlways);
  FIELD(status, "Passed: every trial ended as it must.");
  FIELD(reason, "One sentence.", kAlways);
  FIELD(trials, "How often it was tried.");
  DERIVED(detected, it.fault ? it.detected : 0, "Trials whose fault was found.", kAlways);
  DERIVED(false_alarms, it.fault ? 0 : it.counted(), "Clean runs that did not pass.", kAlways);
  FIELD(placed, "Trials whose places were reported exactly, where the test tells places.");
  DERIVED(rate, static_cast<double>(it.counted()) / static_cast<double>(it.trials),
          "Of detection, or of false alarms for clean runs.",
          {WHEN(it.trials > 0), .least = 0, .most = 1});
  DERIVED(rate_low, wilson_interval(it.counted(), it.trials).first,
          "Lower end of its 95% interval (Wilson).", {WHEN(it.trials > 0), .least = 0, .most = 1});
  DERIVED(rate_high, wilson_interval(it.counted(), it.trials).second, "Upper end.",
          {WHEN(it.trials > 0), .least = 0, .most = 1});
  FIELD(duration_ms, "How long its trials took.");
  visit.hidden(&T::faults, &T::detected);
}

FIELDS_OF(SelfTestReport) {
  visit.hidden(kBase<Envelope>);
  FIELD(seed, "All places follow from it.");
  FIELD(rows, "One for each device, test and fault class.", kAlways);
}
DOCUMENT_OF(SelfTestReport, "selftest", "A self-test",
            "What the tests found of faults that were injected on purpose, and how often "
            "they raised a false alarm.",
            "0: all ended as they must; 1: one did not; 4: one could not be tried.");

}  // namespace gpuready
