// A walk over a recording that keeps of each part what the rules say that somebody reads, and of
// that what names no one (redactor.h).
#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "host/recording/recording.h"
#include "host/redaction/redactor.h"
#include "host/redaction/secret_names.h"
#include "host/redaction/token_forms.h"

namespace gpuready {
namespace {

class Rewriter {
 public:
  explicit Rewriter(const RedactionRules& rules) : rules_(rules), redactor_(rules) {}

  Recording rewrite(Recording in) {
    Recording out;
    out.tool_version = in.tool_version;
    out.created_utc = in.created_utc;
    out.closed_world = in.closed_world;
    out.redacted = true;
    for (const auto& [folder, names] : in.directories)
      if (const auto* listed = std::get_if<std::vector<std::string>>(&names);
          listed != nullptr && folder.starts_with("/sys/"))
        for (const auto& name : *listed) redactor_.note_address(name);
    for (const auto& [key, document] : in.probes)
      for (const auto& [name, call] : document.calls) note_addresses(call.value);
    // First those that name GPUs: a variable may give the beginning of a UUID.
    for (auto& [key, content] : in.probes) probe(key, content, out);
    for (const auto& [path, content] : in.files)
      out.files.emplace(redactor_.path(path), file(path, content));
    by_path(in.links, out.links, [&](const std::string& path, const std::string& target) {
      return redactor_.link(path, target);
    });
    by_path(in.real_paths, out.real_paths,
            [&](const std::string&, const std::string& path) { return redactor_.path(path); });
    by_path(in.directories, out.directories,
            [&](const std::string& folder, const std::vector<std::string>& names) {
              return listed(folder, names);
            });
    const auto as_it_is = [](const std::string&, const auto& value) { return value; };
    by_path(in.statuses, out.statuses, as_it_is);
    by_path(in.spaces, out.spaces, as_it_is);
    for (const auto& [path, failure] : in.opens) {
      std::optional<RecordedFailure> to;
      if (failure) to = told(*failure);
      out.opens.emplace(redactor_.path(path), std::move(to));
    }
    for (const auto& [name, value] : in.environment) variable(name, value, out);
    for (const auto& [command, outcome] : in.tools) tool(command, outcome, out);
    if (in.identity)
      out.identity = recorded(*in.identity, [&](SystemIdentity who) { return identity(who); });
    if (in.kernel_log)
      out.kernel_log =
          recorded(*in.kernel_log, [&](const std::string& log) { return kept_lines(log); });
    return out;
  }

 private:
  std::string text(std::string_view value) { return redactor_.text(value); }
  RecordedFailure told(const RecordedFailure& failure) {
    return {failure.kind, text(failure.message), failure.code};
  }
  template <class T, class Keep>
  Recorded<T> recorded(const Recorded<T>& from, Keep keep) {
    if (const auto* failure = std::get_if<RecordedFailure>(&from)) return told(*failure);
    return keep(std::get<T>(from));
  }
  template <class T, class Keep>
  void by_path(const RecordedByPath<T>& from, RecordedByPath<T>& to, Keep keep) {
    for (const auto& [path, content] : from)
      to.emplace(redactor_.path(path),
                 recorded(content, [&](const T& value) { return keep(path, value); }));
  }

  Recorded<std::string> file(const std::string& path, const Recorded<std::string>& content) {
    if (const auto* failure = std::get_if<RecordedFailure>(&content)) return told(*failure);
    const auto& bytes = std::get<std::string>(content);
    if (names_a_serial(base_name(path))) return id(bytes);
    if (auto kept = rules_.file ? rules_.file(path, bytes, redactor_) : std::nullopt)
      return std::move(*kept);
    return RecordedFailure{ErrorKind::no_permission,
                           redactor_.path(path) + ": removed by redaction", 0};
  }

  // amdgpu writes its 64-bit id as sixteen hex digits here and in decimal in the KFD topology.
  std::string id(std::string_view content) {
    const auto value = trim(content);
    if (const auto number = value.size() == 16 ? parse_uint(value, 16) : std::nullopt) {
      char hex[17];
      std::snprintf(hex, sizeof hex, "%016llx",
                    static_cast<unsigned long long>(redactor_.id(*number)));
      return std::string(hex) + "\n";
    }
    return redactor_.name(value);
  }

  std::vector<std::string> listed(const std::string& folder,
                                  const std::vector<std::string>& names) {
    std::vector<std::string> kept;
    const std::string base = folder.ends_with('/') ? folder : folder + "/";
    for (const auto& name : names)
      if (!rules_.listed || rules_.listed(folder, name))
        kept.emplace_back(base_name(redactor_.path(base + name)));
    return kept;
  }

  void variable(const std::string& name, const std::optional<std::string>& from, Recording& out) {
    if (names_a_credential(name)) return;
    std::optional<std::string> to;
    if (from) to = redactor_.value(*from);
    out.environment.emplace(name, std::move(to));
  }

