#include "pack/store/load_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/sha256.h"
#include "host/atomic_file.h"
#include "pack/release/scan.h"
#include "pack/rules/releases.h"
#include "pack/store/load_report_fields.h"
#include "value/document.h"

namespace gpuready::pack {
namespace {

std::optional<std::string> text_of_version(const std::optional<Version>& version) {
  return version ? std::optional(version_text(*version)) : std::nullopt;
}

std::string within_package(const LoadPlan& plan, const std::string& path) {
  return std::string(after_prefix(path, plan.folder + "/").value_or(path));
}

// The code of a plan that was loaded: its first pieces, by file.
std::vector<LoadedCode> loaded_code(const TriedLoad& tried, const Manifest& manifest,
                                    const TargetGpu& gpu, const Driver& driver) {
  std::vector<LoadedCode> loaded;
  const auto variant = manifest.find(tried.plan.variant);
  const auto files = variant ? judged_files(*variant) : std::vector<FileCode>();
  const auto count = std::min<std::uint64_t>(tried.result.modules, tried.plan.code.size());
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto path = within_package(tried.plan, tried.plan.code[i].path);
    if (loaded.empty() || loaded.back().path != path) {
      const auto code = std::ranges::find(files, path, &FileCode::path);
      if (code == files.end()) continue;
      const auto answer = explain(*code, gpu, driver);
      LoadedCode now{path, 0, answer.by_cubin, answer.by_jit};
      loaded.push_back(std::move(now));
    }
    ++loaded.back().pieces;
  }
  return loaded;
}

SelectMachine machine_of(const LoadReport& report) {
  const auto version = [](const std::optional<std::string>& text) {
    return text ? parse_version(*text) : std::nullopt;
  };
  SelectMachine machine;
  machine.driver = {version(report.driver), version(report.cuda)};
  machine.glibc = version(report.glibc);
  machine.cpu = report.cpu;
  for (const auto& gpu : report.gpus)
    machine.gpus.push_back({*parse_target_gpu(gpu.target), gpu.name, gpu.uuid, {}});
  return machine;
}

// What keeps a report whose signature holds from being a proof.
std::optional<std::string> wrong_with(const LoadReport& report, const Manifest& manifest) {
  if (report.name != manifest.name)
    return fmt::format("it is of the package {}, not {}", report.name, manifest.name);
  if (report.version != manifest.version)
    return fmt::format("it is of version {}, and {} is published", report.version,
                       manifest.version);
  const auto variant = manifest.find(report.variant);
  if (!variant) return fmt::format("the release has no variant {}", report.variant);
  if (content_digest(*variant) != report.content_sha256)
    return fmt::format(
        "it is of other files than variant {} holds now: install these and report "
        "again",
        report.variant);
  for (const auto& load : report.loads)
    if (load.failure)
      return fmt::format("variant {} did not load on {}: {}", load.variant, load.device,
                         *load.failure);
  const auto machine = machine_of(report);
  const auto selection = select_variant(manifest, machine);
  const auto chosen = set_of(selection.variants);
  if (chosen != report.variant)
    return fmt::format("variant {} was tried, and the release gives that machine {}",
                       report.variant, chosen.empty() ? "none" : chosen);
  const auto loaded = [&](std::string_view device, std::string_view name) {
    const auto found = std::ranges::find_if(report.loads, [&](const ReportedLoad& load) {
      return load.device == device && load.variant == name;
    });
    return found == report.loads.end() ? nullptr : &*found;
  };
  for (const auto& considered : selection.considered) {
    if (!considered.chosen) continue;
    const auto member = *manifest.find(considered.name);
    if (member.for_cpu()) {
      if (!loaded("cpu", considered.name)) return "it reports no load on the CPU";
      continue;
    }
    for (const auto index : considered.serves) {
      const auto* load = loaded(machine.gpus[index].uuid, considered.name);
      if (load == nullptr)
        return fmt::format("it reports no load of variant {} on {}", considered.name,
                           machine.gpus[index].text());
      for (const auto& probe : member.probes)
        if (std::ranges::find(load->kernels, probe.kernel) == load->kernels.end())
          return fmt::format("it reports no launch of {} on {}", probe.kernel,
                             machine.gpus[index].text());
    }
  }
  return std::nullopt;
}

Result<LoadReport> trusted_report(const HandedReport& handed, const Manifest& manifest,
                                  std::span<const PublicKey> keys) {
  if (!handed.signature)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: it is not signed: {}.minisig is missing (pack install --report "
                            "FILE --report-key KEY signs)",
                            handed.name, handed.name));
  Result<std::string> signed_by = fail(ErrorKind::bad_input, "");
  std::string tried;
  for (const auto& key : keys) {
    signed_by = verify_signature(key, handed.text, *handed.signature, handed.name);
    if (signed_by) break;
    tried += (tried.empty() ? "" : "; ") + signed_by.error().message;
  }
  if (!signed_by)
    return fail(
        ErrorKind::bad_input,
        fmt::format("{}: none of the recipe's report_keys signed it ({})", handed.name, tried));
  auto report = TRY(parse_load_report(handed.text, handed.name));
  if (const auto wrong = wrong_with(report, manifest))
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", handed.name, printable(*wrong)));
  return report;
}

