#include "vm/drivers/build_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/paths.h"
#include "base/text.h"
#include "base/units.h"
#include "host/mapped_file.h"
#include "vm/drivers/module_info.h"
#include "vm/drivers/module_source.h"

namespace gpuready::vm {
namespace {

constexpr std::chrono::hours kBuildLimit{3};

// CONFIG_X of include/config/auto.conf, without its quotes; nothing where it is off.
std::optional<std::string> option_of(std::string_view config, std::string_view name) {
  for (const auto line : lines(config)) {
    auto value = after_prefix(line, name);
    if (!value || !value->starts_with('=')) continue;
    value->remove_prefix(1);
    if (value->size() >= 2 && value->starts_with('"') && value->ends_with('"'))
      value = value->substr(1, value->size() - 2);
    return std::string(*value);
  }
  return std::nullopt;
}

// UTS_RELEASE, of which vermagic is made. include/config/kernel.release is another text in
// Debian's.
Result<std::string> release_of_headers(Host& host, const std::string& folder) {
  constexpr std::string_view kFile = "/include/generated/utsrelease.h";
  const auto text = TRY(host.read_file(folder + std::string(kFile)));
  for (const auto line : lines(text)) {
    const auto words = split(line, " ");
    if (words.size() != 3 || words[0] != "#define" || words[1] != "UTS_RELEASE") continue;
    auto release = words[2];
    if (release.size() > 2 && release.starts_with('"') && release.ends_with('"') &&
        !contains(release, "/"))
      return std::string(release.substr(1, release.size() - 2));
  }
  return fail(
      ErrorKind::bad_input,
      fmt::format("{}{}: does not name a kernel release; install the kernel's headers again",
                  folder, kFile));
}

// Debian's and the kernel's own separate builds: a Makefile that includes another one.
Result<std::string> source_of_headers(Host& host, const std::string& folder) {
  const auto text = TRY(host.read_file(folder + "/Makefile"));
  for (const auto line : lines(text)) {
    const auto included = after_prefix(trim(line), "include /");
    if (!included || !included->ends_with("/Makefile")) continue;
    const auto source = gpuready::folder_of("/" + std::string(*included));
    if (host.exists(source + "/Makefile")) return source;
    // Unpacked elsewhere, the two stand side by side.
    const auto beside =
        gpuready::folder_of(folder) + "/" + std::string(gpuready::base_name(source));
    if (host.exists(beside + "/Makefile")) return beside;
    return fail(
        ErrorKind::not_found,
        fmt::format("{} belongs to {}, which is not here: install the package {}, or unpack "
                    "it beside the other",
                    folder, source, gpuready::base_name(source)));
  }
  return folder;
}

// The first line that says what failed; else make's own, else the last one.
std::string first_error(const JobOutcome& outcome) {
  const auto all = outcome.err + "\n" + outcome.out;
  std::string_view cause, of_make, last;
  for (const auto raw : lines(all)) {
    const auto line = trim(raw);
    if (line.empty()) continue;
    last = line;
    const auto says = [&](std::string_view text) { return contains(line, text); };
    const bool make = says("*** ");
    if (cause.empty() && !make &&
        (says("rror:") || says("not found") || says("No such file") || says("annot fork") ||
         says("fork: ") || says("No space left")))
      cause = line;
    if (of_make.empty() && make) of_make = line;
  }
  const auto told = !cause.empty() ? cause : !of_make.empty() ? of_make : last;
  return printable(told.substr(0, 300));
}

Result<void> run_tool(const BuildRequest& request, Job job, const std::string& what,
                      const std::string& cure) {
  // What the caller's own make, or the user's shell, would change in the build.
  for (const char* name : {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARCH", "CROSS_COMPILE", "KCFLAGS"})
    job.env.emplace_back(name, std::nullopt);
  job.env.emplace_back("LC_ALL", "C");
  job.limits.time = kBuildLimit;
  job.output_limit_bytes = 64 * MiB;
  const auto outcome = run_job(job, {.cancel = request.cancel});
  if (!outcome)
    return fail(outcome.error().kind,
                outcome.error().kind == ErrorKind::not_found
                    ? fmt::format("{}: {} is not installed; {}", what, job.program, cure)
                    : fmt::format("{}: {}", what, outcome.error().message));
  if (outcome->end == JobEnd::exited && outcome->exit_code == 0) return {};
  if (outcome->end == JobEnd::cancelled)
    return fail(ErrorKind::cancelled, what + ": interrupted; nothing of it is kept");
  if (outcome->end != JobEnd::exited)
    return fail(ErrorKind::crashed,
                fmt::format("{}: {} was {}", what, job.program, to_string(outcome->end)));
  return fail(ErrorKind::bad_input, fmt::format("{}: {}; {}", what, first_error(*outcome), cure));
}

Result<void> check_version(Host& host, const BuildRequest& request) {
  const auto version = version_of_source(host, request.folder);
  if (version.empty() || version == request.driver_version) return {};
  return fail(ErrorKind::bad_input,
              fmt::format("{}: the modules' source is of {}, the libraries are of {}: the driver "
                          "refuses such a mixture; give the source of {}",
                          request.source, version, request.driver_version, request.driver_version));
}

Result<void> check_module(const std::string& path, const BuildRequest& request) {
  const auto mapped = TRY(MappedFile::open(path));
  const auto name = std::string(gpuready::base_name(path));
  const auto info = TRY(read_module(mapped.bytes(), name));
  const auto& release = request.headers.kernel_release;
  if (info.kernel_release != release)
    return fail(
        ErrorKind::bad_input,
        fmt::format("{}: {} was built for \"{}\" (vermagic), and the headers are of {}: {} "
                    "is damaged, install it again",
                    request.source, name, info.kernel_release, release, request.headers.folder));
  if (!info.version.empty() && info.version != request.driver_version)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: {} is of version {}, and the driver is {}", request.source, name,
                            info.version, request.driver_version));
  if (request.signing && !info.is_signed)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: {} was not signed, though the kernel's sign-file ended well",
                            request.source, name));
  return {};
}

