#include "slurm/check_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

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
std::vector<std::string> files_of(const ConfLine& line) {
  std::vector<std::string> files;
  for (const char* key : {"File", "Files", "MultipleFiles"})
    if (const auto value = line.value(key))
      if (const auto names = parse_hostlist(*value))
        files.insert(files.end(), names->begin(), names->end());
  return files;
}
bool is_of_several_files(const ConfLine& line) { return line.value("MultipleFiles").has_value(); }
std::size_t gpus_of(const ConfLine& line) {
  return is_of_several_files(line) ? 1 : files_of(line).size();
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
  return seen(
      doctor::evidence("gres.conf", view.gres ? "no line about GPUs of this node" : view.no_gres));
}

// slurmctld and slurmd end with "Duplicated NodeHostName".
Matches node_twice(const ConfView& view) {
  Match match;
  std::ptrdiff_t times = 0;
  for (const ConfLine* line : lines_of_node(view.slurm, view.node)) {
    const auto names = parse_hostlist(line->words.front().second);
    const auto here = names ? std::ranges::count(*names, view.node) : 0;
    if (here > 0) match.evidence.push_back(of_line(*line));
    times += here;
  }
  return times > 1 ? Matches{match} : Matches{};
}

Matches gres_without_files(const ConfView& view) {
  if (detects(view)) return {};
  for (const ConfLine* line : gres_lines(view))
    if (files_of(*line).empty()) return seen(of_line(*line));
  return {};
}

// slurmd ends with "count does not match File value", "duplicate device file name", "MultipleFiles
// does not contain multiple files" or "File and MultipleFiles options are mutually exclusive".
Matches gres_contradicts_itself(const ConfView& view) {
  std::set<std::string> all;
  for (const ConfLine* line : gres_lines(view)) {
    const auto files = files_of(*line);
    const auto count = line->value("Count");
    bool wrong = !files.empty() && count && gres_count(*count) != gpus_of(*line);
    if (is_of_several_files(*line))
      wrong |= files.size() < 2 || line->value("File") || line->value("Files");
    else
      for (const std::string& file : files) wrong |= !all.insert(file).second;
    if (wrong) return seen(of_line(*line));
  }
  return {};
}

// A type is a part of the name that the library reports, with underscores for its blanks.
Matches type_not_detected(const ConfView& view) {
  const ConfLine* line = autodetect(view);
  const auto how = line != nullptr ? to_lower(*line->value("AutoDetect")) : "";
  if (how != "nvml" && how != "nvidia") return {};
  std::vector<std::string> names;
  for (const Gpu* gpu : gpus(view)) {
    const bool of_driver = gpu->name_source == "nvml" || gpu->name_source == "procfs";
    if (!of_driver || gpu->mig_enabled.value_or(false)) return {};
    names.push_back(to_lower(gpu->name));
    std::ranges::replace(names.back(), ' ', '_');
  }
  for (const std::string& type : promised(view).types) {
    const auto has = [&](const std::string& name) { return contains(name, to_lower(type)); };
    if (names.empty() || std::ranges::any_of(names, has)) continue;
    auto matches = seen(of_line(*gres_of_node(view)));
    matches[0].evidence.push_back(of_line(*line));
    matches[0].evidence.push_back(of_machine(names.front()));
    return matches;
  }
  return {};
}

Matches file_missing(const ConfView& view) {
  Match match;
  for (const std::string& file : device_files(view))
    if (view.missing.contains(file) && match.evidence.size() < 4)
      match.evidence.push_back(of_machine(file + " " + view.missing.at(file)));
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
  std::size_t listed = 0;
  for (const ConfLine* line : gres_lines(view)) listed += gpus_of(*line);
  const int want = promised(view).count;
  if (device_files(view).empty() || want == 0 || std::cmp_equal(listed, want)) return {};
  auto matches = seen(of_line(*gres_of_node(view)));
  matches[0].evidence.push_back(of_line(*gres_lines(view).front()));
  return matches;
}

