#include "host/recording/recording_codec.h"

#include "base/characters.h"
#include "base/text.h"
#include "host/recording/recording_values.h"
#include "host/recording/tar_writer.h"

namespace gpuready {
namespace {

// One reading of one document; the first error stops it.
class Reader {
 public:
  Reader(const Json& doc, std::string_view name, const EntryLookup& entry)
      : doc_(doc), name_(name), entry_(entry) {}

  Result<Recording> read() {
    Recording out;
    out.tool_version = get_string(doc_, "tool_version").value_or("");
    out.created_utc = get_string(doc_, "created_utc").value_or("");
    out.description = get_string(doc_, "description").value_or("");
    out.redacted = get_bool(doc_, "redacted").value_or(false);
    out.closed_world = get_bool(doc_, "closed_world").value_or(false);

    section("files", out.files, [this](const Json& v) { return content(v); });
    section("links", out.links, bytes_from_json);
    section("real_paths", out.real_paths, bytes_from_json);
    section("directories", out.directories, [](const Json& v) { return names(v); });
    section("statuses", out.statuses, status_from_json);
    section("spaces", out.spaces, space_from_json);
    section("tools", out.tools, job_outcome_from_json);
    opens(out);
    environment(out);
    probes(out);
    one("identity", out.identity, identity_from_json);
    one("kernel_log", out.kernel_log, [this](const Json& v) { return log_text(v); });
    if (error_) return std::unexpected(*error_);
    return out;
  }

 private:
  // "file: section["key"]: what", once: the first error is the one told.
  void blame(std::string_view where, std::string_view key, Error error) {
    if (error_) return;
    std::string message = std::string(name_) + ": " + std::string(where);
    if (!key.empty()) message += "[\"" + printable(key.substr(0, 200)) + "\"]";
    error.message = message + ": " + error.message;
    error_ = std::move(error);
  }
  void blame(std::string_view where, std::string_view key, std::string_view what) {
    blame(where, key, Error{ErrorKind::bad_input, std::string(what)});
  }

  // The members of a section; empty when it is absent.
  const Json::object_t& members(const char* section_name) {
    static const Json::object_t kNone;
    const Json& found = member(doc_, section_name);
    if (found.is_null()) return kNone;
    if (!found.is_object()) {
      blame(section_name, "", "expected an object");
      return kNone;
    }
    return found.get_ref<const Json::object_t&>();
  }

  template <class T, class Parse>
  std::optional<Recorded<T>> recorded(const char* where, std::string_view key, const Json& value,
                                      const Parse& parse) {
    if (is_failure(value)) {
      auto failure = failure_from_json(value, key.empty() ? where : key);
      if (failure) return Recorded<T>(std::move(*failure));
      blame(where, key, failure.error());
      return std::nullopt;
    }
    auto parsed = parse(value);
    if (parsed) return Recorded<T>(std::move(*parsed));
    blame(where, key, parsed.error());
    return std::nullopt;
  }

  template <class T, class Parse>
  void section(const char* where, RecordedByPath<T>& out, const Parse& parse) {
    for (const auto& [key, value] : members(where)) {
      if (value.is_null()) continue;  // absent
      auto answer = recorded<T>(where, key, value, parse);
      if (!answer) return;
      out.emplace(key, std::move(*answer));
    }
  }

  template <class T, class Parse>
  void one(const char* where, std::optional<Recorded<T>>& out, const Parse& parse) {
    const Json& value = member(doc_, where);
    if (!value.is_null()) out = recorded<T>(where, "", value, parse);
  }

  Result<std::string> content(const Json& value) const {
    const auto entry = get_string(value, "entry");
    if (!entry) return bytes_from_json(value);
    const std::string* bytes = entry_ ? entry_(*entry) : nullptr;
    if (bytes == nullptr)
      return fail(ErrorKind::bad_input,
                  "its entry " + printable(*entry) + " is not in the archive");
    return *bytes;
  }

