// Machines written by hand as JSON (docs/recordings.md), and load_recording() for both kinds.
#include <unordered_map>

#include "base/paths.h"
#include "base/text.h"
#include "host/recording/recording_archive.h"
#include "host/recording/recording_codec.h"

namespace gpuready {
namespace {

constexpr int kMaxExtends = 8;
constexpr std::size_t kScriptMaxBytes = 32u << 20;

constexpr std::string_view kSections[] = {
    "schema",      "schema_version", "description", "source",   "extends", "files",
    "links",       "real_paths",     "directories", "statuses", "opens",   "spaces",
    "environment", "identity",       "kernel_log",  "tools",    "probes",
};

// RFC 7396. The library's own is quadratic for objects of many members.
void merge(Json& target, Json&& patch) {
  if (!patch.is_object()) {
    target = std::move(patch);
    return;
  }
  if (!target.is_object()) target = Json::object();
  auto& members = target.get_ref<Json::object_t&>();
  struct Change {
    Json* value;
    bool removes, made;
  };
  std::unordered_map<std::string_view, Change> changes;
  for (auto& [key, value] : patch.get_ref<Json::object_t&>())
    changes[key] = {&value, value.is_null(), false};
  std::size_t made = 0, removed = 0;
  for (auto& [key, value] : members) {
    const auto found = changes.find(key);
    if (found == changes.end()) continue;
    auto& change = found->second;
    change.made = true;
    ++made;
    if (change.removes)
      ++removed;
    else
      merge(value, std::move(*change.value));
  }
  if (removed == 0 && made == changes.size()) return;
  Json::object_t merged;
  merged.reserve(members.size() + changes.size() - made);  // growing would copy all values
  const auto add = [&](const std::string& key, Json&& value) {
    merged.Json::object_t::Container::emplace_back(key, std::move(value));
  };
  for (auto& [key, value] : members)
    if (const auto found = changes.find(key); found == changes.end() || !found->second.removes)
      add(key, std::move(value));
  for (auto& [key, change] : patch.get_ref<Json::object_t&>()) {
    const Change& known = changes.at(key);
    if (known.made || known.removes) continue;
    Json value;
    merge(value, std::move(change));  // drops the nulls inside, as the RFC says
    add(key, std::move(value));
  }
  members = std::move(merged);
}

Result<void> check_sections(const Json& doc, std::string_view name) {
  for (const auto& [key, value] : doc.get_ref<const Json::object_t&>()) {
    bool known = false;
    for (const auto section : kSections) known |= section == key;
    if (!known)
      return fail(ErrorKind::bad_input,
                  std::string(name) + ": unknown section \"" + printable(key) + "\"");
  }
  return {};
}

Result<Json> load_script(std::string_view text, std::string_view name, const std::string& folder,
                         std::vector<std::string>& chain);

Result<Json> load_base(const std::string& relative, std::string_view name,
                       const std::string& folder, std::vector<std::string>& chain) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::bad_input, std::string(name) + ": \"extends\": " + std::string(what));
  };
  if (relative.empty() || relative.front() == '/')
    return bad("expected a path relative to this file's folder");
  if (chain.size() >= kMaxExtends) return bad("a chain of more than 8 machines");
  const auto host = make_live_host();
  const auto path = host->real_path(folder + "/" + relative);
  if (!path) return bad(path.error().message);
  for (const auto& seen : chain)
    if (seen == *path) return bad("the machine " + *path + " extends itself");
  const auto text = host->read_file(*path, kScriptMaxBytes);
  if (!text) return bad(text.error().message);
  chain.push_back(*path);
  return load_script(*text, *path, folder_of(*path), chain);
}

Result<Json> load_script(std::string_view text, std::string_view name, const std::string& folder,
                         std::vector<std::string>& chain) {
  auto doc = parse_json(text, name, kScriptMaxBytes);
  if (!doc) return doc;
  TRY(check_schema(*doc, name, kScriptSchema));
  TRY(check_sections(*doc, name));
  const Json& extends = member(*doc, "extends");
  if (extends.is_null()) return doc;
  if (!extends.is_string())
    return fail(ErrorKind::bad_input, std::string(name) + ": \"extends\" is not a text");
  auto base = load_base(extends.get<std::string>(), name, folder, chain);
  if (!base) return base;
  merge(*base, std::move(*doc));
  return base;
}

}  // namespace

Result<Recording> recording_from_script(std::string_view text, std::string_view name,
                                        const std::string& folder) {
  std::vector<std::string> chain;
  auto doc = TRY(load_script(text, name, folder, chain));
  auto recording = recording_from_json(doc, name, nullptr);
  // The library moves the lines of a log out of their array before it destroys them.
  if (auto log = doc.find("kernel_log"); log != doc.end() && log->is_array())
    log->get_ref<Json::array_t&>().clear();
  if (recording) recording->closed_world = true;
  return recording;
}

Result<Recording> load_recording(const std::string& path) {
  const auto bytes = make_live_host()->read_file(path, kRecordingMaxBytes);
  if (!bytes) {
    Error error = bytes.error();
    error.message = "cannot read the recording " + error.message;
    return std::unexpected(std::move(error));
  }
  if (bytes->starts_with(kZstdMagic)) return recording_from_archive(*bytes, path);
  if (trim(std::string_view(*bytes).substr(0, 64)).starts_with('{'))
    return recording_from_script(*bytes, path, folder_of(path));
  return fail(ErrorKind::bad_input,
              path + (bytes->empty() ? ": empty" : ": neither a .tar.zst nor JSON") +
                  ", so it is not a recording; `gpuready record FILE.tar.zst` writes one");
}

}  // namespace gpuready