  void tool(const std::string& command, const Recorded<JobOutcome>& outcome, Recording& out) {
    out.tools.emplace(text(command), recorded(outcome, [&](JobOutcome process) {
                        for (auto* stream : {&process.out, &process.err, &process.channel})
                          *stream = text(*stream);
                        return process;
                      }));
  }

  SystemIdentity identity(SystemIdentity who) {
    who.host_name = redactor_.name(who.host_name);
    who.kernel_release = redactor_.release(who.kernel_release);
    return who;
  }

  static bool holds(const std::function<bool(std::string_view)>& rule, std::string_view text) {
    return !rule || rule(text);
  }

  // A record stays a record: its first line that stays says who wrote it, as its first did.
  std::string kept_lines(std::string_view log) {
    std::string out;
    std::string_view record;  // the time of the one that is being read: host/kernel_log.h
    bool believed = false, begun = false;
    for (const auto line : lines(log)) {
      const auto space = line.find(' ');  // "<seconds> text"
      const auto time = line.substr(0, space);
      if (space == line.npos || !parse_double(time)) continue;
      const auto rest = line.substr(space + 1);
      if (time != record || parse_double(time) == 0) {
        believed = holds(rules_.begins_record, rest);
        begun = false;
      }
      record = time;
      if (!believed || !holds(rules_.kernel_log_line, rest)) continue;
      const auto kept = redactor_.text(rest, Redactor::Kind::log);
      // What no one reads after redaction serves no one.
      if (!holds(rules_.kernel_log_line, kept) || (!begun && !holds(rules_.begins_record, kept)))
        continue;
      begun = true;
      out += std::string(time) + ' ' + kept + '\n';
    }
    return out;
  }

  // ---- probes

  void probe(const std::string& key, ProbeDocument document, Recording& out) {
    for (auto* path : {&document.library_name, &document.library_path, &document.library_real_path})
      *path = redactor_.path(*path);
    document.library_error = text(document.library_error);
    document.stopped_in = call_text(document.stopped_in);
    decltype(document.calls) calls;
    for (auto& [name, call] : document.calls) {
      call.value = json(name.substr(0, name.find('(')), call.value);
      calls.emplace(call_text(name), std::move(call));
    }
    document.calls = std::move(calls);
    out.probes.emplace(call_text(key), std::move(document));
  }

  // "symbol(arguments)": symbols are the library's own.
  std::string call_text(std::string_view call) {
    const auto open = std::min(call.find('('), call.size());
    const auto symbol = call.substr(0, open);
    const bool plain = symbol.size() <= 64 && std::ranges::all_of(symbol, [](char c) {
                         return is_letter(c) || is_digit(c) || c == '_' || c == '-';
                       });
    return (plain && open < call.size() ? std::string(symbol)
                                        : redactor_.text(symbol, Redactor::Kind::call)) +
           redactor_.text(call.substr(open), Redactor::Kind::call);
  }

  void note_addresses(const Json& from) {
    if (from.is_string()) redactor_.note_address(from.get<std::string>());
    if (from.is_structured())
      for (const auto& part : from) note_addresses(part);
  }

  Json json(std::string_view name, const Json& from) {
    if (from.is_string()) return string(name, from.get<std::string>());
    if (from.is_number_unsigned() && names_a_serial(name))
      return redactor_.id(from.get<std::uint64_t>());
    if (from.is_array()) {
      if (auto bytes = uuid_bytes(name, from)) return *bytes;
      Json out = Json::array();
      for (const auto& part : from) out.push_back(json(name, part));
      return out;
    }
    if (!from.is_object()) return from;
    Json out = Json::object();
    for (const auto& [key, part] : from.items()) out[call_text(key)] = json(key, part);
    return out;
  }

  std::string string(std::string_view name, const std::string& from) {
    if (names_a_process(name) && !from.starts_with('/'))
      return is_driver_process(from) ? from : redactor_.name(from);
    if (names_a_serial(name)) return redactor_.name(from);
    return redactor_.answer(from,
                            names_a_product(name) ? Redactor::Kind::model : Redactor::Kind::words);
  }

  // Sixteen numbers, signed or not, where the name says that they are a UUID.
  std::optional<Json> uuid_bytes(std::string_view name, const Json& from) {
    if (!names_a_uuid(name) || from.size() != 16) return std::nullopt;
    UuidBytes bytes{};
    bool is_signed = false;
    for (std::size_t i = 0; i < 16; ++i) {
      if (!from[i].is_number_integer()) return std::nullopt;
      const auto number = from[i].get<std::int64_t>();
      if (number < -128 || number > 255) return std::nullopt;
      is_signed |= number < 0;
      bytes[i] = static_cast<std::uint8_t>(number);
    }
    Json out = Json::array();
    for (const auto byte : redactor_.uuid(bytes)) {
      if (is_signed)
        out.push_back(static_cast<std::int8_t>(byte));
      else
        out.push_back(byte);
    }
    return out;
  }

  const RedactionRules& rules_;
  Redactor redactor_;
};

}  // namespace

Recording redact(Recording recording, const RedactionRules& rules) {
  return Rewriter(rules).rewrite(std::move(recording));
}

}  // namespace gpuready
