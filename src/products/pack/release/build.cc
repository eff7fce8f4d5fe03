#include "pack/release/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/paths.h"
#include "host/atomic_file.h"
#include "pack/release/containerfile.h"
#include "pack/release/manifest_fields.h"
#include "pack/release/scan.h"
#include "pack/rules/closure.h"
#include "pack/rules/releases.h"
#include "value/read_fields.h"
#include "value/write_fields.h"

namespace gpuready {

FIELDS_OF(pack::BuiltVariant) {
  visit.about("built_variant", "What `pack build` leaves for `pack publish`.");
  FIELD(variant, "The variant as a manifest names it.", kAlways);
  FIELD(gaps, "Why its folder is not whole.");
  FIELD(waived, "The same, where the recipe accepts it, with the reason.");
}

}  // namespace gpuready

namespace gpuready::pack {
namespace {

bool wanted(const VariantRecipe& recipe, const std::string& path) {
  const auto any = [&](const std::vector<std::string>& patterns) {
    return std::ranges::any_of(patterns,
                               [&](const auto& pattern) { return matches(pattern, path); });
  };
  return (recipe.include.empty() || any(recipe.include)) && !any(recipe.exclude);
}

struct Collector {
  Host& host;
  const VariantRecipe& recipe;
  std::string root;  // without links
  std::vector<ArchiveEntry> entries = {};

  Result<void> add_folder(const std::string& path, int depth) {
    if (depth > 32) return fail(ErrorKind::too_large, path + ": more than 32 folders deep");
    for (const auto& name : TRY(host.list_directory(root + "/" + path)))
      TRY(add(path.empty() ? name : path + "/" + name, depth));
    return {};
  }

  Result<void> add(const std::string& path, int depth) {
    const auto full = root + "/" + path;
    const auto link = host.read_link(full);
    const auto status = host.status(full);
    if (!status && link)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: a link that leads nowhere ({}): remove it, or add its target",
                              full, *link));
    if (!status) return std::unexpected(status.error());
    if (!link && status->kind == FileKind::directory) return add_folder(path, depth + 1);
    if (!wanted(recipe, path)) return {};
    if (const auto wrong = wrong_with_path(path))
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: {}: rename it, or exclude it", printable(full), *wrong));
    if (ownership_of(base_name(path)) == Ownership::driver)
      return fail(
          ErrorKind::bad_input,
          fmt::format("{}: a library of the driver: each machine has its own, and another one "
                      "breaks it; exclude it",
                      full));
    if (link && !wrong_with_link(path, *link)) {
      entries.push_back({path, "", *link, false});
      return {};
    }
    if (status->kind != FileKind::regular)
      return fail(ErrorKind::bad_input, full + (link ? ": a link to a folder outside of the package"
                                                     : ": neither a file nor a folder"));
    entries.push_back({path, TRY(host.real_path(full)), std::nullopt, (status->mode & 0111) != 0});
    return {};
  }
};

// A link inside of the package whose target was left out would lead nowhere once installed.
Result<void> check_links(const std::vector<ArchiveEntry>& entries, const std::string& root,
                         Host& host) {
  std::set<std::string> kept;
  for (const auto& entry : entries) {
    kept.insert(entry.path);
    for (auto at = entry.path.find('/'); at != entry.path.npos; at = entry.path.find('/', at + 1))
      kept.insert(entry.path.substr(0, at));
  }
  for (const auto& entry : entries) {
    if (!entry.link) continue;
    const auto target = TRY(host.real_path(root + "/" + entry.path));
    const auto inside = after_prefix(target, root + "/");
    if (inside && !kept.contains(std::string(*inside)))
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: links to {}, which the recipe leaves out", entry.path, *inside));
  }
  return {};
}

Result<void> run_build(const Recipe& recipe, const VariantRecipe& variant,
                       const BuildOptions& options) {
  Job job;
  job.program = variant.command.front();
  job.args.assign(variant.command.begin() + 1, variant.command.end());
  for (auto& [name, value] : build_environment(recipe, variant)) job.env.emplace_back(name, value);
  job.limits = {std::nullopt, std::nullopt};  // a build of ONNX Runtime takes an hour
  job.oom_score_adj = 0;
  const auto outcome = TRY(run_job(job, options.watch));
  if (outcome.end == JobEnd::exited && outcome.exit_code == 0) return {};
  const auto text = trim(outcome.err.empty() ? outcome.out : outcome.err);
  return fail(
      outcome.end == JobEnd::cancelled ? ErrorKind::cancelled : ErrorKind::io,
      fmt::format("the build of {} failed ({}{}): {}", variant.name, to_string(outcome.end),
                  outcome.end == JobEnd::exited ? fmt::format(" {}", outcome.exit_code) : "",
                  printable(text.substr(text.size() - std::min<std::size_t>(text.size(), 2000)))));
}