  Result<std::string> log_text(const Json& value) const {
    if (!value.is_array()) return content(value);
    const auto& lines = value.get_ref<const Json::array_t&>();
    std::size_t size = 0;
    for (const auto& line : lines) {
      if (!line.is_string()) return fail(ErrorKind::bad_input, "expected text or lines of text");
      size += line.get_ref<const std::string&>().size() + 1;
    }
    std::string text;
    text.reserve(size);
    for (const auto& line : lines) text.append(line.get_ref<const std::string&>()) += '\n';
    return text;
  }

  static Result<std::vector<std::string>> names(const Json& value) {
    if (!value.is_array()) return fail(ErrorKind::bad_input, "expected a list of names");
    std::vector<std::string> out;
    for (const auto& name : value) {
      out.push_back(TRY(bytes_from_json(name)));
    }
    return out;
  }

  void opens(Recording& out) {
    for (const auto& [path, value] : members("opens")) {
      if (value.is_null()) continue;
      if (value == "ok") {
        out.opens.emplace(path, std::nullopt);
        continue;
      }
      const Json wrapped = value.is_string() ? Json{{"error", value}} : value;
      auto failure = failure_from_json(wrapped, path);
      if (!failure) return blame("opens", path, failure.error());
      out.opens.emplace(path, std::move(*failure));
    }
  }

  void environment(Recording& out) {
    for (const auto& [name, value] : members("environment")) {
      if (value.is_null()) {
        out.environment.emplace(name, std::nullopt);
        continue;
      }
      auto bytes = bytes_from_json(value);
      if (!bytes) return blame("environment", name, bytes.error());
      out.environment.emplace(name, std::move(*bytes));
    }
  }

  void probes(Recording& out) {
    for (const auto& [key, value] : members("probes")) {
      if (value.is_null()) continue;
      const std::string where = std::string(name_) + ": probes[\"" + printable(key) + "\"]";
      std::optional<Json> stored;
      if (value.is_object() && value.contains("entry")) {
        const auto text = content(value);
        if (!text) return blame("probes", key, text.error());
        auto parsed = parse_json(*text, where);
        if (!parsed) return blame_whole(parsed.error());
        stored = std::move(*parsed);
      }
      auto document = probe_document_from_json(stored ? *stored : value, where);
      if (!document) return blame_whole(document.error());
      out.probes.emplace(key, std::move(*document));
    }
  }
  void blame_whole(Error error) {  // one that names the place already
    if (!error_) error_ = std::move(error);
  }

