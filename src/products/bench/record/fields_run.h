// visit_fields() of the types of run_record.h: their JSON, schema and tables.
#pragma once

#include "bench/record/run_record.h"
#include "value/document.h"
#include "value/names.h"

namespace gpuready {

namespace bench {

FIELDS_OF(BenchedGpu) {
  visit.about("bench_gpu", "A GPU that a benchmark ran on.");
  FIELD(name, "Model.");
  FIELD(uuid, "The driver's name of the GPU.");
  FIELD(memory_total, "Its memory, such as 81559 MiB.");
  FIELD(compute_capability, "Its compute capability, such as 9.0.");
}

FIELDS_OF(Environment) {
  visit.about("bench_environment",
              "What results depend on and what stays the same from run to run.");
  DERIVED(fingerprint, it.fingerprint(), "One name for all of it but the variables.");
  FIELD(gpus, "The GPUs that the workload ran on.");
  FIELD(driver_version, "Version of the GPU's driver.");
  FIELD(cuda_version, "The CUDA version that the driver supports.");
  FIELD(kernel_release, "Release of the kernel.");
  FIELD(os_name, "PRETTY_NAME of os-release.");
  FIELD(cpu_model, "Model of the CPU.");
  FIELD(cpu_cores, "Number of cores that the run may use, by its affinity.");
  FIELD(cpu_affinity, "The cores that the run may use, such as 0-3,8.");
  FIELD(cpu_governor, "Governor of their clocks, such as powersave; several: separated by commas.");
  FIELD(cpu_limit, "Quota of the control group, in CPUs of time; absent without one.");
  FIELD(variables, "Environment variables that stacks are given and that may change results.");
}

FIELDS_OF(Workload) {
  visit.about("bench_workload", "What every stack computes, once an iteration.");
  FIELD(name, "mlp, gemm, attention, copy, ternary, or another program's name of it.", kAlways);
  FIELD(shape, "Sizes by name: batch and hidden; m, n and k.");
  FIELD(dtype, "fp32, tf32, bf16 or fp16.");
  FIELD(device, "cuda, cpu or vulkan.");
  FIELD(rows, "Rows of one iteration: the batch.");
  FIELD(elements, "Elements of one iteration: batch x hidden, which PyC's suite calls tokens.");
  FIELD(flops, "Floating-point operations of one iteration, by definition.");
  FIELD(bytes, "Bytes that one iteration must read and write, by definition.");
}

FIELDS_OF(Protocol) {
  visit.about("bench_protocol", "How it was timed.");
  FIELD(iters, "Timed iterations of a repeat, as asked for.");
  FIELD(warmup, "Iterations before these, as asked for.");
  FIELD(repeats, "Most processes of each stack, as asked for.");
  FIELD(until_percent,
        "Repeats end early when the typical time of each stack is known within this share.",
        {.unit = "%"});
  FIELD(max_seconds, "Most seconds of timing in one process, as asked for.", {.unit = "s"});
  FIELD(seed, "Seed of the order in which the stacks took turns.");
  FIELD(input_seed, "Seed of the inputs, drawn for each run.");
  FIELD(origin,
        "Who timed it: gpuready, google-benchmark, nvbench, llama-bench, hyperfine, asv or pyc.");
  FIELD(clocks_locked, "Whether the GPU's clocks were locked.");
  FIELD(locked_mhz, "The clock of the SMs at which they were locked.");
  FIELD(startups_overlapped,
        "Several adapters imported their libraries at the same time, while nothing was timed.");
}

FIELDS_OF(Roofline) {
  visit.about("bench_roofline", "What the machine reaches at most, measured in the same session.");
  FIELD(flops_per_s, "Floating-point operations in the workload's dtype.", {.unit = "1/s"});
  FIELD(bytes_per_s, "Bytes read and written.", {.unit = "B/s"});
}

FIELDS_OF(Latency) {
  visit.about("bench_latency", "Times of one iteration in the steady state.");
  FIELD(mean_ns, "Mean.");
  FIELD(p50_ns, "Half of the samples take less.");
  FIELD(p95_ns, "95% of the samples take less; ranked from 200 samples on.");
  FIELD(min_ns, "The least.");
  FIELD(max_ns, "The greatest.");
}

FIELDS_OF(Conditions) {
  visit.about("bench_conditions", "Means over a repeat, sampled beside it.");
  FIELD(sm_mhz, "Clock of the SMs.");
  FIELD(memory_mhz, "Clock of the memory.");
  FIELD(power_mw, "Power drawn while it was timed; only where that is as long as energy needs.");
  FIELD(gpu_celsius, "Temperature of the GPU.");
  FIELD(throttle_reasons, "Reasons of held-back clocks, each seen at least once.");
}

FIELDS_OF(Load) {
  visit.about("bench_load", "What else used the machine.");
  FIELD(
      others_cpu_percent,
      "Time of the cores that the run may use that other programs took while it lasted, and other "
      "guests of a virtual machine's host.",
      {.unit = "%"});
  FIELD(gpu_processes, "Processes that had the run's GPU open before it.");
  FIELD(gpu_percent, "Utilisation of the run's GPU before it.", {.unit = "%"});
}

FIELDS_OF(Repeat) {
  visit.about("bench_repeat", "One process of one stack.");
  FIELD(position, "Its place in the run's order over all stacks, from 0.");
  FIELD(status,
        "ok; unavailable: not installed, or cannot do this; error: failed, hung or answered with "
        "garbage; different_work: another graph, dtype, shape or output; not_believable: it "
        "states times that cannot be true; no_valid_samples: all were taken under throttling.");
  FIELD(reason, "Why it is not ok.");
  DERIVED(latency, latency_of(it),
          "Of the samples that were not taken under throttling, or as reported.");
  FIELD(samples_ns,
        "The time of each iteration, in order; hot: caches as the workload leaves them.");
  FIELD(throttled, "Which of them, from 0, were taken under throttling, and do not count.");
  FIELD(cold_samples_ns, "The same with caches flushed before each.");
  FIELD(reported, "What a stack that gives no samples says.");
  FIELD(setup_ms, "Time from the inputs to a stack that is ready to run, compilation included.");
  FIELD(compile_ms, "Time until the stack had code to run.");
  FIELD(first_run_ms, "Time of the first iteration.");
  FIELD(energy_mj, "Energy of one iteration.");
  FIELD(no_energy, "Why there is none, though power was read.");
  FIELD(flops_done, "Floating-point operations of one iteration, as the stack says.");
  FIELD(memory_peak_bytes, "The most memory that the process held, seen from outside.");
  FIELD(memory_seen,
        "As what: device_used, the GPU's used memory less what was used when the process began; "
        "resident, the resident memory of the largest of its processes.");
  FIELD(self_memory_peak_bytes, "The same as the stack says of itself.");
  FIELD(digest, "Of its output: products with fixed random vectors.", {.unit = "1"});
  FIELD(unverified, "Whether it gave no digest, so that nothing shows which work it did.");
  FIELD(notes, "What the stack says of itself, such as the algorithms that it chose.");
  FIELD(conditions, "Clocks, power and temperature beside it.");
}

FIELDS_OF(StackResult) {
  visit.about("bench_stack", "One compiler stack's results.");
  FIELD(id, "Its name, such as torch_eager.", kAlways);
  FIELD(display_name, "Its name for people, where that is another.");
  FIELD(mode, "native; proxy: another stack that replaces it.");
  FIELD(status, "As of a repeat; of the worst that forbids a ranking.");
  FIELD(reason, "Why it is not ok.");
  FIELD(cure, "How to get it, where it is unavailable.");
  FIELD(unverified,
        "Whether a repeat gave no digest: the stack is timed, ranked apart and compared only with "
        "itself.");
  FIELD(reference,
        "Whether it says that it is a reference, made to be checked against: not ranked.");
  FIELD(versions, "Versions of its parts: the framework, its libraries, Python.");
  FIELD(settings, "What it was set to, such as the mode of compilation, as it says.");
  FIELD(variables, "Environment variables that it is given beside those of the run.");
  FIELD(command, "The program and arguments that were run.");
  DERIVED(latency, latency_of(it), "Of each figure the median over the repeats.");
  FIELD(repeats, "Its processes.");
}

FIELDS_OF(RunRecord) {
  visit.about("bench_run", "One workload on several stacks in one session on one machine.");
  FIELD(tag, "The name that the user gave.", kAlways);
  FIELD(id, "A name that no other run has.", kAlways);
  FIELD(started_utc,
        "When it began, UTC, as 2026-03-01T12:00:00.123Z; earlier runs have no milliseconds.");
  FIELD(tool_version, "Version of the tool that made it.");
  FIELD(git_commit, "Commit of the project in whose folder it ran.");
  FIELD(git_dirty, "Whether that project had changes that were not committed.");
  FIELD(idea, "What this run changes, where it is a candidate.");
  FIELD(environment, "What results depend on.", kAlways);
  FIELD(workload, "What every stack computes.", kAlways);
  FIELD(protocol, "How it was timed.", kAlways);
  FIELD(load, "What else used the machine.");
  FIELD(roofline, "What the machine reaches at most.");
  FIELD(stacks, "Results by stack.", kAlways);
  FIELD(notes, "What else should be known.");
  FIELD(interrupted, "Whether it was ended before all repeats had run; then nothing is ranked.");
}

}  // namespace bench
DOCUMENT_OF(
    bench::RunRecord, "bench-run", "A benchmark run",
    "One workload on several compiler stacks, in one session on one machine. A field that no "
    "source reported is absent: never null, 0 or NaN. Units are in the names of the keys.",
    "As the command that made the run says: gpuready bench run --help.", "run", "The run.");

}  // namespace gpuready
