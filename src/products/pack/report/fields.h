// The fields of what the commands of `pack` tell.
#pragma once

#include "pack/release/manifest_fields.h"
#include "pack/report/env_report.h"
#include "pack/report/explain_report.h"
#include "pack/report/inspect_report.h"
#include "pack/report/install_report.h"
#include "pack/report/release_report.h"
#include "pack/report/select_report.h"
#include "pack/report/store_report.h"
#include "pack/rules/releases.h"
#include "pack/store/load_report_fields.h"
#include "pack/store/store_fields.h"
#include "value/document.h"

namespace gpuready {

inline constexpr std::string_view kElfTypes[] = {"shared", "executable", "relocatable", "other"},
                                  kInspectedKinds[] = {"file", "folder", "archive"};

inline std::optional<std::string> text_of(const std::optional<Version>& version) {
  return version ? std::optional(pack::version_text(*version)) : std::nullopt;
}

// ---- what files hold, and what becomes of it on a GPU
FIELDS_OF(pack::ElfFacts) {
  visit.about("elf", "What a library or program needs.");
  FIELD(machine, "x86_64, aarch64, or ELF's number.", kAlways);
  FIELD(type, "What it is.", {.always = true, .texts = kElfTypes});
  FIELD(soname, "Its own name for the loader.", {.printable = true});
  FIELD(interpreter, "The loader that it names.", {.printable = true});
  FIELD(needed, "Libraries that it needs, in its order.", {.always = true, .printable = true});
  visit("runpath", &T::run_path, "Where it looks for them.",
        {WHEN(!it.rpath && !it.run_path.empty()), .printable = true});
  DERIVED(rpath, it.run_path, "The same, in the older form.",
          {WHEN(it.rpath && !it.run_path.empty()), .printable = true});
  visit.derived(
      "symbol_versions",
      [](const T& it) {
        std::map<std::string, std::string> versions;
        for (const auto& [name, version] : it.symbol_versions)
          versions.emplace(printable(name), pack::version_text(version));
        return versions;
      },
      "The newest version of each set of symbols that it wants, such as GLIBC.");
  visit.hidden(&T::rpath, &T::symbol_versions, &T::problem);
}

FIELDS_OF(pack::DeviceCode) {
  visit.about("device_code", "A piece of device code.");
  FIELD(kind, "What it is.");
  DERIVED(target, it.target(),
          "sm_90a for machine code, compute_80 for PTX, lto_80, gfx942; ? where the file does not "
          "say.",
          kAlways);
  DERIVED(ptx_isa, text_of(it.ptx_isa),
          "Of PTX: the version of the instruction set, which sets the least driver.");
  FIELD(compression, "How it is packed.");
  FIELD(relocatable, "It must be linked before it can be loaded.", {.sparse = true});
  FIELD(empty, "It holds no kernel.", {.sparse = true});
  FIELD(of_cuda_13, "Only compilers from CUDA 13 on write such machine code.", {.sparse = true});
  FIELD(suffix_unknown, "Whether the target has a suffix could not be read.", {.sparse = true});
  visit.hidden(&T::cuda, &T::gfx, &T::ptx_isa);
}

FIELDS_OF(pack::CarrierGroup) {
  visit.about("carrier_group", "Alike carriers of device code.");
  FIELD(carrier, "What the code stands in.");
  FIELD(section, "The section of the file; absent: none, or not known.", {.printable = true});
  FIELD(count, "How many carriers are alike.");
  visit("bytes", &T::bytes, "Of all of them.");
  FIELD(first_offset, "Where the first stands.");
  FIELD(codes, "What each of them holds.", kAlways);
  visit.hidden(&T::offsets);
}

FIELDS_OF(pack::FileReport) {
  visit.about("code_file", "A file that was read.");
  FIELD(path, "Relative to the folder; of a member of an archive, ARCHIVE!MEMBER.",
        {.always = true, .printable = true});
  FIELD(bytes, "Its size.");
  FIELD(code_bytes, "Of device code.");
  FIELD(foreign, "Of a file that Linux does not load, what it is, such as a Windows library.");
  FIELD(elf, "What a library or program needs.");
  visit("carriers", &T::groups, "What its code stands in; alike ones together.", kAlways);
  FIELD(problems, "What is wrong with it.", {.always = true, .printable = true});
}

FIELDS_OF(pack::FileAnswer::Reason) {
  visit.about("obstacle", "Why modules do not load.");
  visit("rule", &T::obstacle, "The rule, as docs/pack.md names it.");
  FIELD(because, "In words.", kAlways);
  FIELD(modules, "How many.");
}

FIELDS_OF(pack::Change) {
  visit.about("change", "The smallest change that would help.");
  FIELD(text, "In words.", kAlways);
  FIELD(driver, "The least driver; or 'of CUDA X.Y' where its version is not known.");
  FIELD(build, "What to build for.");
}

FIELDS_OF(pack::FileAnswer) {
  visit.about("file_answer", "What a GPU would load of a file.");
  FIELD(runs, "How much of the file's code loads.");
  FIELD(modules,
        "Containers that hold code which can be loaded somewhere; of a file without containers 1.");
  FIELD(by_cubin, "Modules whose machine code loads.");
  FIELD(by_jit, "Modules whose PTX the driver compiles.");
  FIELD(taken, "Compute capabilities of the code that loads, 86 for 8.6, summed over the modules.");
  FIELD(reasons, "Why modules do not load, the most frequent first.", kAlways);
  visit("driver_problem", &T::driver,
        "Why nothing loads with this driver, whatever the file holds.");
  FIELD(change, "The smallest change that would help.", {WHEN(!it.change.empty())});
}

struct AnswerOfGpu {
  pack::FileAnswer answer;
  std::string gpu;
};
FIELDS_OF(AnswerOfGpu) {
  visit.about("runs_on", "What a GPU would load of a file.");
  visit.merged(&T::answer);
  FIELD(gpu, "Compute capability, or AMD's target.", kAlways);
}

struct InspectedFile {
  const pack::FileReport* file;
  std::vector<AnswerOfGpu> runs_on;
};
FIELDS_OF(InspectedFile) {
  visit.about("inspected_file", "A library, a program, or what holds device code.");
  visit.merged([](const T& it) -> const auto& { return *it.file; });
  visit.hidden(&T::file);
  FIELD(runs_on, "What each GPU would load of it with a driver that is new enough.");
}
std::vector<InspectedFile> inspected_files(const pack::Inspection& inspection);

FIELDS_OF(pack::Inspection) {
  FIELD(path, "As it was given.", {.always = true, .printable = true});
  FIELD(kind, "What it is.", {.always = true, .texts = kInspectedKinds});
  FIELD(files_read, "Files that were read.");
  FIELD(bytes_read, "Their bytes.");
  FIELD(problems, "What could not be read.", {.always = true, .printable = true});
  FIELD(hidden,
        "Of container images: libraries and files with device code that a later layer deletes or "
        "replaces; they are not among `files`.",
        {.printable = true});
  DERIVED(files, inspected_files(it), "Libraries, programs, and all that holds device code.",
          kAlways);
  visit.hidden(&T::files, &T::names, &T::links);
}
DOCUMENT_OF(pack::Inspection, "pack-inspect", "Device code of files",
            "What `gpuready pack inspect` found.", "docs/pack.md says what each means.");

FIELDS_OF(pack::Driver) {
  visit.about("driver", "A driver that is answered for.");
  DERIVED(version, it.version ? pack::driver_text(*it.version) : "", "Of the driver.");
  DERIVED(cuda, text_of(it.cuda_known()), "The CUDA version that it is of.");
  visit.hidden(&T::version, &T::cuda);
}

FIELDS_OF(ExplainedGpu) {
  visit.about("explained_gpu", "A kind of GPU.");
  DERIVED(gpu, it.gpu.name(), "Compute capability, or AMD's target.", kAlways);
  FIELD(name, "As it is shown.", {.always = true, .printable = true});
  visit.hidden(&T::gpu);
}

struct ExplainedFile {
  std::string path;
  std::vector<AnswerOfGpu> runs_on;
};
FIELDS_OF(ExplainedFile) {
  visit.about("explained_file", "A file with device code.");
  FIELD(path, "Relative to the folder.", {.always = true, .printable = true});
  FIELD(runs_on, "By GPU.", kAlways);
}
std::vector<ExplainedFile> explained_files(const Explanation& explanation);

FIELDS_OF(Explanation) {
  FIELD(path, "As it was given.", {.always = true, .printable = true});
  FIELD(driver, "The driver that is answered for; empty: one that is new enough.", kAlways);
  FIELD(gpus, "The GPUs, each kind once.", kAlways);
  FIELD(problems, "What could not be read.", {.always = true, .printable = true});
  DERIVED(files, explained_files(it), "Those with device code.", kAlways);
  visit.hidden(&T::files, &T::answers);
}
DOCUMENT_OF(Explanation, "pack-explain", "What GPUs would load",
            "What `gpuready pack explain` answered.", "docs/pack.md says what each means.");

// ---- what is chosen and installed
inline std::vector<std::string> names_of(const std::vector<std::size_t>& gpus,
                                         const pack::SelectMachine& machine) {
  std::vector<std::string> names;
  for (const auto gpu : gpus) names.push_back(machine.gpus[gpu].text());
  return names;
}

FIELDS_OF(pack::SelectGpu) {
  visit.about("select_gpu", "A GPU that was decided for.");
  DERIVED(target, it.target.name(), "Compute capability or AMD's target.", kAlways);
  FIELD(name, "Name.");
  FIELD(uuid, "UUID.");
  FIELD(free_bytes, "Free memory, else all of it.");
  visit.hidden(&T::target);
}

struct ConsideredFor {
  const pack::ConsideredVariant* variant;
  const pack::SelectMachine* machine;
};
FIELDS_OF(ConsideredFor) {
  visit.about("considered", "A variant of the release.");
  DERIVED(name, it.variant->name, "Name.", kAlways);
  DERIVED(chosen, it.variant->chosen, "Whether it is chosen.", kAlways);
  DERIVED(serves, names_of(it.variant->serves, *it.machine), "GPUs that it loads on.", kAlways);
  DERIVED(by_jit, names_of(it.variant->by_jit, *it.machine),
          "Of these, those whose driver compiles most of its modules at the first start.", kAlways);
  DERIVED(problems, it.variant->problems, "Why it does not load on the others.", kAlways);
  DERIVED(
      why_not, it.variant->why_not,
      "Why it is not chosen, where `problems` do not say it: another variant is better, or no GPU "
      "needs it; of an installation, also why it was not taken although the rules chose it.");
  visit.hidden(&T::variant, &T::machine);
}

FIELDS_OF(pack::Decision) {
  visit.about("decision", "Which variant of a release a machine gets, and why.");
  DERIVED(variants, it.selection.variants,
          "The variant that serves all GPUs, else the best set, the most useful first; of an "
          "installation, what was installed, or was to be.",
          kAlways);
  DERIVED(model_note, it.selection.model_note,
          "Why no model that needs memory is chosen, where nothing says how much is free.");
  DERIVED(for_cpu, it.selection.for_cpu, "Whether it is the CPU's variant.", kAlways);
  DERIVED(reason, it.selection.reason, "Why, in one sentence.");
  DERIVED(gpus, it.machine.gpus, "The GPUs that were decided for.", kAlways);
  DERIVED(driver,
          it.machine.driver.version ? std::optional(pack::driver_text(*it.machine.driver.version))
                                    : std::nullopt,
          "NVIDIA's driver.");
  DERIVED(unserved, names_of(it.selection.unserved, it.machine), "GPUs that no variant serves.",
          kAlways);
  visit.derived(
      "considered",
      [](const T& it) {
        std::vector<ConsideredFor> all;
        for (const auto& variant : it.selection.considered) all.push_back({&variant, &it.machine});
        return all;
      },
      "Every variant of the release; empty: it could not be read, or is not trusted.", kAlways);
  visit.hidden(&T::machine, &T::selection);
}

FIELDS_OF(SelectReport) {
  FIELD(name, "Name of the package.", kAlways);
  FIELD(version, "Version.", kAlways);
  visit.merged(&T::decision);
  DERIVED(model, it.decision.selection.model, "The model that the memory holds.");
}
DOCUMENT_OF(SelectReport, "pack-select", "A selected variant",
            "What `gpuready pack select` decided.",
            "0: one is chosen; 1: not trusted; 2: wrong usage; 3: none fits; 4: not reached.");

FIELDS_OF(Error) {
  visit.about("error", "Why something did not succeed.");
  DERIVED(kind, to_string(it.kind), "Kind of error.", kAlways);
  FIELD(message, "What is wrong, where, and what to do.", {.always = true, .printable = true});
  visit.hidden(&T::kind, &T::code);
}

FIELDS_OF(pack::InstallOutcome) {
  visit.about("install_outcome", "How an installation ended.");
  FIELD(installed, "What is current now.");
  FIELD(error, "Why it did not succeed.");
  FIELD(files, "Files and links of the variant.");
  FIELD(reused_files, "Files that were here before.");
  FIELD(content_bytes, "Size of the variant.");
  FIELD(to_fetch_bytes, "Bytes of the archive whose files were missing.");
  FIELD(fetched_bytes, "Bytes that were fetched.");
  FIELD(written_bytes, "Bytes that were written.");
  visit.hidden(&T::end, &T::folder, &T::without_ranges, &T::tried, &T::rejected_models, &T::notes);
}

FIELDS_OF(InstallReport) {
  DERIVED(result, it.outcome.end, "How it ended.", kAlways);
  FIELD(name, "Name of the package.");
  FIELD(version, "Version.");
  FIELD(from, "Where it came from.");
  DERIVED(folder, it.outcome.folder, "The folder that programs use.");
  FIELD(model, "The model that the machine's memory holds.");
  visit.merged(&T::decision);
  visit.merged(&T::outcome);
  visit.hidden(&T::notes, &T::load_report);
}
DOCUMENT_OF(InstallReport, "pack-install", "An installation", "What `gpuready pack install` did.",
            "0: installed, or it was already; 1: not trusted, or it does not load; 2: wrong "
            "usage; 4: not reached or no room.");

FIELDS_OF(PackageState) {
  visit.about("package", "A package that is installed here.");
  visit("folder", &T::store, "Where it lives.", kAlways);
  FIELD(current, "Number of the current version.");
  FIELD(installed, "The versions.", kAlways);
  FIELD(problems, "Files that are not those that were signed.");
}
DOCUMENT_OF(
    std::vector<PackageState>, .name = "pack-list", .title = "Installed packages",
    .description =
        "What `gpuready pack list`, `verify`, `rollback`, `gc` and `uninstall` found or left.",
    .exit_codes = "0: done; 1: damaged; 2: wrong usage; 4: it could not be done.",
    .key = "packages", .key_description = "One a package.");

FIELDS_OF(ShadowedLibrary) {
  visit.about("shadowed", "A library of the system that the package's replaces.");
  FIELD(name, "Name of the library.", kAlways);
  FIELD(system, "The system's file.", kAlways);
}

FIELDS_OF(EnvReport) {
  visit("library_folders", &T::folders, "Folders for LD_LIBRARY_PATH.", kAlways);
  FIELD(shadowed, "Libraries of the system that the package's replace.", kAlways);
  DERIVED(changed, it.change.has_value(),
          "Whether the GPUs or the driver changed since it was installed; of --check.",
          {WHEN(it.checks == EnvCheck::this_machine)});
  FIELD(change, "How.");
  FIELD(variant,
        "The variant that is right now, where something changed, or for the machine that "
        "was named.");
  FIELD(right, "Whether that one is installed.", {WHEN(it.checks != EnvCheck::none)});
  visit.hidden(&T::checks, &T::again);
}
DOCUMENT_OF(
    EnvReport, "pack-env", "A package's libraries", "What `gpuready pack env` found.",
    "0: done, or nothing changed; 1: another variant is right; 2: wrong usage, or nothing is "
    "installed.");

// ---- what is published
FIELDS_OF(pack::PublicKey) {
  visit.about("key", "A public key.");
  DERIVED(key_id, it.id_text(), "Identifier of the key, as minisign shows it.",
          {.always = true, .pattern = "^[0-9A-F]{16}$"});
  DERIVED(public_key, it.text(), "The public key in one line, for --key.", kAlways);
  visit.hidden(&T::id, &T::key);
}

FIELDS_OF(KeyFiles) {
  visit.merged(&T::key);
  visit("secret_key_file", &T::secret_path, "File of the private key.", kAlways);
  visit("public_key_file", &T::public_path, "File of the public key.", kAlways);
  visit("key_chain_file", &T::chain_path,
        "File of the keys before it, each of which signed the next. Absent: none signed it.");
}
DOCUMENT_OF(KeyFiles, "pack-key", "A pair of keys", "What `gpuready pack key` made.",
            "0: made; 2: not.");

template <class Part, class Whole>
std::vector<Part> parts_of(const std::vector<Whole>& wholes) {
  std::vector<Part> parts;
  for (const auto& whole : wholes) parts.push_back({&whole});
  return parts;
}

// What a variant is, without its files, which the manifest lists.
struct VariantSummary {
  const pack::Variant* variant;
};
FIELDS_OF(VariantSummary) {
  visit.about("variant", "A variant of a package.");
  DERIVED(name, it.variant->name, "Name.", kAlways);
  DERIVED(architectures, it.variant->architectures,
          "Compute capabilities that it is for; absent: the CPU.");
  DERIVED(floors, it.variant->floors, "The least of each that it runs with; absent: any.");
  DERIVED(files, it.variant->files.size(), "Number of files and links.", kAlways);
  DERIVED(content_bytes, it.variant->content_bytes(), "Size once installed.", kAlways);
  DERIVED(archive_bytes, it.variant->archive_bytes(), "Size of the archive.", kAlways);
  visit.derived(
      "archive",
      [](const T& it) {
        std::vector<std::string> names;
        for (const auto& part : it.variant->archive) names.push_back(part.name);
        return names;
      },
      "Names of its files.", kAlways);
  visit.hidden(&T::variant);
}

struct BuiltSummary {
  const pack::BuiltVariant* built;
};
FIELDS_OF(BuiltSummary) {
  visit.about("built_variant", "A variant that was built.");
  visit.merged([](const T& it) { return VariantSummary{&it.built->variant}; });
  visit.derived(
      "cuda_from",
      [](const T& it) {
        const auto compilers = compilers_of(it.built->variant);
        return compilers ? pack::version_text(compilers->from) : "";
      },
      "First CUDA release that compiles for all its architectures.");
  visit.derived(
      "cuda_to",
      [](const T& it) {
        const auto compilers = compilers_of(it.built->variant);
        return compilers ? text_of(compilers->to) : std::nullopt;
      },
      "Last such release; absent: the newest known does.");
  DERIVED(problems, problems_of(*it.built), "What is in it and is not what the recipe declares.");
  visit.hidden(&T::built);
}

FIELDS_OF(BuildReport) {
  FIELD(name, "Name of the package.", kAlways);
  FIELD(version, "Version.", kAlways);
  FIELD(folder, "Where the archives are.", kAlways);
  DERIVED(variants, parts_of<BuiltSummary>(it.variants), "The variants.", kAlways);
  visit.hidden(&T::variants);
}
DOCUMENT_OF(BuildReport, "pack-build", "Built variants", "What `gpuready pack build` made.",
            "0: all are built; 1: what is in one is not what the recipe declares; 2: one "
            "could not be built.");

FIELDS_OF(PublishReport) {
  DERIVED(name, it.published.manifest.name, "Name of the package.", kAlways);
  DERIVED(version, it.published.manifest.version, "Version.", kAlways);
  DERIVED(expires_utc, it.published.manifest.expires_utc, "When it is no longer accepted.",
          kAlways);
  FIELD(folder, "The folder of the release.", kAlways);
  visit.merged(&T::key);
  DERIVED(release_notes, it.published.notes_name, "Name of the release notes in it.", kAlways);
  DERIVED(gaps, it.published.gaps, "What is not whole and a waiver accepts, with the reason.");
  FIELD(oci_layout, "The OCI image layout that the release was added to, too.");
  DERIVED(variants, parts_of<VariantSummary>(it.published.manifest.variants), "The variants.",
          kAlways);
  visit.hidden(&T::published);
}
DOCUMENT_OF(PublishReport, "pack-publish", "A published release",
            "What `gpuready pack publish` made.", "0: published; 2: refused.");

}  // namespace gpuready
