#include "bench/record/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/characters.h"
#include "base/paths.h"
#include "base/text.h"
#include "bench/exchange/export.h"
#include "bench/exchange/import.h"
#include "bench/record/fields_run.h"
#include "host/atomic_file.h"
#include "host/folders.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kMaxDocumentBytes = 256u << 20;
constexpr std::string_view kParts = "__";  // between id and tag
constexpr std::string_view kEnding = ".json";
constexpr std::size_t kTriedBytes = 64u << 10;
constexpr std::uint32_t kForAll = 0777;  // whom the user's mask lets

struct RunFile {
  std::string path, id, tag;
};

// "<id>__<tag>.json", or nothing.
std::optional<RunFile> run_file(const std::string& folder, const std::string& name) {
  const auto parts = name.find(kParts);
  if (!name.ends_with(kEnding) || parts == name.npos) return std::nullopt;
  const auto tag = parts + kParts.size();
  return RunFile{folder + "/" + name, name.substr(0, parts),
                 name.substr(tag, name.size() - kEnding.size() - tag)};
}

Result<std::vector<RunFile>> run_files(Host& host, const std::string& folder) {
  std::vector<RunFile> files;
  for (const auto& name : TRY(host.list_directory(folder)))
    if (auto file = run_file(folder, name)) files.push_back(std::move(*file));
  return files;
}

// Of the folder of results, where runs are found by tag: root takes them from no folder and no file
// that others may change.
Result<std::vector<RunFile>> own_run_files(Host& host, const std::string& folder) {
  TRY(host.check_believed(folder + "/"));
  return run_files(host, folder);
}

std::string known_tags(const std::vector<RunFile>& files) {
  std::set<std::string> tags;
  for (const auto& file : files) tags.insert(file.tag);
  return join({tags.begin(), tags.end()}, ", ");
}

// What stands at a path; none where nothing does.
Result<std::vector<RunRecord>> runs_at(Host& host, const std::string& path) {
  std::vector<RunRecord> runs;
  const auto there = host.status(path);
  if (!there) return runs;
  if (there->kind != FileKind::directory) {
    runs.push_back(TRY(read_run_file(host, path)));
    return runs;
  }
  for (const auto& file : TRY(run_files(host, path)))
    runs.push_back(TRY(read_run_file(host, file.path)));
  if (runs.empty())
    return fail(ErrorKind::not_found, fmt::format("the folder {} contains no run", path));
  return runs;
}

Result<std::vector<RunRecord>> find_one(Host& host, const std::string& folder,
                                        const std::string& name) {
  // Else a folder beside that is called like a tag would hide its runs.
  const bool is_path = contains(name, "/") || name.ends_with(kEnding);
  if (is_path)
    if (auto runs = TRY(runs_at(host, name)); !runs.empty()) return runs;
  const auto files = own_run_files(host, folder);
  if (!files && files.error().kind == ErrorKind::no_permission)
    return std::unexpected(files.error());
  std::string wanted = name;
  if (name == "latest") wanted = host.read_text(folder + "/latest").value_or(name);
  std::vector<RunRecord> runs;
  if (files)
    for (const auto& file : *files)
      if (file.tag == wanted || file.id == wanted)
        runs.push_back(TRY(read_own_run_file(host, file.path)));
  if (runs.empty() && !is_path) runs = TRY(runs_at(host, name));
  if (!runs.empty()) return runs;
  const auto tags = files ? known_tags(*files) : "";
  if (name == "latest" && tags.empty())
    return fail(ErrorKind::not_found,
                fmt::format("{} contains no run yet; `gpuready bench run` makes one", folder));
  return fail(
      ErrorKind::not_found,
      fmt::format("{} is neither a file nor the tag or id of a run in {}; tags there: {}", name,
                  folder,
                  tags.empty() ? fmt::format("none; `gpuready bench run --tag {}` makes one",
                                             check_tag(name) ? name : "base")
                               : tags));
}

}  // namespace

Result<RunRecord> read_run_file(Host& host, const std::string& path) {
  const auto text = TRY(host.read_file(path, kMaxDocumentBytes));
  auto run = TRY(import_run(text, path));
  if (run.tag.empty()) {  // of another program: its file's name
    const std::string name(base_name(path));
    run.tag = name.substr(0, name.rfind('.'));
  } else if (auto tag = tag_in_name(path); check_tag(tag)) {
    run.tag = std::move(tag);  // a file that was renamed has a new one
  }
  return run;
}

Result<RunRecord> read_own_run_file(Host& host, const std::string& path) {
  TRY(host.check_believed(path));
  return read_run_file(host, path);
}

std::string tag_in_name(const std::string& path) {
  const auto file = run_file("", std::string(base_name(path)));
  return file ? file->tag : "";
}

Result<std::vector<std::pair<std::string, std::string>>> run_files_of(Host& host,
                                                                      const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& file : TRY(own_run_files(host, folder))) found.emplace_back(file.id, file.path);
  return found;
}

Result<std::vector<RunRecord>> runs_of_tag(Host& host, const std::string& folder,
                                           std::string_view tag) {
  std::vector<RunRecord> runs;
  if (!host.exists(folder)) return runs;
  for (const auto& file : TRY(own_run_files(host, folder)))
    if (file.tag == tag) runs.push_back(TRY(read_own_run_file(host, file.path)));
  return runs;
}