Matches type_differs(const ConfView& view) {
  const auto promised_types = promised(view).types;
  if (promised_types.empty()) return {};
  for (const ConfLine* line : gres_lines(view)) {
    const auto type = line->value("Type");
    if (!type && detects(view)) continue;
    if (std::ranges::any_of(promised_types, [&](const auto& each) {
          return each.empty() || equals_ignore_case(each, type.value_or(""));
        }))
      continue;
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
    if (const auto files = join(files_of(*line), " "); files.starts_with("/dev/nvidia"))
      if (!contains(files, "caps") && match.evidence.empty())
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
  for (const auto& [setting, line, path] : hook_lines(view)) {
    Match match;
    const auto why = view.missing.find(path);
    if (!path.starts_with('/'))
      match.explanation = std::string(setting) + " is an absolute path.";
    else if (why == view.missing.end())
      continue;
    else if (contains(path, " "))
      match.explanation = std::string(setting) + " takes no arguments; let a script hold them.";
    match.evidence.push_back(of_line(*line));
    if (why != view.missing.end()) match.evidence.push_back(of_machine(path + " " + why->second));
    matches.push_back(std::move(match));
  }
  return matches;
}

Matches hook_of_newer_slurm(const ConfView& view) {
  Matches matches;
  for (const auto& [setting, line, path] : hook_lines(view)) {
    Match match;
    if (line != slurm::setting(view.slurm, setting))
      match.explanation = "Before Slurm 24.05 only the last line counts.";
    else if (setting != "HealthCheckProgram" && !line->value(setting)->starts_with('/') &&
             !view.missing.contains(path))
      match.explanation = "Before Slurm 23.11 a hook that is not an absolute path fails.";
    else
      continue;
    match.evidence.push_back(of_line(*line));
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
  if (!value_of(view.slurm, "Prolog") || prolog_at_allocation(flags)) return {};
  return as_set(&view.slurm, "slurm.conf", "PrologFlags");
}

std::vector<ConfCause> make_table() {
  using enum Severity;
  constexpr auto configure = Action::configure;
  constexpr auto without_files =
      "slurmd ignores GPUs without device files, and Slurm drains the node for the missing ones.";
  std::vector<ConfCause> rows = {
      {{.id = "slurm-gres-type-missing",
        .title = "slurm.conf does not know GPUs",
        .explanation = "Without gpu in GresTypes Slurm ignores the GPUs of every node.",
        .cure = "Set GresTypes=gpu on all nodes and restart slurmctld and slurmd.",
        .action = configure,
        .terms = doctor::kByService,
        .explains = {"slurm-node-without-gres"}},
       no_gres_type},
      {{.id = "slurm-node-without-gres",
        .title = "slurm.conf gives this node no GPU",
        .explanation = "No job can ask for its GPUs.",
        .cure = "Add Gres=gpu:N to the node's line, or name the node by --node.",
        .action = configure,
        .terms = doctor::kByService},
       node_without_gres},
      {{.id = "slurm-node-listed-twice",
        .title = "slurm.conf lists this node more than once",
        .explanation = "slurmctld and slurmd do not start: Duplicated NodeHostName.",
        .cure = "List the node in one NodeName line.",
        .action = configure,
        .terms = doctor::kByService},
       node_twice},
      {{.id = "slurm-gres-file-missing",
        .title = "gres.conf names device files that are not here",
        .explanation = "slurmd does not start, or counts fewer GPUs than it promised, and Slurm "
                       "drains the node.",
        .cure = "Load the driver, or name the files that the GPUs have.",
        .action = configure,
        .terms = doctor::kByService,
        .explains = {"slurm-gres-too-many"}},
       file_missing},
      {{.id = "slurm-gres-too-many",
        .title = "slurm.conf promises more GPUs than this node has",
        .explanation = "Slurm marks the node as invalid or drains it: the count is lower than "
                       "configured.",
        .cure = "If a GPU is lost, gpuready doctor says why; else correct Gres=.",
        .action = configure,
        .terms = doctor::kByService},
       too_many},
      {{.id = "slurm-gres-too-few",
        .severity = warning,
        .title = "slurm.conf promises fewer GPUs than this node has",
        .explanation = "No job gets the others.",
        .cure = "Correct Gres= in slurm.conf.",
        .action = configure,
        .terms = doctor::kByService},
       too_few},
      {{.id = "slurm-gres-conf-missing",
        .title = "gres.conf says nothing about this node's GPUs",
        .explanation = without_files,
        .cure = "Write a line as \"Name=gpu File=/dev/nvidia[0-7]\", or AutoDetect=nvml.",
        .action = configure,
        .terms = doctor::kByService},
       no_gres_conf},
      {{.id = "slurm-gres-without-files",
        .title = "gres.conf names GPUs without their device files",
        .explanation = without_files,
        .cure = "Add File=/dev/nvidia[0-7] to the line, or set AutoDetect=nvml.",
        .action = configure,
        .terms = doctor::kByService,
        .explains = {"slurm-gres-files-differ"}},
       gres_without_files},
      {{.id = "slurm-gres-contradicts-itself",
        .title = "slurmd does not start with a line of gres.conf",
        .explanation = "Its Count differs from the number of its files, or an earlier line has one "
                       "of its files. A line with MultipleFiles is one GPU of two files or more.",
        .cure = "Remove Count, and name each file once.",
        .action = configure,
        .terms = doctor::kByService,
        .explains = {"slurm-gres-files-differ"}},
       gres_contradicts_itself},
      {{.id = "slurm-gres-files-differ",
        .title = "gres.conf and slurm.conf count different numbers of GPUs",
        .explanation = "Slurm takes the smaller number, or drains the node.",
        .cure = "Give both the same number.",
        .action = configure,
        .terms = doctor::kByService},
       files_differ_from_gres},
      {{.id = "slurm-gres-type-differs",
        .title = "gres.conf and slurm.conf give this node's GPUs different types",
        .explanation = "slurmd ignores such GPUs, and Slurm drains the node for the missing ones.",
        .cure = "Write the same type in both files.",
        .action = configure,
        .terms = doctor::kByService},
       type_differs},
      {{.id = "slurm-gres-type-not-detected",
        .title = "slurm.conf gives this node a type that AutoDetect does not find",
        .explanation = "A type must be a part of the detected name. slurmd ignores the GPUs, and "
                       "Slurm drains the node for the missing ones.",
        .cure = "Correct the type in Gres=, or leave it out.",
        .action = configure,
        .terms = doctor::kByService},
       type_not_detected},
      {{.id = "slurm-no-nvml-plugin",
        .title = "AutoDetect=nvml, and this Slurm was built without NVML",
        .explanation = "slurmd finds no GPU. Packages of distributions often lack the plugin.",
        .cure = "Install a Slurm that was built with NVML, use AutoDetect=nvidia (24.11 or newer), "
                "or name the files: Name=gpu File=/dev/nvidia[0-7].",
        .action = configure,
        .terms = doctor::kByService},
       no_nvml_plugin},
      {{.id = "slurm-mig-by-whole-gpus",
        .severity = warning,
        .title = "GPUs are divided by MIG, and gres.conf names whole GPUs",
        .explanation = "A job gets all instances of a GPU, and cannot use it as one.",
        .cure = "Name the instances by MultipleFiles= or AutoDetect=nvml, or turn MIG off.",
        .action = configure,
        .terms = doctor::kByService},
       mig_by_whole_files},
      {{.id = "slurm-gpu-unlisted",
        .severity = warning,
        .title = "gres.conf does not name all GPUs of this node",
        .explanation = "No job gets them.",
        .cure = "Add their device files.",
        .action = configure,
        .terms = doctor::kByService},
       gpu_unlisted},
      {{.id = "slurm-hook-not-startable",
        .title = "Slurm cannot start a hook",
        .explanation = "Every start fails; a prolog that fails drains the node.",
        .cure = "Name an executable file by its absolute path, without arguments.",
        .action = configure,
        .terms = doctor::kByService},
       hook_not_startable},
      {{.id = "slurm-hook-of-newer-slurm",
        .severity = warning,
        .title = "Older releases of Slurm do not run a hook",
        .explanation = "",
        .cure = "Unless all nodes have a newer release, set the hook once, by its absolute path.",
        .action = configure,
        .terms = doctor::kByService},
       hook_of_newer_slurm},
      {{.id = "slurm-tasks-not-in-cgroups",
        .severity = warning,
        .title = "Jobs are not kept to the GPUs that they were given",
        .explanation = "Without task/cgroup a job can use every GPU of the node.",
        .cure = "Set TaskPlugin=task/cgroup,task/affinity and ConstrainDevices=yes.",
        .action = configure,
        .terms = doctor::kByService},
       no_task_cgroup},
      {{.id = "slurm-devices-not-constrained",
        .severity = warning,
        .title = "Jobs are not kept to the GPUs that they were given",
        .explanation = "Without ConstrainDevices=yes a job can use every GPU of the node.",
        .cure = "Set ConstrainDevices=yes in cgroup.conf.",
        .action = configure,
        .terms = doctor::kByService},
       devices_not_constrained},
      {{.id = "slurm-select-not-by-gpu",
        .severity = warning,
        .title = "Slurm does not schedule by GPU",
        .explanation = "--gpus, --gpus-per-task and --gpu-bind need SelectType=select/cons_tres.",
        .cure = "Set SelectType=select/cons_tres.",
        .action = configure,
        .terms = doctor::kByService},
       not_by_gpu},
      {{.id = "slurm-health-check-off",
        .severity = warning,
        .title = "No health check runs on the nodes",
        .explanation = "A GPU that fails between jobs meets the next job.",
        .cure = "Let gpuready slurm install set one up.",
        .command = "gpuready slurm install",
        .action = configure,
        .terms = doctor::kByService},
       health_off},
      {{.id = "slurm-hooks-without-limit",
        .severity = warning,
        .title = "Prolog and epilog may take for ever",
        .explanation = "One that hangs keeps its node and job until somebody ends it.",
        .cure = "Set PrologEpilogTimeout.",
        .action = configure,
        .terms = doctor::kByService},
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

std::vector<std::string> device_files(const ConfView& view) {
  std::vector<std::string> files;
  for (const ConfLine* line : gres_lines(view))
    for (std::string& file : files_of(*line)) files.push_back(std::move(file));
  return files;
}

std::vector<HookLine> hook_lines(const ConfView& view) {
  std::vector<HookLine> found;
  for (const char* key : {"HealthCheckProgram", "Prolog", "Epilog"}) {
    const bool once = std::string_view(key) == "HealthCheckProgram";
    for (const ConfLine& line : view.slurm) {
      const auto value = line.value(key);
      if (!value || value->empty() || equals_ignore_case(*value, "(null)")) continue;
      if (once && &line != setting(view.slurm, key)) continue;
      const bool as_it_is = once || value->starts_with('/');
      found.push_back({key, &line, as_it_is ? *value : view.folder + "/" + *value});
    }
  }
  return found;
}

std::vector<Finding> check_conf(const ConfView& view) {
  if (gpus(view).empty() && promised(view).count == 0) return {};
  std::vector<doctor::ReportedCause> told;
  for (const ConfCause& row : conf_causes())
    for (Match& match : row.look(view))
      told.push_back(doctor::tell(row, std::move(match), view.machine));
  return doctor::fold(std::move(told), view.machine);
}

}  // namespace gpuready::slurm
