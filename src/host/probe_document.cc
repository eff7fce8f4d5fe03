#include "host/probe_document.h"

#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/named.h"
#include "base/text.h"

namespace gpuready {

NAMES_OF(ProbeOutcome, "completed", "no_library", "timed_out", "hung", "crashed", "failed_to_start",
         "not_asked");

namespace {

constexpr std::size_t kMaxCalls = 200'000;  // a hostile child must not fill our memory
constexpr std::size_t kMaxLineBytes = 8u << 20;

std::optional<int> get_code(const Json& doc, std::string_view key) {
  const auto value = get_int(doc, key);
  if (!value || *value < INT_MIN || *value > INT_MAX) return std::nullopt;
  return static_cast<int>(*value);
}

void read_library(const Json& doc, ProbeDocument& document) {
  document.library_name = get_string(doc, "name").value_or("");
  document.library_path = get_string(doc, "path").value_or("");
  document.library_real_path = get_string(doc, "real_path").value_or("");
  document.library_error = get_string(doc, "error").value_or("");
}

// An answered call; nothing when `doc` holds neither a code nor "missing".
std::optional<ProbeCall> read_call(const Json& doc) {
  ProbeCall call;
  call.missing = get_bool(doc, "missing").value_or(false);
  const auto code = get_code(doc, "code");
  if (!code && !call.missing) return std::nullopt;
  call.code = code.value_or(0);
  call.value = member(doc, "value");
  call.us = get_double(doc, "us");
  return call;
}

Json call_to_json(const ProbeCall& call) {
  Json doc = Json::object();
  if (call.missing)
    doc["missing"] = true;
  else
    doc["code"] = call.code;
  if (!call.value.is_null()) doc["value"] = call.value;
  if (call.us) put(doc, "us", number(*call.us));
  return doc;
}

}  // namespace

std::string_view to_string(ProbeOutcome outcome) { return name_of(outcome); }

const ProbeCall* ProbeDocument::find(std::string_view call) const {
  const auto it = calls.find(call);
  return it == calls.end() ? nullptr : &it->second;
}

const Json& ProbeDocument::value(std::string_view call) const {
  static const Json kNull;
  const ProbeCall* found = find(call);
  return found != nullptr && found->ok() ? found->value : kNull;
}

std::optional<std::string> ProbeDocument::text(std::string_view call) const {
  const Json& found = value(call);
  if (!found.is_string()) return std::nullopt;
  return found.get<std::string>();
}

std::optional<std::int64_t> ProbeDocument::integer(std::string_view call) const {
  const Json& found = value(call);
  if (!found.is_number_integer()) return std::nullopt;
  if (found.is_number_unsigned() && found.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  return found.get<std::int64_t>();
}

std::optional<std::uint64_t> ProbeDocument::unsigned_integer(std::string_view call) const {
  const Json& found = value(call);
  if (found.is_number_unsigned()) return found.get<std::uint64_t>();
  if (!found.is_number_integer() || found.get<std::int64_t>() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(found.get<std::int64_t>());
}

// By hand: the values of calls are of any form, and there may be thousands.
Json to_json(const ProbeDocument& document) {
  Json doc = Json::object();
  doc["probe"] = document.probe;
  doc["version"] = document.version;
  doc["outcome"] = to_string(document.outcome);
  put(doc, "stopped_in", document.stopped_in);
  if (document.signal != 0) doc["signal"] = document.signal;
  Json library = Json::object();
  put(library, "name", document.library_name);
  put(library, "path", document.library_path);
  put(library, "real_path", document.library_real_path);
  put(library, "error", document.library_error);
  if (!library.empty()) doc["library"] = std::move(library);
  Json calls = Json::object();
  // Appended past the look-up of operator[], which is linear: the keys of a map are unique.
  auto& members = calls.get_ref<Json::object_t&>();
  members.reserve(document.calls.size());
  for (const auto& [name, call] : document.calls)
    members.Json::object_t::Container::emplace_back(name, call_to_json(call));
  doc["calls"] = std::move(calls);
  return doc;
}

Result<ProbeDocument> probe_document_from_json(const Json& doc, std::string_view name) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::bad_input,
                std::string(name) + ": not a probe's document: " + std::string(what));
  };
  if (!doc.is_object()) return bad("it is not a JSON object");
  ProbeDocument document;
  const auto probe = get_string(doc, "probe");
  if (!probe) return bad("\"probe\" is absent");
  document.probe = *probe;
  if (doc.contains("version")) {
    const auto version = get_code(doc, "version");
    if (!version || *version < 1) return bad("\"version\" is not a positive number");
    document.version = *version;
  }
  const auto outcome = named<ProbeOutcome>(get_string(doc, "outcome").value_or("completed"));
  if (!outcome || (doc.contains("outcome") && !member(doc, "outcome").is_string()))
    return bad(
        "\"outcome\" is not one of completed, no_library, timed_out, hung, crashed, "
        "failed_to_start, not_asked");
  document.outcome = *outcome;
  document.stopped_in = get_string(doc, "stopped_in").value_or("");
  document.signal = get_code(doc, "signal").value_or(0);
  read_library(member(doc, "library"), document);
  const Json& calls = member(doc, "calls");
  if (!calls.is_null() && !calls.is_object()) return bad("\"calls\" is not an object");
  if (calls.size() > kMaxCalls) return bad("more than 200000 calls");
  for (const auto& [key, value] : calls.items()) {
    auto call = read_call(value);
    if (!call) return bad("call " + printable(key) + " has neither \"code\" nor \"missing\"");
    document.calls.emplace_hint(document.calls.end(), key, std::move(*call));
  }
  return document;
}

