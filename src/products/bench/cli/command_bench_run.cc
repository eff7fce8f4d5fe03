// `gpuready bench run`: one workload on every stack, each repeat in a fresh process.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/cpu/cpus.h"
#include "base/random.h"
#include "base/text.h"
#include "bench/cli/bench_commands.h"
#include "bench/cli/bench_options.h"
#include "bench/compare/ranking.h"
#include "bench/record/conditions.h"
#include "bench/record/result_files.h"
#include "bench/report/exit_rules.h"
#include "bench/report/run_report.h"
#include "bench/run/adapter_files.h"
#include "bench/run/adapter_run.h"
#include "bench/run/child_variables.h"
#include "bench/run/environment.h"
#include "bench/run/gpu_check.h"
#include "bench/run/load.h"
#include "bench/run/reference.h"
#include "bench/run/remote.h"
#include "bench/run/roofline.h"
#include "bench/run/session.h"
#include "bench/run/turn.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "host/clock_lock.h"
#include "host/xid_listener.h"
#include "jobs/helper.h"
#include "machine/gpu_choice.h"
#include "machine/system/container.h"
#include "value/read_fields.h"

namespace gpuready::cli {
namespace {

constexpr std::uint64_t kRepeats = 6, kMostRepeats = 20;
constexpr auto kLongestRemoteRun = std::chrono::hours(24);  // bench run has its own limits

struct BenchRunOptions {
  Globals globals;
  std::string task = "mlp", device, dtype, folder{bench::kResultsFolder}, gpu, idea;
  bench::TagChoice tag;
  std::vector<std::string> stacks;
  bench::Request request;
  std::optional<std::uint64_t> repeats;
  std::optional<double> until_percent;
  std::optional<std::uint64_t> order_seed;
  double timeout_s = 600, silence_s = 120;
  std::optional<std::string> compat;
  bool no_check = false, no_overlap = false, roofline = false;
  std::optional<std::uint64_t> lock_mhz;  // 0: the GPU's default
  std::string remote;
  std::vector<Option> measuring;  // those that another machine gets, too
};

struct Outcome : bench::NewRun {
  bool sick = false;
  std::optional<Exit> exit;  // as another machine said
};

// What is written after hours of timing is tried before.
Result<void> check_places(const BenchRunOptions& options) {
  TRY(bench::check_writable(options.folder));
  if (options.compat) TRY(bench::check_writable(*options.compat));
  return {};
}

constexpr std::uint64_t kInputSeeds = 1'000'000'000;

Result<Outcome> measured(BenchRunOptions& options, Host& host) {
  Outcome outcome;
  bench::RunRecord& run = outcome.run;
  const Machine machine = inspect(host, {});
  catch_interrupts();
  const bool on_cpu = options.device == "cpu" && options.gpu.empty();
  const Gpu* found = on_cpu ? nullptr : TRY(bench::gpu_of_stacks(machine, options.gpu));
  bench::Request request = TRY(bench::request_of(options.request, options.task, options.device,
                                                 options.dtype, found != nullptr));
  // Drawn, so that no stack can know its output before: at most what a JSON number holds exactly.
  request.seed = random_u64() % kInputSeeds + 1;
  const Gpu* gpu = request.device == "cuda" ? found : nullptr;
  const auto old_runs = TRY(bench::runs_to_replace(host, options.folder, options.tag));
  if (options.tag.add)
    TRY(bench::check_same_work(host, options.folder, options.tag.name,
                               bench::workload_of(request)));
  const auto commands = [&](const std::string& scripts) {
    return bench::stack_commands(options.stacks, variable, helper_job({}).program, scripts);
  };
  TRY(commands(""));  // before a folder is made
  TRY(check_places(options));
  const auto stacks = TRY(commands(TRY(bench::place_adapters(options.folder, host))));

  ProgressLine progress(options.globals.quiet);
  const auto tell = [&](std::string_view holder) {
    if (!options.globals.quiet)
      std::fputs(fmt::format("waiting for another bench run: {}\n", holder).c_str(), stderr);
  };
  const bench::Turn turn =
      bench::wait_for_turn(host, bench::kTurnPath, tell, [] { return !interrupted(); });
  if (!turn.lock && !interrupted())
    run.notes.push_back(fmt::format("Other runs may have been timed at the same time: {}.",
                                    turn.lock.error().message));
  // The GPU's users, after those of another run have left.
  const Machine now = turn.waited ? inspect(host, {}) : Machine();
  const bench::LoadWatch load(
      host, gpu == nullptr || !turn.waited ? gpu : TRY(gpu_named(now, "--gpu", *gpu->uuid)));
  bench::name_run(run, options.tag.name, std::chrono::system_clock::now(),
                  static_cast<std::uint32_t>(random_u64()));
  run.tool_version = GPUREADY_VERSION;
  run.idea = bench::recorded_idea(options.idea);
  run.environment = bench::environment_of(machine, gpu, host);
  const auto changes = bench::changes_for_stacks(gpu != nullptr ? *gpu->uuid : "");
  run.environment.variables = bench::recorded_variables(environ, changes);
  if (!options.idea.empty())  // where the idea is a variable, for bench promote --idea
    if (const auto value = host.environment(options.idea))
      run.environment.variables[options.idea] = bench::recorded_value(options.idea, *value);
  bench::add_git_state(run, host);
  run.workload = bench::workload_of(request);
  run.protocol = {
      .iters = request.iters,
      .warmup = request.warmup,
      .repeats = options.repeats.value_or(options.until_percent ? kMostRepeats : kRepeats),
      .seed = options.order_seed.value_or(random_u64() % 1'000'000),
      .input_seed = request.seed,
      .until_percent = options.until_percent,
      .max_seconds = request.max_seconds,
      .origin = "gpuready",
      .clocks_locked = false,
      .locked_mhz = {},
      .startups_overlapped = {}};

  std::unique_ptr<ClockLock> lock;
  if (options.lock_mhz) {
    if (gpu == nullptr)
      return fail(ErrorKind::bad_input, "--lock-clocks: this run does not use an NVIDIA GPU");
    lock = TRY(ClockLock::take(*gpu->uuid, static_cast<unsigned>(*options.lock_mhz)));
    run.protocol.clocks_locked = true;
    run.protocol.locked_mhz = lock->mhz();
    run.notes.push_back(fmt::format("The GPU's clocks were locked at {} MHz.", lock->mhz()));
  }
  const auto check = [&](const char* when) {
    if (gpu == nullptr || options.no_check) return;
    progress.show(fmt::format("health of the GPU {}", when));
    const auto result = bench::check_gpu(*gpu->uuid, {.cancel = &interrupted()});
    outcome.sick |= result.sick;
    if (result.finding)
      run.notes.push_back(fmt::format("Check of the GPU {}: {}", when, *result.finding));
  };
  check("before the run");
  if (outcome.sick)
    return fail(
        ErrorKind::device,
        run.notes.back() + " An unhealthy GPU gives no valid results; --no-check skips the check.");
  progress.show("the reference on the CPU");
  const auto expected = bench::reference_digests(request, count_of_affinity());

  bench::SessionOptions session;
  session.repeats = *run.protocol.repeats;
  session.order_seed = *run.protocol.seed;
  const auto ms = [](double seconds) {
    return std::chrono::milliseconds(static_cast<long>(seconds * 1000));
  };
  session.limits = {ms(options.timeout_s), ms(options.silence_s)};
  session.environment = changes;
  // The idea's variable, whatever its name.
  if (const auto value = variable(options.idea))
    session.environment.emplace_back(options.idea, value);
  session.supervisor = helper_job({}).program;
  session.watch.cancel = &interrupted();
  if (!options.no_overlap)
    session.at_once = bench::prepared_at_once(
        request,
        static_cast<std::size_t>(
            std::min<double>(count_of_affinity(), machine.container.cpu_limit.value_or(1e9))),
        available_memory_bytes(machine));
  session.progress = [&](const std::string& text) { progress.show(text); };
  if (options.roofline) {
    progress.show("the machine's roofline");
    auto measured = bench::measure_roofline(request, session.supervisor, session);
    run.roofline = measured.roofline;
    for (std::string& note : measured.notes) run.notes.push_back(std::move(note));
  }
  bench::RoundHooks hooks;
  std::optional<XidListener> listener;
  if (gpu != nullptr) {
    hooks.begins = [&] { listener.emplace(); };
    hooks.ends = [&](std::span<bench::RanRepeat> round) {
      bench::add_conditions(listener->stop(), *gpu->uuid, round);
      listener.reset();
    };
  }
  if (options.until_percent)
    hooks.open = [&](std::span<const bench::RanRepeat> so_far) {
      return bench::stacks_to_repeat(bench::results_of(stacks, so_far),
                                     *options.until_percent / 100, session.repeats);
    };
  const auto ran = bench::run_session(stacks, request, expected, session, hooks);
  if (interrupted() && ran.empty())
    return fail(ErrorKind::cancelled,
                "the run was interrupted before the first repeat had ended; nothing is kept");
  run.load = load.until_now();
  run.stacks = bench::results_of(stacks, ran);
  if (std::ranges::any_of(ran, &bench::RanRepeat::overlapped))
    run.protocol.startups_overlapped = true;
  if (options.until_percent && !interrupted())
    for (auto& note : bench::notes_of_uncertainty(run.stacks, *options.until_percent / 100))
      run.notes.push_back(std::move(note));
  if (interrupted()) {
    bench::set_interrupted(run, ran.size());
    return outcome;
  }
  double harness_ms = 0;
  for (const auto& each : ran) harness_ms = std::max(harness_ms, each.harness_ms);
  run.notes.push_back(fmt::format("The harness took at most {:.1f} ms of a repeat.", harness_ms));
  check("after the run");
  if (lock)
    if (const auto released = lock->release(); !released)
      run.notes.push_back(released.error().message);
  outcome.replaced = old_runs;
  return outcome;
}

Result<Outcome> measured_elsewhere(BenchRunOptions& options, Host& host) {
  catch_interrupts();
  Outcome outcome;
  outcome.replaced = TRY(bench::runs_to_replace(host, options.folder, options.tag));
  TRY(check_places(options));
  bench::RemoteRun remote;
  remote.target = options.remote;
  remote.binary = helper_job({}).program;
  for (const Option& option : options.measuring)
    for (std::string& word : as_words(option)) remote.args.push_back(std::move(word));
  remote.variables = bench::variables_for_elsewhere(environ, options.idea);
  remote.limits.time = kLongestRemoteRun;
  ProgressLine progress(options.globals.quiet);
  progress.show("running on " + printable(options.remote));
  const std::string name = "the run of " + printable(options.remote);
  const std::string text = TRY(bench::run_remotely(remote, host, {.cancel = &interrupted()}));
  outcome.run = TRY(bench::read_run(text, name));
  TRY(bench::accept_tag(outcome.run, options.tag, name));
  if (options.tag.add)
    TRY(bench::check_same_work(host, options.folder, outcome.run.tag, outcome.run.workload));
  outcome.exit = exit_elsewhere(
      value::read_document<Envelope>(TRY(parse_json(text, name, text.size())), name));
  bench::add_git_state(outcome.run, host);  // the project is here
  return outcome;
}

int run_bench_run(BenchRunOptions& options) {
  const auto start = Clock::now();
  const auto host = make_live_host();
  auto outcome =
      options.remote.empty() ? measured(options, *host) : measured_elsewhere(options, *host);
  if (!outcome) return complain(outcome.error(), exit_of_run_error(outcome.error().kind));
  bench::settle_tag(*outcome, *host, options.folder, options.tag);
  Envelope envelope = begin_envelope("bench run");
  envelope.conclusion = conclusion_of(outcome->run);
  envelope.exit = exit_of_run(BenchRun{outcome->run, options.stacks, outcome->sick}, outcome->exit);
  envelope.duration_ms = elapsed_ms(start);
  const Json doc = to_json(outcome->run, envelope);
  const auto kept = bench::keep_run(options.folder, *outcome, dump(doc), options.compat);
  const int code = deliver(Delivery{.envelope = envelope,
                                    .json = [&] { return doc; },
                                    .terminal =
                                        [&](const TerminalStyle& style) {
                                          return render_terminal(
                                              outcome->run, envelope,
                                              bench::run_path(options.folder, outcome->run), style);
                                        }},
                           options.globals);
  if (kept) return code;
  complain(kept.error());  // below the figures, which are not lost
  return exit_unkept(code);
}

Option count_option(const char* name, std::uint64_t& value, const char* help, double most) {
  return {.name = name, .value = &value, .help = help, .type = "N", .range = Range{1, most}};
}
Option size_option(const char* name, std::uint64_t& value, const char* help) {
  return count_option(name, value, help, bench::kMostElements);
}

}  // namespace

void declare_bench_run(CommandSpec& command) {
  auto options = std::make_shared<BenchRunOptions>();
  command.run = [options] { return run_bench_run(*options); };
  add_output(command, options->globals);
  bench::Request& request = options->request;
  options->measuring = {
      {.name = "--task",
       .value = &options->task,
       .help = "The workload (default: mlp)",
       .one_of = bench_tasks()},
      {.name = "--device",
       .value = &options->device,
       .help = "The device; if not given, cuda on a machine with an NVIDIA GPU, else cpu",
       .one_of = {"cuda", "cpu", "vulkan"}},
      {.name = "--gpu",
       .value = &options->gpu,
       .help = fmt::format("The GPU: {} (default: the first)", kGpuWords),
       .type = "GPU"},
      {.name = "--dtype",
       .value = &options->dtype,
       .help = "fp32, tf32, bf16 or fp16, or another name of it such as float32 or half (default: "
               "fp16 on cuda, and fp32 elsewhere)",
       .type = "DTYPE",
       .one_of = bench::dtype_names()},
      size_option("--batch", request.batch, "Rows of mlp and attention (default: 64)"),
      size_option("--hidden", request.hidden,
                  "Width of mlp (up to 8192) and attention (a multiple of 64) (default: 2048)"),
      size_option("--m", request.m, "Rows of gemm, ternary and copy; sequence length of attention"),
      size_option("--n", request.n, "Columns of gemm, ternary and copy"),
      size_option("--k", request.k, "Inner dimension of gemm and ternary"),
      count_option("--iters", request.iters, "Minimum number of samples (default: 80)", 1e6),
      {.name = "--warmup",
       .value = &request.warmup,
       .help = "Minimum number of warm-up iterations (default: 20)",
       .type = "N",
       .range = Range{0, 1e6}},
      {.name = "--repeats",
       .value = &options->repeats,
       .help = fmt::format("Number of processes for each stack (default: {}). With --until the "
                           "maximum (default: {})",
                           kRepeats, kMostRepeats),
       .type = "N",
       .range = Range{1, 1e4}},
      {.name = "--until",
       .value = &options->until_percent,
       .help =
           fmt::format("From {} repeats on, repeat a stack only until the interval of 99% of its "
                       "typical time reaches at most this far to either side, or its noise "
                       "keeps it from that",
                       bench::kFewestRounds),
       .type = "PERCENT",
       .range = Range{0.01, 100}},
      {.name = "--max-seconds",
       .value = &request.max_seconds,
       .help = "Maximum time of timing in one process (default: 10 s)",
       .range = Range{0.05, 3600},
       .seconds = true},
      stack_option(options->stacks, "Only these stacks (default: all)"),
      {.name = "--tag",
       .value = &options->tag.name,
       .help = "Name of the run (default: unique)",
       .type = "NAME"},
      {.name = "--idea",
       .value = &options->idea,
       .help = "The thing that this run or its counterpart changes; a variable with this name is "
               "recorded",
       .type = "TEXT"},
      {.name = "--seed",
       .value = &options->order_seed,
       .help = "Seed of the stacks' order (default: random)",
       .type = "N",
       .range = Range{0, 1e9}},
      {.name = "--timeout",
       .value = &options->timeout_s,
       .help = "Time limit of one process (default: 600 s)",
       .range = Range{0.1, 86400},
       .seconds = true},
      {.name = "--silence",
       .value = &options->silence_s,
       .help = "Time without output after which a process counts as hung (default: 120 s)",
       .range = Range{0.1, 86400},
       .seconds = true},
      {.name = "--lock-clocks",
       .value = &options->lock_mhz,
       .help = "Lock the GPU's clocks at MHZ, or at its default application clock, during the run "
               "(root)",
       .type = "MHZ",
       .range = Range{0, 10000},
       .if_bare = "0"},
      {.name = "--roofline",
       .value = &options->roofline,
       .help = "Measure the machine's bandwidth and FLOPs first, for bench compare --normalise"},
      {.name = "--no-overlap",
       .value = &options->no_overlap,
       .help =
           "Start each adapter only after the previous one has ended, instead of several at the "
           "same time while nothing is timed"},
      {.name = "--no-check",
       .value = &options->no_check,
       .help = "Do not check the GPU's health before and after"},
  };
  for (const Option& option : options->measuring) command.add({option});
  command.add({
      {.name = "--remote",
       .value = &options->remote,
       .help = "Run on that machine by ssh; this program is copied there for the run",
       .type = "USER@HOST"},
      {.name = "--replace",
       .value = &options->tag.replace,
       .help = "Delete the tag's earlier runs"},
      {.name = "--add",
       .value = &options->tag.add,
       .help = "Add another run to an existing tag",
       .excludes = "--replace"},
      results_option(options->folder),
      {.name = "--compat",
       .value = &options->compat,
       .help = "Also write the files of PyC's GPU suite into this folder",
       .type = "FOLDER",
       .files = Files::written},
  });
  command.footer =
      "Exit codes: 0 every installed stack did the work; 1 a stack failed or did other work, "
      "or\nthe GPU is unhealthy; 2 wrong usage or bad input; 3 a named stack is not installed; 4 "
      "no\nstack was timed; 130 interrupted: the completed repeats are kept as an incomplete run. "
      "If\nseveral apply, 1 precedes 130, 130 precedes 3, and 3 precedes 4.";
}

}  // namespace gpuready::cli
