#include "host/recording/recording_values.h"

#include <limits>

#include "base/text.h"
#include "host/errno_names.h"
#include "host/recording/base64.h"
#include "value/read_fields.h"
#include "value/write_fields.h"

namespace gpuready {

NAMES_OF(FileKind, "regular", "directory", "link", "character_device", "block_device", "other");

FIELDS_OF(FileStatus) {
  visit.about("file_status", "What stat() says of a file.");
  FIELD(kind, "What it is.", {.when = [](const void*) { return true; }});
  DERIVED(mode, it.mode, "Permission bits; the usual ones of its kind if absent.", {.octal = true});
  FIELD(uid, "Owner.", {.sparse = true});
  FIELD(gid, "Group.", {.sparse = true});
  visit("major", &T::device_major, "Of a device.", {.sparse = true});
  visit("minor", &T::device_minor, "Of a device.", {.sparse = true});
  FIELD(size_bytes, "Size.", {.sparse = true});
  visit.hidden(&T::mode);
}

FIELDS_OF(FileSystemSpace) {
  visit.about("space", "Of the file system of a folder.");
  FIELD(total_bytes, "All of it.");
  FIELD(available_bytes, "What this user can still write.");
}

namespace {

constexpr ErrorKind kErrorKinds[] = {
    ErrorKind::not_found,   ErrorKind::no_permission, ErrorKind::not_recorded, ErrorKind::bad_input,
    ErrorKind::too_large,   ErrorKind::timed_out,     ErrorKind::hung,         ErrorKind::crashed,
    ErrorKind::unsupported, ErrorKind::busy,          ErrorKind::cancelled,    ErrorKind::io,
    ErrorKind::device,
};

std::optional<ErrorKind> error_kind_from(std::string_view text) {
  for (const auto kind : kErrorKinds)
    if (to_string(kind) == text) return kind;
  return std::nullopt;
}

std::unexpected<Error> bad(std::string message) {
  return fail(ErrorKind::bad_input, std::move(message));
}

RecordedFailure failure_of_errno(int number, std::string_view subject) {
  const auto error = fail_errno(subject, number).error();
  return {error.kind, error.message, error.code};
}

// A number that must fit T when it is there at all. False when it is there and does not.
template <class T>
bool read_number(const Json& value, std::string_view key, T& out) {
  const Json& found = member(value, key);
  if (found.is_null()) return true;
  const auto number = get_uint(value, key);
  if (!number || *number > std::numeric_limits<T>::max()) return false;
  out = static_cast<T>(*number);
  return true;
}

bool read_text(const Json& value, std::string_view key, std::string& out) {
  const Json& found = member(value, key);
  if (found.is_null()) return true;
  auto bytes = bytes_from_json(found);
  if (!bytes) return false;
  out = std::move(*bytes);
  return true;
}

}  // namespace

void append(Json& object, std::string key, Json value) {
  object.get_ref<Json::object_t&>().Json::object_t::Container::emplace_back(std::move(key),
                                                                            std::move(value));
}

bool is_utf8(std::string_view bytes) {
  bool ascii = true;
  for (const char c : bytes) ascii &= static_cast<unsigned char>(c) < 0x80;
  if (ascii) return true;
  try {
    Json(std::string(bytes)).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

Json bytes_to_json(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  return Json{{"base64", base64_encode(bytes)}};
}

Result<std::string> bytes_from_json(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (const auto encoded = get_string(value, "base64")) {
    auto bytes = base64_decode(*encoded);
    if (!bytes) return bad("\"base64\" is not valid base64");
    return std::move(*bytes);
  }
  return bad("expected text, {\"base64\": ...} or {\"error\": ...}");
}

Json failure_to_json(const RecordedFailure& failure, std::string_view subject) {
  if (const auto name = errno_name(failure.code); !name.empty()) {
    const auto usual = failure_of_errno(failure.code, subject);
    if (usual.kind == failure.kind && usual.message == failure.message)
      return Json{{"error", name}};
  }
  Json detail = Json::object();
  detail["kind"] = to_string(failure.kind);
  detail["message"] = failure.message;
  if (failure.code != 0) detail["code"] = failure.code;
  return Json{{"error", std::move(detail)}};
}

bool is_failure(const Json& value) { return value.is_object() && value.contains("error"); }

Result<RecordedFailure> failure_from_json(const Json& value, std::string_view subject) {
  const Json& error = member(value, "error");
  if (error.is_string()) {
    const auto name = error.get<std::string>();
    if (const auto number = errno_from_name(name)) return failure_of_errno(*number, subject);
    if (const auto kind = error_kind_from(name))
      return RecordedFailure{*kind, std::string(subject) + ": " + name, 0};
    return bad("unknown error \"" + printable(name) + "\": expected a name such as EACCES");
  }
  const auto kind = error_kind_from(get_string(error, "kind").value_or(""));
  if (!kind) return bad("\"error\" has no known \"kind\"");
  RecordedFailure failure;
  failure.kind = *kind;
  failure.message = get_string(error, "message").value_or(std::string(subject));
  const auto code = get_int(error, "code").value_or(0);
  if (code < std::numeric_limits<int>::min() || code > std::numeric_limits<int>::max())
    return bad("\"code\" of \"error\" is out of range");
  failure.code = static_cast<int>(code);
  return failure;
}

Json to_json(const FileStatus& status) { return value::write_fields(status); }

Result<FileStatus> status_from_json(const Json& value) {
  auto status = TRY(value::read_document<FileStatus>(value, "status"));
  status.mode = status.kind == FileKind::directory ? 0755 : 0644;
  if (const Json& mode = member(value, "mode"); !mode.is_null()) {
    // Octal as text ("0666"); a JSON number is the value itself (438).
    const auto number =
        mode.is_string() ? parse_uint(mode.get<std::string>(), 8) : get_uint(value, "mode");
    if (!number || *number > 07777) return bad("\"mode\" is not an octal text such as \"0666\"");
    status.mode = static_cast<std::uint32_t>(*number);
  }
  return status;
}

Json to_json(const FileSystemSpace& space) { return value::write_fields(space); }

Result<FileSystemSpace> space_from_json(const Json& value) {
  return value::read_document<FileSystemSpace>(value, "space");
}

// What follows is written and read by hand: texts may be base64, and who writes a machine by hand
// leaves out what is usual.
Json to_json(const SystemIdentity& identity) {
  Json out = Json::object();
  out["kernel_name"] = bytes_to_json(identity.kernel_name);
  out["kernel_release"] = bytes_to_json(identity.kernel_release);
  out["machine"] = bytes_to_json(identity.machine);
  out["host_name"] = bytes_to_json(identity.host_name);
  out["effective_uid"] = identity.effective_uid;
  out["groups"] = identity.groups;
  out["unix_seconds"] = identity.unix_seconds;
  return out;
}

Result<SystemIdentity> identity_from_json(const Json& value) {
  if (!value.is_object()) return bad("expected an object");
  SystemIdentity identity;
  identity.kernel_name = "Linux";
  identity.machine = "x86_64";
  if (!read_text(value, "kernel_name", identity.kernel_name) ||
      !read_text(value, "kernel_release", identity.kernel_release) ||
      !read_text(value, "machine", identity.machine) ||
      !read_text(value, "host_name", identity.host_name))
    return bad("kernel_name, kernel_release, machine and host_name must be text");
  if (!read_number(value, "effective_uid", identity.effective_uid))
    return bad("\"effective_uid\" is not a user number");
  if (const Json& groups = member(value, "groups"); groups.is_array()) {
    for (const auto& group : groups) {
      if (!group.is_number_unsigned() || group.get<std::uint64_t>() > UINT32_MAX)
        return bad("\"groups\" must hold group numbers");
      identity.groups.push_back(group.get<std::uint32_t>());
    }
  } else if (!groups.is_null()) {
    return bad("\"groups\" must be a list");
  }
  if (value.contains("unix_seconds")) {
    const auto seconds = get_int(value, "unix_seconds");
    if (!seconds) return bad("\"unix_seconds\" is not a number");
    identity.unix_seconds = *seconds;
  }
  return identity;
}

Json to_json(const JobOutcome& result) {
  Json out = Json::object();
  if (result.end != JobEnd::exited) out["end"] = std::string(to_string(result.end));
  if (result.end == JobEnd::exited) out["exit_code"] = result.exit_code;
  if (result.signal != 0) out["signal"] = result.signal;
  out["out"] = bytes_to_json(result.out);
  out["err"] = bytes_to_json(result.err);
  if (!result.channel.empty()) out["document"] = bytes_to_json(result.channel);
  if (result.truncated) out["truncated"] = true;
  put(out, "duration_ms", number(result.duration_ms));
  return out;
}

Result<JobOutcome> job_outcome_from_json(const Json& value) {
  if (!value.is_object()) return bad("expected an object with \"exit_code\" and \"out\"");
  JobOutcome result;
  if (value.contains("end")) {
    const auto end = job_end_from(get_string(value, "end").value_or(""));
    if (!end) return bad("\"end\" is not a way in which a command can end");
    result.end = *end;
  }
  const auto small = [&](std::string_view key, int& out) {
    if (!value.contains(key)) return true;
    const auto number = get_int(value, key);
    if (!number || *number < -1 || *number > 65535) return false;
    out = static_cast<int>(*number);
    return true;
  };
  if (!small("exit_code", result.exit_code) || !small("signal", result.signal))
    return bad("\"exit_code\" and \"signal\" must be small numbers");
  if (!read_text(value, "out", result.out) || !read_text(value, "err", result.err) ||
      !read_text(value, "document", result.channel))
    return bad("\"out\", \"err\" and \"document\" must be text or {\"base64\": ...}");
  result.truncated = get_bool(value, "truncated").value_or(false);
  result.duration_ms = get_double(value, "duration_ms").value_or(0);
  return result;
}

}  // namespace gpuready