std::string variant_file(const std::string& folder, std::string_view name) {
  return fmt::format("{}/{}.variant.json", folder, name);
}

// The glibc that its files need is its floor; what its maker wrote down may be higher, not lower.
void check_glibc(const Inspection& found, BuiltVariant& built) {
  std::optional<Version> least;
  for (const FileReport& file : found.files)
    if (file.elf) least = std::max(least, file.elf->glibc());
  auto& floor = built.variant.floors.glibc;
  if (!least) return;
  if (!floor) {
    floor = version_text(*least);
  } else if (parse_version(*floor).value_or(Version()) < *least) {
    built.gaps.push_back(fmt::format("its files need glibc {}, and its floor is declared to be {}",
                                     version_text(*least), *floor));
  }
}

// Moves what a waiver accepts to the end; gives what is left.
std::span<ClosureProblem> without_waived(std::span<ClosureProblem> problems,
                                         const std::vector<Waiver>& waivers) {
  const auto accepting = [&](const ClosureProblem& problem) {
    return std::ranges::find_if(
        waivers, [&](const Waiver& each) { return matches(each.file, problem.file); });
  };
  const auto waived = std::ranges::stable_partition(
      problems, [&](const auto& problem) { return accepting(problem) == waivers.end(); });
  for (ClosureProblem& problem : waived)
    problem.text += fmt::format(" ({})", accepting(problem)->text());
  return problems.first(problems.size() - waived.size());
}

// A message for each cause, with the files that share it.
std::vector<std::string> by_cause(std::span<const ClosureProblem> problems) {
  constexpr std::size_t kMostFiles = 3;
  std::vector<std::pair<std::string, std::vector<std::string>>> causes;
  for (const ClosureProblem& problem : problems) {
    auto at = std::ranges::find(causes, problem.text, &decltype(causes)::value_type::first);
    if (at == causes.end()) at = causes.insert(at, {problem.text, {}});
    at->second.push_back(problem.file);
  }
  std::vector<std::string> texts;
  for (auto& [text, files] : causes) {
    const auto more = files.size() - std::min(files.size(), kMostFiles);
    files.resize(files.size() - more);
    texts.push_back(fmt::format("{}{}: {}", join(files, ", "),
                                more > 0 ? fmt::format(" and {} more", more) : "", text));
  }
  return texts;
}

}  // namespace

Result<std::vector<ArchiveEntry>> collect_files(Host& host, const VariantRecipe& recipe) {
  const auto root = host.real_path(recipe.folder);
  if (!root)
    return fail(root.error().kind, fmt::format("variant {}: its folder cannot be read: {}",
                                               recipe.name, root.error().message));
  Collector collector{host, recipe, *root};
  TRY(collector.add_folder("", 0));
  TRY(check_links(collector.entries, *root, host));
  if (collector.entries.empty())
    return fail(ErrorKind::bad_input,
                fmt::format("variant {}: {} holds no file that the recipe wants", recipe.name,
                            recipe.folder));
  std::ranges::sort(collector.entries, {}, &ArchiveEntry::path);
  return std::move(collector.entries);
}

std::string archive_name(const Recipe& recipe, std::string_view variant) {
  return fmt::format("{}-{}-{}.tar.zst", recipe.name, recipe.version, variant);
}

Result<BuiltVariant> build_variant(Host& host, const Recipe& recipe, const VariantRecipe& variant,
                                   const BuildOptions& options) {
  const auto tell = [&](const std::string& what) {
    if (options.progress) options.progress(variant.name, what);
  };
  BuiltVariant built;
  if (options.run_commands && !variant.command.empty()) {
    tell("building");
    TRY(run_build(recipe, variant, options));
  }
  const auto entries = TRY(collect_files(host, variant));
  built.variant.name = variant.name;
  built.variant.architectures = variant.architectures;
  built.variant.floors = variant.floors;
  // Of files that are packed, write_archive() says the rest; names tell cuDNN's version.
  for (const auto& entry : entries) built.variant.files.emplace_back().path = entry.path;
  tell("scanning");
  const auto found = TRY(options.scan(entries));
  built.variant.code = written(found);
  if (variant.architectures_from_code)
    built.variant.architectures = TRY(architectures_of_code(built.variant));
  check_glibc(found, built);
  auto problems = check_closure(found, recipe.system_libraries);
  const auto open = without_waived(problems, recipe.waivers);
  std::ranges::move(by_cause(open), std::back_inserter(built.gaps));
  built.waived = by_cause(std::span(problems).subspan(open.size()));
  if (options.only_check) return built;
  if (problems_of(built).empty()) {
    tell("compressing");
    const auto written =
        TRY(write_archive(entries, options.out_folder, archive_name(recipe, variant.name),
                          {.level = options.level}, *options.storage));
    built.variant.files = written.files;
    built.variant.archive = written.parts;
  }
  TRY(write_file_atomically(variant_file(options.out_folder, variant.name),
                            dump(value::write_fields(built)), {}, *options.storage));
  return built;
}