// "550" is any driver of that branch.
bool is_of_branch(const std::optional<std::string>& driver, const std::string& branch) {
  const auto here = driver ? parse_version(*driver) : std::nullopt;
  const auto wanted = parse_version(branch);
  return here && wanted && here->parts.size() >= wanted->parts.size() &&
         std::equal(wanted->parts.begin(), wanted->parts.end(), here->parts.begin());
}

// The kinds of GPUs are the same, however many there are of each.
bool covers(const LoadReport& report, const TestMachine& machine) {
  std::set<TargetGpu> wanted, here;
  for (const auto& gpu : machine.gpus) wanted.insert(*parse_target_gpu(gpu));
  for (const auto& gpu : report.gpus) here.insert(*parse_target_gpu(gpu.target));
  return wanted == here && (!machine.driver || is_of_branch(report.driver, *machine.driver));
}

// Begins a file there and leaves nothing of it.
Result<void> may_be_written(const std::string& path, Storage& storage) {
  const auto begun = AtomicFile::create(path, {}, storage);
  if (begun) return {};
  return fail(begun.error().kind,
              fmt::format("--report: {} cannot be written ({}): name another file; nothing was "
                          "installed",
                          path, begun.error().message),
              begun.error().code);
}

}  // namespace

std::string content_digest(const Variant& variant) {
  // A path holds no line break, so no two variants give the same text.
  std::vector<std::string> lines;
  for (const auto& file : variant.files)
    lines.push_back(file.link ? fmt::format("{}\n-> {}\n", file.path, *file.link)
                              : fmt::format("{}\n{} {} {}\n", file.path, file.sha256.value_or(""),
                                            file.size_bytes, file.executable ? "x" : "-"));
  std::ranges::sort(lines);
  Sha256Stream hash;
  for (const auto& line : lines) hash.add(line);
  return to_hex(hash.finish());
}

LoadReport load_report(const Manifest& manifest, const SelectMachine& machine,
                       std::span<const TriedLoad> tried, std::int64_t now_unix_seconds) {
  LoadReport report;
  report.name = manifest.name;
  report.version = manifest.version;
  if (!tried.empty()) report.variant = tried.front().chosen;
  if (const auto variant = manifest.find(report.variant))
    report.content_sha256 = content_digest(*variant);
  report.created_utc = format_utc(now_unix_seconds);
  if (machine.driver.version) report.driver = driver_text(*machine.driver.version);
  report.cuda = text_of_version(machine.driver.cuda_known());
  report.glibc = text_of_version(machine.glibc);
  report.cpu = machine.cpu;
  for (const auto& gpu : machine.gpus)
    report.gpus.push_back({gpu.name, gpu.uuid, gpu.target.name()});
  for (const auto& each : tried) {
    ReportedLoad load{each.result.device, each.plan.variant, {}, {}, each.result.failure};
    const auto opened = std::min<std::uint64_t>(each.result.libraries, each.plan.libraries.size());
    for (std::uint64_t i = 0; i < opened; ++i)
      load.libraries.push_back(within_package(each.plan, each.plan.libraries[i]));
    const auto launched = std::min<std::uint64_t>(each.result.probes, each.plan.probes.size());
    for (std::uint64_t i = 0; i < launched; ++i)
      load.kernels.push_back(each.plan.probes[i].probe.kernel);
    const auto gpu = std::ranges::find(machine.gpus, each.plan.device, &SelectGpu::uuid);
    if (gpu != machine.gpus.end())
      load.code = loaded_code(each, manifest, gpu->target, machine.driver);
    report.loads.push_back(std::move(load));
  }
  return report;
}