Result<void> sign(Host& host, const BuildRequest& request, const std::vector<std::string>& made) {
  const auto& headers = request.headers;
  const auto what = "cannot sign the modules for " + headers.kernel_release;
  std::string tool;
  for (const auto& folder : {headers.folder, headers.source})
    if (tool.empty() && host.exists(folder + "/scripts/sign-file"))
      tool = folder + "/scripts/sign-file";
  if (tool.empty())
    return fail(ErrorKind::not_found,
                fmt::format("{}: {} has no scripts/sign-file; Debian's is in linux-kbuild", what,
                            headers.folder));
  const auto hash = headers.signature_hash.empty() ? "sha256" : headers.signature_hash;
  for (const auto& path : made) {
    Job job;
    job.program = tool;
    job.args = {hash, request.signing->key, request.signing->certificate, path};
    TRY(run_tool(request, std::move(job), what, "check the key and the certificate"));
  }
  return {};
}

}  // namespace

Result<KernelHeaders> find_kernel_headers(Host& host, const std::string& folder) {
  constexpr std::string_view kConfig = "/include/config/auto.conf";
  KernelHeaders headers;
  headers.folder = TRY(host.real_path(folder));
  if (!host.exists(headers.folder + std::string(kConfig))) {
    // A folder into which packages were unpacked.
    std::vector<std::string> found;
    const auto above = headers.folder + "/usr/src";
    for (const auto& name : host.list_directory(above).value_or(std::vector<std::string>()))
      if (host.exists(above + "/" + name + std::string(kConfig)))
        found.push_back(above + "/" + name);
    if (found.size() != 1)
      return fail(ErrorKind::bad_input,
                  found.empty()
                      ? fmt::format("{}: not the headers of a kernel: {} is missing; name "
                                    "/lib/modules/RELEASE/build or /usr/src/linux-headers-RELEASE",
                                    folder, kConfig.substr(1))
                      : fmt::format("{}: the headers of several kernels: {}; name one of them",
                                    folder, fmt::join(found, ", ")));
    headers.folder = found.front();
  }
  headers.source = TRY(source_of_headers(host, headers.folder));
  const auto config = TRY(host.read_file(headers.folder + std::string(kConfig)));
  headers.compiler = option_of(config, "CONFIG_CC_VERSION_TEXT").value_or("");
  if (option_of(config, "CONFIG_MODULE_SIG") == "y")
    headers.signature_hash = option_of(config, "CONFIG_MODULE_SIG_HASH").value_or("sha256");
  headers.signed_modules_only = option_of(config, "CONFIG_MODULE_SIG_FORCE") == "y";
  headers.kernel_release = TRY(release_of_headers(host, headers.folder));
  return headers;
}

Result<std::vector<std::string>> build_modules(Host& host, const BuildRequest& request) {
  const auto& headers = request.headers;
  const auto what = fmt::format("cannot build {} for {}", request.source, headers.kernel_release);
  TRY(check_version(host, request));
  // make(1) cuts names at blanks and colons.
  for (const auto& folder : {request.folder, headers.folder, headers.source})
    if (folder.find_first_of(" \t:#$") != folder.npos)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: make cannot build in a folder with a blank, ':', '#' or '$' in "
                              "its name: {}",
                              what, folder));
  Job job;
  job.program = "make";
  job.args = {"-C",
              request.folder,
              fmt::format("-j{}", std::max(1u, request.jobs)),
              "modules",
              "SYSSRC=" + headers.source,
              "SYSOUT=" + headers.folder};
  TRY(run_tool(request, std::move(job), what,
               fmt::format("make, binutils and the kernel's compiler{} are needed",
                           headers.compiler.empty() ? "" : " (" + headers.compiler + ")")));
  std::vector<std::string> made;
  for (const char* below : {"", "/kernel-open"}) {
    const auto folder = request.folder + below;
    for (const auto& name : host.list_directory(folder).value_or(std::vector<std::string>()))
      if (name.ends_with(".ko")) made.push_back(folder + "/" + name);
  }
  if (made.empty())
    return fail(ErrorKind::bad_input,
                what + ": make ended well and made no module; is this NVIDIA's source?");
  job = {};
  job.program = "strip";
  job.args = {"--strip-debug"};
  job.args.insert(job.args.end(), made.begin(), made.end());
  TRY(run_tool(request, std::move(job), what, "install binutils"));
  if (request.signing) TRY(sign(host, request, made));
  for (const auto& path : made) TRY(check_module(path, request));
  return made;
}

}  // namespace gpuready::vm