Result<BuiltVariant> read_variant(Host& host, const std::string& folder, std::string_view name) {
  const auto path = variant_file(folder, name);
  const auto text = host.read_file(path, kMostManifestBytes);
  if (!text)
    return fail(text.error().kind,
                fmt::format("variant {} is not built: {} (gpuready pack build makes it)", name,
                            text.error().message));
  return value::read_document<BuiltVariant>(TRY(parse_json(*text, path)), path);
}

std::vector<std::string> problems_of(const BuiltVariant& built) {
  auto problems = built.gaps;
  std::ranges::move(declared_beside_scanned(built.variant), std::back_inserter(problems));
  return problems;
}

namespace {

bool all_load_on(const CudaTarget& target, const std::vector<FileCode>& files) {
  const CudaTarget gpu{target.major, target.minor, 0};
  return std::ranges::all_of(files, [&](const FileCode& file) {
    return explain(file, {.cuda = gpu}, {}).runs != Runs::none;
  });
}

}  // namespace

Result<std::vector<std::string>> architectures_of_code(const Variant& variant) {
  std::map<CudaTarget, Architecture> found;
  const auto files = judged_files(variant);
  for (const FileCode& file : files)
    for (const Modules& modules : file.modules)
      for (const DeviceCode& code : modules.codes) {
        if (!code.cuda) continue;
        auto& architecture =
            found.try_emplace(*code.cuda, Architecture{*code.cuda, false, false}).first->second;
        (code.kind == CodeKind::ptx ? architecture.ptx : architecture.cubin) = true;
      }
  std::vector<std::string> architectures;
  for (const auto& [target, architecture] : found) {
    if (!all_load_on(target, files)) continue;
    architectures.push_back(target.number() + (!architecture.cubin ? "-virtual"
                                               : architecture.ptx  ? "+PTX"
                                                                   : ""));
  }
  if (architectures.empty() && !variant.code.empty())
    return fail(ErrorKind::bad_input,
                fmt::format("variant {}: no GPU of NVIDIA's loads all of its {} files with device "
                            "code (gpuready pack inspect lists what they hold)",
                            variant.name, variant.code.size()));
  return architectures;
}

std::vector<std::string> declared_beside_scanned(const Variant& variant) {
  std::vector<std::string> wrong;
  std::set<std::string> declared;
  const auto files = judged_files(variant);
  std::vector<std::set<std::string>> targets;  // of each file
  for (const FileCode& file : files) {
    auto& of_file = targets.emplace_back();
    for (const Modules& modules : file.modules)
      for (const DeviceCode& code : modules.codes) of_file.insert(code.target());
  }
  const auto has = [](const std::string& target) {
    return [&](const std::set<std::string>& of_file) { return of_file.contains(target); };
  };
  for (const auto& text : variant.architectures) {
    const auto architecture = parse_architecture(text);
    if (!architecture) continue;
    declared.insert(architecture->target.sm());
    const CudaTarget gpu{architecture->target.major, architecture->target.minor, 0};
    for (const FileCode& file : files)
      if (const auto answer = explain(file, {.cuda = gpu}, {}); answer.runs == Runs::none)
        wrong.push_back(fmt::format("{} does not load on {}, which is declared: {}", file.path,
                                    gpu.capability(), answer.why_none()));
    const auto number = architecture->target.number();
    for (const auto& [wanted, target] : {std::pair(architecture->cubin, "sm_" + number),
                                         std::pair(architecture->ptx, "compute_" + number)})
      if (wanted && std::ranges::none_of(targets, has(target)))
        wrong.push_back(fmt::format("{} is declared, and no file has code for {}", text, target));
  }
  // Libraries of others bring code for more GPUs; what every file has is the variant's own, unless
  // a floor keeps it from that GPU.
  if (targets.empty()) return wrong;
  for (const auto& target : targets.front()) {
    const auto own =
        target.starts_with("sm_") ? parse_architecture(target.substr(3)) : std::nullopt;
    if (own && std::ranges::all_of(targets, has(target)) && !declared.contains(target) &&
        all_load_on(own->target, files))
      wrong.push_back(fmt::format("every file has code for {}, which is not declared", target));
  }
  return wrong;
}

}  // namespace gpuready::pack