std::string load_report_text(const LoadReport& report) {
  return dump(value::write_document(report));
}

Result<LoadReport> parse_load_report(std::string_view text, std::string_view name) {
  const Json doc = TRY(parse_json(text, name, kMostLoadReportBytes));
  if (!value::is_document(doc, kForm<LoadReport>))
    return fail(ErrorKind::bad_input, fmt::format("{}: not a load report of this form", name));
  auto report = TRY(value::read_document<LoadReport>(doc, name));
  for (const auto& gpu : report.gpus)
    if (!parse_target_gpu(gpu.target))
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: {} is not a GPU", name, printable(gpu.target)));
  return report;
}

Result<std::vector<HandedReport>> read_reports(Host& host, const std::string& path) {
  std::vector<std::string> paths;
  if (TRY(host.status(path)).kind != FileKind::directory) {
    paths.push_back(path);
  } else {
    for (const auto& name : TRY(host.list_directory(path)))
      if (name.ends_with(".json")) paths.push_back(path + "/" + name);
  }
  std::vector<HandedReport> reports;
  for (const auto& each : paths) {
    HandedReport report{each, TRY(host.read_file(each, kMostLoadReportBytes)), {}};
    auto signature = host.read_file(each + ".minisig", kMostSignatureBytes);
    if (signature)
      report.signature = std::move(*signature);
    else if (signature.error().kind != ErrorKind::not_found)
      return std::unexpected(signature.error());
    reports.push_back(std::move(report));
  }
  return reports;
}

Result<void> check_report_place(const std::string& path, bool is_signed, Storage& storage) {
  TRY(may_be_written(path, storage));
  return is_signed ? may_be_written(path + ".minisig", storage) : Result<void>{};
}

Result<std::string> write_report(const std::string& path, const std::optional<LoadReport>& report,
                                 const std::optional<SecretKey>& key,
                                 const std::string& gpuready_version, Storage& storage) {
  if (!report) return path + " is not written: nothing was loaded.";
  auto whole = *report;
  whole.gpuready = gpuready_version;
  const auto text = load_report_text(whole);
  TRY(write_file_atomically(path, text, {}, storage));
  if (!key)
    return path +
           " is not signed: pack publish --require-proof accepts only signed reports "
           "(--report-key).";
  TRY(write_file_atomically(
      path + ".minisig",
      sign(*key, text, fmt::format("load report of {} {}", whole.name, whole.version)), {},
      storage));
  return fmt::format("{} is signed by key {}.", path, key->public_key().id_text());
}

std::vector<std::string> missing_proof(const Manifest& manifest,
                                       std::span<const PublicKey> report_keys,
                                       std::span<const HandedReport> reports) {
  std::vector<std::string> missing;
  if (manifest.machines.empty())
    missing.push_back("proof is required, and the recipe names no [[machines]]");
  if (report_keys.empty())
    missing.push_back("proof is required, and the recipe names no report_keys that are trusted");
  if (!missing.empty()) return missing;
  std::vector<LoadReport> proofs;
  for (const auto& handed : reports) {
    auto report = trusted_report(handed, manifest, report_keys);
    if (report)
      proofs.push_back(std::move(*report));
    else
      missing.push_back(report.error().message);
  }
  for (const auto& machine : manifest.machines)
    if (std::ranges::none_of(proofs, [&](const auto& report) { return covers(report, machine); }))
      missing.push_back(fmt::format("no load report covers the machine {} (GPUs {}{})",
                                    machine.name,
                                    machine.gpus.empty() ? "none" : join(machine.gpus, ", "),
                                    machine.driver ? ", driver " + *machine.driver : ""));
  return missing;
}

}  // namespace gpuready::pack