ProbeDocument probe_document_from_lines(std::string_view text, std::string_view probe) {
  ProbeDocument document;
  document.probe = probe;
  bool ended = false, begun = false;
  for (const auto line : lines(text)) {
    if (ended || document.calls.size() >= kMaxCalls) break;
    const auto doc = parse_json(line, probe, kMaxLineBytes);
    if (!doc || !doc->is_object()) continue;
    if (auto name = get_string(*doc, "call")) {
      begun = true;
      if (auto call = read_call(*doc)) {
        if (document.stopped_in == *name) document.stopped_in.clear();
        document.calls.insert_or_assign(std::move(*name), std::move(*call));
      } else {
        document.stopped_in = std::move(*name);
      }
    } else if (const Json& library = member(*doc, "library"); library.is_object()) {
      begun = true;
      read_library(library, document);
    } else if (get_bool(*doc, "end") == true) {
      ended = true;
    } else if (const auto version = get_code(*doc, "version"); version && *version >= 1) {
      begun = true;
      document.version = *version;
    }
  }
  if (ended) {
    document.stopped_in.clear();
    const bool loaded = document.library_error.empty() || !document.library_path.empty();
    document.outcome = loaded ? ProbeOutcome::completed : ProbeOutcome::no_library;
  } else {
    document.outcome = begun ? ProbeOutcome::crashed : ProbeOutcome::failed_to_start;
  }
  return document;
}

ProbeWriter::ProbeWriter(int descriptor, std::string_view probe) : descriptor_(descriptor) {
  line(Json{{"probe", probe}, {"version", 1}});
}

void ProbeWriter::library(std::string_view name, std::string_view path,
                          std::string_view real_path) {
  line(Json{{"library", {{"name", name}, {"path", path}, {"real_path", real_path}}}});
}

void ProbeWriter::no_library(std::string_view name, std::string_view error) {
  line(Json{{"library", {{"name", name}, {"error", error}}}});
}

void ProbeWriter::begin(std::string_view call) { line(Json{{"call", call}}); }

void ProbeWriter::answer(std::string_view call, int code, const Json& value,
                         std::optional<double> us) {
  Json doc{{"call", call}, {"code", code}};
  if (!value.is_null()) doc["value"] = value;
  if (us) put(doc, "us", number(*us));
  line(doc);
}

void ProbeWriter::missing(std::string_view call) { line(Json{{"call", call}, {"missing", true}}); }

void ProbeWriter::end() { line(Json{{"end", true}}); }

void ProbeWriter::line(const Json& doc) {
  const std::string text = dump_line(doc) + "\n";
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t size = write(descriptor_, left.data(), left.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;  // the parent is gone: no one is left to tell
    left.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace gpuready
