#include "slurm/check_conf.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nodes/hostlist.h"
#include "base/text.h"
#include "doctor/facts.h"
#include "machine/gpu_use.h"

namespace gpuready::slurm {
namespace {

using doctor::Match;
using Matches = std::vector<Match>;

Matches seen(Evidence evidence) {
  Match match;
  match.evidence.push_back(std::move(evidence));
  return {match};
}
Evidence of_line(const ConfLine& line) { return doctor::evidence(line.place(), line.text()); }
Evidence not_set(std::string_view file, std::string_view key) {
  return doctor::evidence(file, fmt::format("{} is not set", key));
}
Evidence of_machine(const std::string& text) { return doctor::evidence("this machine", text); }

// The line that sets this, or that no line does.
Matches as_set(const Conf* conf, std::string_view file, std::string_view key) {
  const ConfLine* line = conf != nullptr ? setting(*conf, key) : nullptr;
  return seen(line != nullptr ? of_line(*line) : not_set(file, key));
}

// The GPUs that jobs can be given.
std::vector<const Gpu*> gpus(const ConfView& view) {
  std::vector<const Gpu*> found;
  for (const Gpu& gpu : view.machine.gpus)
    if (!gpu.integrated && is_given(access_to(view.machine, gpu).use)) found.push_back(&gpu);
  return found;
}

const ConfLine* gres_of_node(const ConfView& view) {
  for (const ConfLine* line : lines_of_node(view.slurm, view.node))
    if (line->value("Gres")) return line;
  return nullptr;
}
GresGpus promised(const ConfView& view) {
  const ConfLine* line = gres_of_node(view);
  return line != nullptr ? gpus_of_gres(*line->value("Gres")) : GresGpus{};
}

// Lines of gres.conf about GPUs of this node.
std::vector<const ConfLine*> gres_lines(const ConfView& view) {
  std::vector<const ConfLine*> found;
  if (!view.gres) return found;
  for (const ConfLine& line : *view.gres) {
    if (const auto name = line.value("Name"); !name || !equals_ignore_case(*name, "gpu")) continue;
    if (const auto nodes = line.value("NodeName"); nodes && !names_node(*nodes, view.node))
      continue;
    found.push_back(&line);
  }
  return found;
}
std::vector<std::string> device_files(const ConfView& view) {
  std::vector<std::string> files;
  for (const ConfLine* line : gres_lines(view))
    for (const char* key : {"File", "MultipleFiles"})
      if (const auto value = line->value(key))
        if (const auto names = parse_hostlist(*value))
          files.insert(files.end(), names->begin(), names->end());
  return files;
}
// AutoDetect stands on a line of its own, or on those of nodes.
const ConfLine* autodetect(const ConfView& view) {
  const ConfLine* found = nullptr;
  if (view.gres)
    for (const ConfLine& line : *view.gres) {
      if (!line.value("AutoDetect")) continue;
      const auto nodes = line.value("NodeName");
      if (!nodes || names_node(*nodes, view.node)) found = &line;
    }
  return found;
}
bool detects(const ConfView& view) {
  const ConfLine* line = autodetect(view);
  return line != nullptr && !equals_ignore_case(*line->value("AutoDetect"), "off");
}

Matches no_gres_type(const ConfView& view) {
  if (lists(value_of(view.slurm, "GresTypes"), "gpu")) return {};
  return as_set(&view.slurm, "slurm.conf", "GresTypes");
}

Matches node_without_gres(const ConfView& view) {
  if (promised(view).count > 0) return {};
  const auto lines = lines_of_node(view.slurm, view.node);
  return seen(lines.empty() ? doctor::evidence("slurm.conf", "no NodeName= lists " + view.node)
                            : of_line(*lines.front()));
}

Matches count_differs(const ConfView& view, bool more) {
  const auto have = static_cast<int>(gpus(view).size());
  const int want = promised(view).count;
  if (want == 0 || (more ? want <= have : want >= have)) return {};
  auto matches = seen(of_line(*gres_of_node(view)));
  matches[0].evidence.push_back(of_machine(fmt::format("{} GPUs", have)));
  return matches;
}
Matches too_many(const ConfView& view) { return count_differs(view, true); }
Matches too_few(const ConfView& view) { return count_differs(view, false); }

Matches no_gres_conf(const ConfView& view) {
  if (promised(view).count == 0 || detects(view) || !gres_lines(view).empty()) return {};
  return seen(doctor::evidence(
      "gres.conf", view.gres ? "no line about GPUs of this node" : "the file is missing"));
}

Matches file_missing(const ConfView& view) {
  Match match;
  for (const std::string& file : device_files(view))
    if (view.missing.contains(file) && match.evidence.size() < 4)
      match.evidence.push_back(of_machine(file + " does not exist"));
  if (match.evidence.empty()) return {};
  match.evidence.insert(match.evidence.begin(), of_line(*gres_lines(view).front()));
  return {match};
}

Matches gpu_unlisted(const ConfView& view) {
  const auto files = device_files(view);
  if (files.empty() || detects(view)) return {};
  Match match;
  for (const Gpu* gpu : gpus(view)) {
    if (gpu->vendor != Vendor::nvidia || !gpu->minor_number) continue;
    const std::string file = fmt::format("/dev/nvidia{}", *gpu->minor_number);
    if (std::ranges::find(files, file) != files.end()) continue;
    match.gpus.push_back(gpu->index);
    match.evidence.push_back(of_machine(fmt::format("{} of GPU {}", file, gpu->index)));
  }
  if (match.evidence.empty()) return {};
  match.evidence.push_back(of_line(*gres_lines(view).front()));
  return {match};
}

Matches files_differ_from_gres(const ConfView& view) {
  const auto files = device_files(view);
  const int want = promised(view).count;
  if (files.empty() || want == 0 || static_cast<int>(files.size()) == want) return {};
  auto matches = seen(of_line(*gres_of_node(view)));
  matches[0].evidence.push_back(of_line(*gres_lines(view).front()));
  return matches;
}

Matches type_differs(const ConfView& view) {
  const auto promised_types = promised(view).types;
  for (const ConfLine* line : gres_lines(view))
    if (const auto type = line->value("Type"))
      if (!promised_types.empty() && std::ranges::none_of(promised_types, [&](const auto& each) {
            return each.empty() || equals_ignore_case(each, *type);
          })) {
        auto matches = seen(of_line(*line));
        matches[0].evidence.push_back(of_line(*gres_of_node(view)));
        return matches;
      }
  return {};
}

Matches no_nvml_plugin(const ConfView& view) {
  const ConfLine* line = autodetect(view);
  if (line == nullptr || !equals_ignore_case(*line->value("AutoDetect"), "nvml") ||
      view.nvml_plugin.value_or(true))
    return {};
  auto matches = seen(of_line(*line));
  matches[0].evidence.push_back(of_machine("no gpu_nvml.so among Slurm's plugins"));
  return matches;
}

Matches mig_by_whole_files(const ConfView& view) {
  if (detects(view)) return {};
  Match match;
  for (const ConfLine* line : gres_lines(view))
    if (const auto file = line->value("File"); file && file->starts_with("/dev/nvidia"))
      if (!contains(*file, "caps") && match.evidence.empty())
        match.evidence.push_back(of_line(*line));
  if (match.evidence.empty()) return {};
  for (const Gpu* gpu : gpus(view))
    if (gpu->mig_enabled.value_or(false)) match.gpus.push_back(gpu->index);
  return match.gpus.empty() ? Matches{} : Matches{match};
}

Matches no_task_cgroup(const ConfView& view) {
  if (lists(value_of(view.slurm, "TaskPlugin"), "task/cgroup") ||
      lists(value_of(view.slurm, "TaskPlugin"), "cgroup"))
    return {};
  return as_set(&view.slurm, "slurm.conf", "TaskPlugin");
}

Matches devices_not_constrained(const ConfView& view) {
  if (!no_task_cgroup(view).empty()) return {};
  const auto value = view.cgroup ? value_of(*view.cgroup, "ConstrainDevices") : std::nullopt;
  if (value && (equals_ignore_case(*value, "yes") || equals_ignore_case(*value, "true"))) return {};
  return as_set(view.cgroup ? &*view.cgroup : nullptr, "cgroup.conf", "ConstrainDevices");
}

Matches not_by_gpu(const ConfView& view) {
  const ConfLine* line = setting(view.slurm, "SelectType");
  if (line == nullptr || equals_ignore_case(*line->value("SelectType"), "select/cons_tres"))
    return {};
  return seen(of_line(*line));
}

Matches health_off(const ConfView& view) {
  const auto interval = value_of(view.slurm, "HealthCheckInterval");
  if (setting(view.slurm, "HealthCheckProgram") == nullptr)
    return seen(not_set("slurm.conf", "HealthCheckProgram"));
  if (interval && parse_int(*interval).value_or(0) > 0) return {};
  return as_set(&view.slurm, "slurm.conf", "HealthCheckInterval");
}

// Slurm starts a hook without a shell and without PATH.
Matches hook_not_startable(const ConfView& view) {
  Matches matches;
  for (const char* key : {"HealthCheckProgram", "Prolog", "Epilog"}) {
    const ConfLine* line = setting(view.slurm, key);
    const auto value = value_of(view.slurm, key);
    if (!value || contains(*value, "*")) continue;
    Match match;
    if (!value->starts_with('/') && std::string_view(key) == "HealthCheckProgram")
      match.explanation = "HealthCheckProgram is an absolute path.";
    else if (contains(*value, " "))
      match.explanation = std::string(key) + " takes no arguments; let a script hold them.";
    else if (view.missing.contains(*value))
      match.evidence.push_back(of_machine(*value + " does not exist, or cannot be run"));
    else
      continue;
    match.evidence.insert(match.evidence.begin(), of_line(*line));
    matches.push_back(std::move(match));
  }
  return matches;
}

Matches hooks_without_limit(const ConfView& view) {
  if (value_of(view.slurm, "PrologEpilogTimeout")) return {};
  for (const char* key : {"Prolog", "Epilog"})
    if (value_of(view.slurm, key)) {
      auto matches = seen(of_line(*setting(view.slurm, key)));
      matches[0].evidence.push_back(not_set("slurm.conf", "PrologEpilogTimeout"));
      return matches;
    }
  return {};
}

Matches prolog_late(const ConfView& view) {
  const auto flags = value_of(view.slurm, "PrologFlags");
  if (!value_of(view.slurm, "Prolog") || lists(flags, "Alloc") || lists(flags, "Contain") ||
      lists(flags, "X11"))
    return {};
  return as_set(&view.slurm, "slurm.conf", "PrologFlags");
}

std::vector<ConfCause> make_table() {
  using enum Severity;
  constexpr auto configure = Action::configure;
  std::vector<ConfCause> rows = {
      {{.id = "slurm-gres-type-missing",
        .title = "slurm.conf does not know GPUs",
        .explanation = "Without gpu in GresTypes Slurm ignores the GPUs of every node.",
        .cure = "Set GresTypes=gpu on all nodes and restart slurmctld and slurmd.",
        .action = configure,
        .explains = {"slurm-node-without-gres"}},
       no_gres_type},
      {{.id = "slurm-node-without-gres",
        .title = "slurm.conf gives this node no GPU",
        .explanation = "No job can ask for its GPUs.",
        .cure = "Add Gres=gpu:N to the node's line, or name the node by --node.",
        .action = configure},
       node_without_gres},
      {{.id = "slurm-gres-file-missing",
        .title = "gres.conf names device files that are not here",
        .explanation = "slurmd does not start, or counts fewer GPUs than it promised, and Slurm "
                       "drains the node.",
        .cure = "Load the driver, or name the files that the GPUs have.",
        .action = configure,
        .explains = {"slurm-gres-too-many"}},
       file_missing},
      {{.id = "slurm-gres-too-many",
        .title = "slurm.conf promises more GPUs than this node has",
        .explanation = "Slurm marks the node as invalid or drains it: the count is lower than "
                       "configured.",
        .cure = "If a GPU is lost, gpuready doctor says why; else correct Gres=.",
        .action = configure},
       too_many},
      {{.id = "slurm-gres-too-few",
        .severity = warning,
        .title = "slurm.conf promises fewer GPUs than this node has",
        .explanation = "No job gets the others.",
        .cure = "Correct Gres= in slurm.conf.",
        .action = configure},
       too_few},
      {{.id = "slurm-gres-conf-missing",
        .title = "gres.conf says nothing about this node's GPUs",
        .explanation = "Slurm counts GPUs without knowing their device files: it cannot keep jobs "
                       "from each other's GPUs.",
        .cure = "Write a line as \"Name=gpu File=/dev/nvidia[0-7]\", or AutoDetect=nvml.",
        .action = configure},
       no_gres_conf},
      {{.id = "slurm-gres-files-differ",
        .title = "gres.conf and slurm.conf count different numbers of GPUs",
        .explanation = "Slurm takes the smaller number, or drains the node.",
        .cure = "Give both the same number.",
        .action = configure},
       files_differ_from_gres},
      {{.id = "slurm-gres-type-differs",
        .title = "gres.conf has a type that slurm.conf does not give this node",
        .explanation = "slurmd ignores such GPUs, and Slurm drains the node for the missing ones.",
        .cure = "Write the same type in both files.",
        .action = configure},
       type_differs},
      {{.id = "slurm-no-nvml-plugin",
        .title = "AutoDetect=nvml, and this Slurm was built without NVML",
        .explanation = "slurmd finds no GPU. Packages of distributions often lack the plugin.",
        .cure = "Install a Slurm that was built with NVML, use AutoDetect=nvidia (24.11 or newer), "
                "or name the files: Name=gpu File=/dev/nvidia[0-7].",
        .action = configure},
       no_nvml_plugin},
      {{.id = "slurm-mig-by-whole-gpus",
        .severity = warning,
        .title = "GPUs are divided by MIG, and gres.conf names whole GPUs",
        .explanation = "A job gets all instances of a GPU, and cannot use it as one.",
        .cure = "Name the instances by MultipleFiles= or AutoDetect=nvml, or turn MIG off.",
        .action = configure},
       mig_by_whole_files},
      {{.id = "slurm-gpu-unlisted",
        .severity = warning,
        .title = "gres.conf does not name all GPUs of this node",
        .explanation = "No job gets them.",
        .cure = "Add their device files.",
        .action = configure},
       gpu_unlisted},
      {{.id = "slurm-hook-not-startable",
        .title = "Slurm cannot start a hook",
        .explanation = "Every start fails; a prolog that fails drains the node.",
        .cure = "Name an executable file by its absolute path, without arguments.",
        .action = configure},
       hook_not_startable},
      {{.id = "slurm-tasks-not-in-cgroups",
        .severity = warning,
        .title = "Jobs are not kept to the GPUs that they were given",
        .explanation = "Without task/cgroup a job can use every GPU of the node.",
        .cure = "Set TaskPlugin=task/cgroup,task/affinity and ConstrainDevices=yes.",
        .action = configure},
       no_task_cgroup},
      {{.id = "slurm-devices-not-constrained",
        .severity = warning,
        .title = "Jobs are not kept to the GPUs that they were given",
        .explanation = "Without ConstrainDevices=yes a job can use every GPU of the node.",
        .cure = "Set ConstrainDevices=yes in cgroup.conf.",
        .action = configure},
       devices_not_constrained},
      {{.id = "slurm-select-not-by-gpu",
        .severity = warning,
        .title = "Slurm does not schedule by GPU",
        .explanation = "--gpus, --gpus-per-task and --gpu-bind need SelectType=select/cons_tres.",
        .cure = "Set SelectType=select/cons_tres.",
        .action = configure},
       not_by_gpu},
      {{.id = "slurm-health-check-off",
        .severity = warning,
        .title = "No health check runs on the nodes",
        .explanation = "A GPU that fails between jobs meets the next job.",
        .cure = "Let gpuready slurm install set one up.",
        .command = "gpuready slurm install",
        .action = configure},
       health_off},
      {{.id = "slurm-hooks-without-limit",
        .severity = warning,
        .title = "Prolog and epilog may take for ever",
        .explanation = "One that hangs keeps its node and job until somebody ends it.",
        .cure = "Set PrologEpilogTimeout.",
        .action = configure},
       hooks_without_limit},
      {{.id = "slurm-prolog-late",
        .severity = info,
        .title = "The prolog runs when the first step starts",
        .explanation = "With PrologFlags=Alloc it runs on all nodes when the job gets them, so a "
                       "bad node is found before the work starts."},
       prolog_late},
  };
  for (auto& row : rows) row.backing = doctor::Backing::looked;
  return rows;
}

}  // namespace

std::span<const ConfCause> conf_causes() {
  static const auto table = make_table();
  return table;
}

std::vector<std::string> named_files(const ConfView& view) {
  auto files = device_files(view);
  for (const char* key : {"HealthCheckProgram", "Prolog", "Epilog"})
    if (const auto value = value_of(view.slurm, key); value && value->starts_with('/'))
      files.push_back(*value);
  return files;
}

std::vector<Finding> check_conf(const ConfView& view) {
  if (gpus(view).empty() && promised(view).count == 0) return {};
  std::vector<doctor::Told> told;
  for (const ConfCause& row : conf_causes())
    for (Match& match : row.look(view))
      told.push_back(doctor::tell(row, std::move(match), view.machine));
  return doctor::fold(std::move(told), view.machine);
}

}  // namespace gpuready::slurm