  const Json& doc_;
  std::string_view name_;
  const EntryLookup& entry_;
  std::optional<Error> error_;
};

// Whether "files" + path can be an entry's name, and leads back to this very path.
bool names_an_entry(std::string_view path) {
  bool plain = path.size() > 1 && path[0] == '/' && path.back() != '/';
  for (const char c : path) plain &= c > ' ' && c <= '~' && c != '\\';
  for (const char* part : {"//", "/./", "/../"}) plain &= !contains(path, part);
  plain &= !path.ends_with("/.") && !path.ends_with("/..");
  return plain && tar_name_fits(std::string(kFilesPrefix) + std::string(path));
}

std::string probe_entry_name(std::string_view probe, std::size_t number) {
  std::string name = "probes/" + std::to_string(number) + "-";
  for (const char c : probe.substr(0, 40)) name += is_lower(c) || is_digit(c) || c == '_' ? c : '_';
  return name + ".json";
}

template <class Map, class Convert>
void put_section(Json& doc, const char* name, const Map& map, const Convert& convert) {
  if (map.empty()) return;
  Json section = Json::object();
  section.get_ref<Json::object_t&>().reserve(map.size());
  for (const auto& [key, answer] : map) {
    if (!is_utf8(key)) continue;  // JSON has no such key; a replay says that it is not recorded
    if (const auto* failure = std::get_if<RecordedFailure>(&answer))
      append(section, key, failure_to_json(*failure, key));
    else
      append(section, key, convert(key, std::get<0>(answer)));
  }
  doc[name] = std::move(section);
}

// A file whose path can name its entry is reported by that entry alone; the index lists the others,
// and the failures.
void put_files(Json& doc, const Recording& recording, ArchiveEntries& entries) {
  Json section = Json::object();
  for (const auto& [path, answer] : recording.files) {
    if (const auto* failure = std::get_if<RecordedFailure>(&answer)) {
      if (is_utf8(path)) append(section, path, failure_to_json(*failure, path));
      continue;
    }
    const auto& content = std::get<std::string>(answer);
    if (names_an_entry(path)) {
      entries.emplace(std::string(kFilesPrefix) + path, content);
    } else if (is_utf8(path)) {
      std::string name = "other/" + std::to_string(entries.size());
      entries.emplace(name, content);
      append(section, path, Json{{"entry", std::move(name)}});
    }
  }
  if (!section.empty()) doc["files"] = std::move(section);
}

Json name_list(const std::vector<std::string>& names) {
  Json out = Json::array();
  for (const auto& name : names) out.push_back(bytes_to_json(name));
  return out;
}

}  // namespace

Result<Recording> recording_from_json(const Json& doc, std::string_view name,
                                      const EntryLookup& entry) {
  return Reader(doc, name, entry).read();
}

// By hand: each answer is a value, an entry of the archive or a failure.
Json recording_to_json(const Recording& recording, ArchiveEntries& entries) {
  Json doc = Json::object();
  doc["schema"] = kRecordingSchema;
  doc["schema_version"] = Recording::kSchemaVersion;
  doc["tool_version"] = recording.tool_version;
  doc["created_utc"] = recording.created_utc;
  put(doc, "description", recording.description);
  doc["redacted"] = recording.redacted;
  doc["closed_world"] = recording.closed_world;

  if (recording.identity) {
    const auto* failure = std::get_if<RecordedFailure>(&*recording.identity);
    doc["identity"] = failure != nullptr ? failure_to_json(*failure, "identity")
                                         : to_json(std::get<SystemIdentity>(*recording.identity));
  }
  if (recording.kernel_log) {
    if (const auto* failure = std::get_if<RecordedFailure>(&*recording.kernel_log)) {
      doc["kernel_log"] = failure_to_json(*failure, "kernel_log");
    } else {
      entries["kernel.log"] = std::get<std::string>(*recording.kernel_log);
      doc["kernel_log"] = Json{{"entry", "kernel.log"}};
    }
  }
  if (!recording.environment.empty()) {
    Json section = Json::object();
    for (const auto& [name, value] : recording.environment)
      if (is_utf8(name)) append(section, name, value ? bytes_to_json(*value) : Json());
    doc["environment"] = std::move(section);
  }

  put_files(doc, recording, entries);
  const auto text = [](const std::string&, const std::string& value) {
    return bytes_to_json(value);
  };
  const auto structure = [](const std::string&, const auto& value) { return to_json(value); };
  put_section(doc, "links", recording.links, text);
  put_section(doc, "real_paths", recording.real_paths, text);
  put_section(doc, "directories", recording.directories,
              [](const std::string&, const auto& names) { return name_list(names); });
  put_section(doc, "statuses", recording.statuses, structure);
  put_section(doc, "spaces", recording.spaces, structure);
  put_section(doc, "tools", recording.tools, structure);

  if (!recording.opens.empty()) {
    Json section = Json::object();
    for (const auto& [path, failure] : recording.opens)
      if (is_utf8(path)) append(section, path, failure ? failure_to_json(*failure, path) : "ok");
    doc["opens"] = std::move(section);
  }
  if (!recording.probes.empty()) {
    Json section = Json::object();
    std::size_t number = 0;
    for (const auto& [key, document] : recording.probes) {
      if (!is_utf8(key)) continue;
      std::string name = probe_entry_name(document.probe, number++);
      entries[name] = dump(to_json(document));
      append(section, key, Json{{"entry", std::move(name)}});
    }
    doc["probes"] = std::move(section);
  }
  return doc;
}

}  // namespace gpuready