Result<void> check_tag(std::string_view tag) {
  const auto good = [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
  };
  if (!tag.empty() && tag.size() <= kLongestTag && std::all_of(tag.begin(), tag.end(), good) &&
      tag[0] != '.' && tag[0] != '-' && !contains(tag, kParts) && tag != "latest")
    return {};
  return fail(ErrorKind::bad_input,
              fmt::format("{} is not a tag: use up to 100 letters, digits, '.', '-' and single "
                          "'_'; \"latest\" is reserved for the latest run",
                          tag.empty() ? "an empty text" : printable(tag)));
}

namespace {

// Ids are parts of names of files, and may come from another machine.
Result<void> check_names(const RunRecord& run) {
  TRY(check_tag(run.tag));
  const auto good = [](char c) { return is_letter_or_digit(c) || c == '-'; };
  if (!run.id.empty() && run.id.size() <= 64 && std::ranges::all_of(run.id, good)) return {};
  return fail(ErrorKind::bad_input,
              fmt::format("the run's id is {}; expected up to 64 letters, digits and '-'",
                          printable(run.id.substr(0, 100))));
}

}  // namespace

std::string workload_text(const Workload& workload) {
  std::string text = workload.name;
  for (const auto& [name, size] : workload.shape) text += fmt::format(" {} {}", name, size);
  for (const auto* part : {&workload.dtype, &workload.device})
    if (!part->empty()) text += ", " + *part;
  return text;
}

Result<void> check_same_work(Host& host, const std::string& folder, std::string_view tag,
                             const Workload& workload) {
  if (!host.exists(folder)) return {};
  for (const auto& file : TRY(own_run_files(host, folder))) {
    if (file.tag != tag) continue;
    const auto other = TRY(read_own_run_file(host, file.path)).workload;
    if (workload_text(other) == workload_text(workload)) continue;
    return fail(ErrorKind::bad_input,
                fmt::format("the tag {} holds runs of {} ({}), and this one is of {}: give it "
                            "another tag",
                            tag, printable(workload_text(other)), file.id,
                            printable(workload_text(workload))));
  }
  return {};
}

std::string run_path(std::string_view folder, const RunRecord& run) {
  return fmt::format("{}/{}{}{}{}", folder, run.id, kParts, run.tag, kEnding);
}

Result<void> save_run(const std::string& folder, const RunRecord& run, std::string_view document,
                      Storage& storage) {
  TRY(check_names(run));
  TRY(make_folders(folder, storage, kForAll));
  TRY(write_file_atomically(run_path(folder, run), document, {.on_existing = OnExisting::fail},
                            storage));
  if (!run.is_whole() || !run.is_timed()) return {};
  return write_file_atomically(folder + "/latest", run.tag + "\n", {}, storage);
}

Result<void> check_writable(const std::string& folder, Storage& storage) {
  TRY(make_folders(folder, storage, kForAll));
  auto file = TRY(AtomicFile::create(folder + "/.gpuready-try", {}, storage));
  return file.write(std::string(kTriedBytes, ' '));
}

Result<void> save_as_pyc_suite(const std::string& folder, const RunRecord& run, Storage& storage) {
  TRY(check_names(run));
  TRY(make_folders(folder, storage, kForAll));
  const std::string numbered = fmt::format("{}/{}{}{}", folder, run.id, kParts, run.tag);
  const std::string suite = dump(to_pyc_suite(run));
  TRY(write_file_atomically(numbered + ".json", suite, {}, storage));
  TRY(write_file_atomically(numbered + ".metadata.json", dump(to_pyc_metadata(run)), {}, storage));
  TRY(write_file_atomically(fmt::format("{}/{}.md", folder, run.tag), to_pyc_markdown(run), {},
                            storage));
  return write_file_atomically(fmt::format("{}/{}.json", folder, run.tag), suite, {}, storage);
}

Result<RunRecord> read_run(std::string_view text, std::string_view name) {
  const auto doc = TRY(parse_json(text, name, kMaxDocumentBytes));
  if (get_string(doc, "schema") != kForm<RunRecord>.schema())
    return fail(ErrorKind::bad_input, fmt::format("{} is not a document of a benchmark run", name));
  if (get_int(doc, "schema_version") != value::kSchemaVersion)
    return fail(ErrorKind::bad_input,
                fmt::format("{} was written by another version, whose documents of runs this one "
                            "does not read",
                            name));
  return run_from_json(member(doc, "run"), name);
}

Result<std::vector<RunRecord>> find_runs(Host& host, const std::string& folder,
                                         std::string_view names) {
  std::vector<RunRecord> runs;
  for (const auto name : split(names, ","))
    for (auto& run : TRY(find_one(host, folder, std::string(name)))) runs.push_back(std::move(run));
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto& a, const auto& b) { return a.started_utc < b.started_utc; });
  for (std::size_t i = 1; i < runs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (runs[i].id == runs[j].id)
        return fail(ErrorKind::bad_input,
                    fmt::format("{} names the run {} twice", names, runs[i].id));
  return runs;
}

}  // namespace gpuready::bench
