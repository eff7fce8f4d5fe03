// Findings, verdicts and samples: fields of finding.h, verdict.h and samples.h.
#pragma once

#include "gpuready/finding.h"
#include "gpuready/obligation.h"
#include "gpuready/samples.h"
#include "gpuready/verdict.h"
#include "value/field.h"

namespace gpuready {

FIELDS_OF(Evidence) {
  visit.about("evidence", "A quoted proof.");
  FIELD(source, "Where it stands: a path, kernel log, a call, environment.", kAlways);
  FIELD(quote, "What it says, verbatim.", kAlways);
}

FIELDS_OF(LoggedProcess) {
  visit.about("logged_process", "A process that a record of the kernel log names.");
  FIELD(pid, "Its number as the kernel counts them: the host's, also in a container.", kAlways);
  FIELD(name, "At most 15 characters; its user chose it.", kAlways);
}

FIELDS_OF(Logged) {
  visit.about("logged",
              "When the kernel logged what a finding quotes, and records that differ from it only "
              "in numbers.");
  FIELD(first_seconds, "The first of them, in seconds since boot.", kAlways);
  FIELD(last_seconds, "The last of them, in seconds since boot.", kAlways);
  FIELD(first_unix_seconds,
        "first_seconds, in seconds since 1970-01-01 UTC; absent where the clock was not read, or "
        "the machine slept since boot.");
  FIELD(last_unix_seconds, "last_seconds; as first_unix_seconds.");
  FIELD(processes, "What used the GPU then, as NVIDIA's driver says with an Xid.");
}

FIELDS_OF(CureTerms) {
  visit.about("cure_terms", "What a cure costs, where it is done, and what must hold before.");
  FIELD(risk, "What it costs those who use the machine, least first.");
  FIELD(
      place,
      "guest: in the virtual machine whose console was read; launcher: where the container or job "
      "is started; firmware: its setup; hardware: by hand.");
  FIELD(needs,
        "What must hold before: root's rights; with them, that nothing uses the GPU (free_gpu) or "
        "the machine (free_machine); that its power is off.");
}

FIELDS_OF(Finding) {
  visit.about("finding",
              "One thing that is wrong or could not be seen, with its proof and its cure.");
  FIELD(id, "Stable name of the cause, such as driver-library-mismatch; docs/findings.md.",
        kAlways);
  FIELD(severity,
        "info: worth knowing; warning: works, but not as it should; error: a GPU is unusable or "
        "not to be trusted.");
  FIELD(title, "What is wrong, in one line.", kAlways);
  FIELD(explanation, "One or two sentences.");
  FIELD(gpus, "Indices of the GPUs concerned; with pci absent too: the whole machine.");
  FIELD(pci, "Addresses concerned, also of devices that are not GPUs.");
  FIELD(evidence, "The proof, quoted.");
  FIELD(logged, "When the kernel logged it; absent: nothing quoted has a time in its log.");
  FIELD(cure, "What to do, one sentence.");
  FIELD(command, "The cure as a command.");
  FIELD(terms, "What the cure costs, where it is done, and what must hold before.");
  FIELD(
      action,
      "The kind of the cure, weakest first; ask_host: one that cannot be done from this container "
      "or virtual machine. docs/actions.md.");
  FIELD(explains, "What follows from it, folded under it.");
}

FIELDS_OF(Metric) {
  visit.about("metric", "One measured value, and what it was held against.");
  FIELD(name, "snake_case, without the unit.", kAlways);
  FIELD(value, "The measured value, in `unit`; absent when it is not a finite number.", kAlways);
  FIELD(unit, "Unit of value and threshold: B/s, B, ms, or 1 for a ratio or a count.", kAlways);
  FIELD(threshold, "The least that passes, in `unit`; absent: not judged.");
  FIELD(threshold_source, "Where the threshold comes from.");
}

FIELDS_OF(BadWord) {
  visit.about("bad_word", "A word that did not read back as written.");
  FIELD(offset_bytes, "Offset within the tested range.", {.hex_digits = 0});
  FIELD(expected, "The 8 bytes that were written.", {.hex_digits = 16});
  FIELD(actual, "The 8 bytes that were read.", {.hex_digits = 16});
  DERIVED(bits, it.bits(), "The bits that differ: expected xor actual.", {.hex_digits = 16});
  FIELD(phase, "The pass that saw it, such as address or complement.", kAlways);
  FIELD(repeats, "Read again, and bad again (true) or good (false); absent: not read again.");
}

FIELDS_OF(Mismatch) {
  visit.about("mismatch", "A computed or copied value that is not the golden one.");
  FIELD(what, "The operation, such as fp32 fma.", kAlways);
  FIELD(unit, "The SM that computed it, as it named itself.");
  FIELD(index, "Which result of that operation.");
  FIELD(expected, "Bit pattern.", {.hex_digits = 16});
  FIELD(actual, "Bit pattern.", {.hex_digits = 16});
}

FIELDS_OF(Digest) {
  visit.about("digest", "A value that must be the same on every device of a model.");
  FIELD(name, "Of what.", kAlways);
  FIELD(value, "64 bits.", {.hex_digits = 16});
}

FIELDS_OF(UnitCoverage) {
  visit.about("unit_coverage", "SMs (or threads on a CPU) that were seen to do the work.");
  FIELD(tested, "Seen to do the work.");
  FIELD(total, "All of them.");
}

FIELDS_OF(Coverage) {
  visit.about("coverage", "How much of the memory was tested.");
  FIELD(tested_bytes, "Bytes verified, counted by the device.");
  FIELD(free_bytes, "Free before the test, as the driver reported.");
  FIELD(total_bytes, "All that the driver says the device has.");
  FIELD(reserved_bytes, "Kept by the driver or firmware.");
}

FIELDS_OF(Verdict) {
  visit.about("verdict", "The result of one test on one device, with its evidence.");
  FIELD(test, "The test, such as memory.", kAlways);
  FIELD(subject, "What was tested: GPU 0, or the host.", kAlways);
  FIELD(uuid, "UUID of the GPU that ran the test, as its driver reported it.");
  FIELD(pci_address, "PCI address of the GPU that ran the test.");
  FIELD(peer_uuid, "UUID of the other GPU, where a pair was tested.");
  FIELD(executor, "What ran it: cuda, vulkan, hip or cpu.");
  FIELD(status, "How the test ended. Only passed is passed.");
  FIELD(reason, "One sentence; for passed: what was proven.", kAlways);
  FIELD(not_judged, "Parts of the test that could not be done here, each with the reason.");
  FIELD(error_code,
        "The driver's error number, in its API's own numbering: CUresult, hipError_t or VkResult.");
  FIELD(coverage, "How much of the memory was tested.");
  FIELD(metrics, "What was measured.", kAlways);
  FIELD(bad_words_total, "How many words did not read back as written.");
  FIELD(bad_words, "The first bad words by address, at most 64.", kAlways);
  FIELD(units, "SMs (or threads on a CPU) that were seen to do the work.");
  FIELD(mismatches_total, "How many computed or copied values were not the golden ones.");
  FIELD(mismatches, "Some of them, at most 64.", kAlways);
  FIELD(digests, "Values that must be the same on every device of a model.", kAlways);
  FIELD(started_ms,
        "When the test began, in milliseconds since the run began; absent: it did not run.");
  FIELD(duration_ms, "How long the test took.");
  FIELD(injected_fault,
        "The class of the fault that was injected on purpose: then the result says nothing about "
        "the device.");
}

FIELDS_OF(Obligation) {
  visit.about("obligation", "What a GPU owes before it is ready for work, and how that ended.");
  FIELD(kind,
        "identity, integrity, coverage, clock, host_link, peer_links, health_counters or burn: "
        "docs/obligations.md.");
  FIELD(status, "held, degraded, broken, or not_judged.");
  FIELD(duty,
        "owed: not judged is not ready; hidden: the kind of GPU or its surroundings hide it for "
        "good; not_owed: the level or the named tests do not include it.");
  FIELD(reason, "What was shown, or why it was not judged.");
  FIELD(figure, "What was measured, with its limit and where the limit came from.");
  FIELD(required, "--require names it.", {.sparse = true});
  FIELD(accepted, "It is degraded, and accepted as such.", {.sparse = true});
}

FIELDS_OF(SampleSeries) {
  visit.about("sample_series",
              "One quantity of one GPU. A long run is thinned: a point then stands for several "
              "samples by their mean, a counter's by its last.");
  FIELD(gpu, "The GPU, by its index in the machine.");
  FIELD(uuid, "UUID of the GPU.");
  FIELD(name,
        "The quantity: sm_clock, memory_clock, power, gpu_temperature, memory_temperature, "
        "utilization, ecc_corrected, ecc_uncorrected, pcie_replays; or what held the clocks back, "
        "as a share of the time: clock_event_any, clock_event_sw_power_cap, "
        "clock_event_hw_thermal_slowdown, ...",
        kAlways);
  FIELD(unit, "MHz, W, C, or 1 for a count or a share from 0 to 1.", kAlways);
  FIELD(taken, "Samples taken, before thinning.");
  FIELD(min, "The least of all samples.", {.thousandths = true});
  FIELD(mean, "The mean of all samples.", {.thousandths = true});
  FIELD(max, "The most of all samples.", {.thousandths = true});
  FIELD(last, "The last sample.", {.thousandths = true});
  FIELD(t_ms, "Times of the points, in milliseconds since the run began.",
        {.always = true, .thousandths = true});
  FIELD(value, "Values of the points, in the unit.", {.always = true, .thousandths = true});
}

FIELDS_OF(SampledXid) {
  visit.about("sampled_xid", "An Xid that NVML reported while the tests ran.");
  FIELD(gpu, "The GPU, by its index in the machine; absent: none that the machine knows.");
  FIELD(at_ms, "When, in milliseconds since the run began.");
  FIELD(xid, "The Xid.");
}

FIELDS_OF(Samples) {
  visit.about("samples", "What was sampled on the GPUs while their tests ran.");
  FIELD(interval_ms, "Milliseconds between two samples, before thinning.");
  FIELD(absent, "What could not be sampled, and why.");
  FIELD(series, "One for each quantity of each GPU.", kAlways);
  FIELD(sampled_xids, "Xids that NVML reported meanwhile, in order of time.");
}

}  // namespace gpuready
