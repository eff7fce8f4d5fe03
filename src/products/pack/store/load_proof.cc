#include "pack/store/load_proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/mapped_file.h"
#include "jobs/running_job.h"
#include "pack/release/manifest_fields.h"
#include "pack/store/sandbox.h"
#include "value/write_fields.h"

namespace gpuready::pack {
namespace {

bool is_elf_library(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file || file->bytes().size() < 20) return false;
  const auto bytes = file->bytes();
  constexpr std::uint8_t kMagic[] = {0x7f, 'E', 'L', 'F'}, kShared = 3;
  return std::ranges::equal(bytes.first(4), kMagic) && bytes[16] == kShared;
}

PackageFolder package_of(const LoadPlan& plan) {
  PackageFolder package{plan.folder, {}};
  auto& folders = package.library_folders;
  for (const auto& library : plan.libraries)
    if (const auto folder = folder_of(library); std::ranges::find(folders, folder) == folders.end())
      folders.push_back(folder);
  return package;
}

Job job_of(const LoadPlan& plan, std::chrono::milliseconds limit) {
  Job job = sandbox_job(kLoadChild, package_of(plan));
  job.env.emplace_back("CUDA_VISIBLE_DEVICES", plan.device == "cpu" ? "" : plan.device);
  job.limits.time = limit;
  return job;
}

// Paths as they are in the package's folder.
Json request_of(const LoadPlan& plan) {
  const auto package = package_of(plan);
  const auto json_of = [&](const CodePiece& piece) {
    return Json{{"path", package.inside(piece.path)},
                {"offset_bytes", piece.offset_bytes},
                {"text", piece.text}};
  };
  Json request = {{"cuda", plan.device != "cpu"},
                  {"libraries", Json::array()},
                  {"code", Json::array()},
                  {"probes", Json::array()}};
  for (const auto& library : plan.libraries)
    request["libraries"].push_back(package.inside(library));
  for (const auto& piece : plan.code) request["code"].push_back(json_of(piece));
  for (const auto& planned : plan.probes) {
    Json probe = {{"probe", value::write_fields(planned.probe)}, {"code", Json::array()}};
    for (const auto& piece : planned.code) probe["code"].push_back(json_of(piece));
    request["probes"].push_back(std::move(probe));
  }
  return request;
}

std::string how_it_ended(const JobOutcome& outcome) {
  switch (outcome.end) {
    case JobEnd::signalled:
      return fmt::format("the process died by signal {}", outcome.signal);
    case JobEnd::exited:
      return fmt::format("the process ended with exit code {}", outcome.exit_code);
    default:
      return fmt::format("the process {}", to_string(outcome.end));
  }
}

}  // namespace

std::vector<std::string> libraries_of(const std::string& folder, const Variant& variant) {
  std::vector<std::string> libraries;
  for (const auto& file : variant.files) {
    const auto name = base_name(file.path);
    if (file.link || name.find(".so") == name.npos) continue;
    const auto path = folder + "/" + file.path;
    if (is_elf_library(path)) libraries.push_back(path);
  }
  return libraries;
}

LoadResult run_load_test(const LoadPlan& plan, std::chrono::milliseconds limit) {
  LoadResult result;
  result.device = plan.device;
  result.name = plan.name;
  auto job = RunningJob::start(job_of(plan, limit));
  if (!job) {
    result.failure = job.error().message;
    return result;
  }
  job->send(dump_line(request_of(plan)) + "\n");
  std::string step = "starting";
  bool done = false;
  while (!job->finished()) {
    poll_jobs({&*job}, deadline_in(std::chrono::milliseconds(200)));
    for (const auto& line : job->take_lines(kChannel)) {
      const auto doc = parse_json(line, "load test");
      if (!doc) continue;
      if (const auto now = get_string(*doc, "step")) step = *now;
      if (const auto failure = get_string(*doc, "failure"); failure && !result.failure)
        result.failure = *failure;
      if (get_bool(*doc, "done")) done = true;
      result.libraries = get_uint(*doc, "libraries").value_or(result.libraries);
      result.modules = get_uint(*doc, "modules").value_or(result.modules);
      result.probes = get_uint(*doc, "probes").value_or(result.probes);
    }
    // A driver's exit may take long, and nothing is learned from it.
    if (done) break;
  }
  if (!done && !result.failure)
    result.failure = fmt::format("{}: {}", step, how_it_ended(job->outcome()));
  if (result.failure) result.failure = printable(*result.failure);
  job->release();
  return result;
}

}  // namespace gpuready::pack
