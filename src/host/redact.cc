// Two walks over a recording: the first learns the secrets that only their place gives away
// (serials, host names, users, cgroups), the second leaves out what no rule reads and rewrites
// every text: keys, contents, logs, output and probes' values.
#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "host/pci_serial.h"
#include "host/pseudonyms.h"
#include "host/recording.h"
#include "host/secret_names.h"

namespace gpuready {
namespace {

constexpr std::string_view kUserVariables[] = {"USER", "LOGNAME", "USERNAME", "SUDO_USER"};
constexpr std::string_view kHostVariables[] = {"HOSTNAME", "HOST"};
constexpr std::string_view kHostFiles[] = {"/etc/hostname", "/proc/sys/kernel/hostname"};
// Binary files with serials inside, of no use to a replay.
constexpr std::string_view kRemovedFiles[] = {"vpd", "edid"};

// Parts of a cgroup's path that every machine has, and what stands around an id in others.
constexpr std::string_view kCommonGroups[] = {
    "docker",     "kubepods",      "podman",         "lxc",
    "containerd", "crio",          "burstable",      "besteffort",
    "guaranteed", "libpod_parent", "system.slice",   "user.slice",
    "app.slice",  "session.slice", "machine.slice",  "init.scope",
    "slurmstepd", "slurm",         "kubepods.slice", "system",
    "user",       "garden"};
constexpr std::string_view kGroupPrefixes[] = {"docker-",
                                               "libpod-conmon-",
                                               "libpod-",
                                               "crio-conmon-",
                                               "crio-",
                                               "cri-containerd-",
                                               "kubepods-burstable-",
                                               "kubepods-besteffort-",
                                               "kubepods-",
                                               "user-",
                                               "session-"};
constexpr std::string_view kGroupSuffixes[] = {".scope", ".slice", ".service"};

template <std::size_t N>
bool one_of(std::string_view text, const std::string_view (&words)[N]) {
  for (const auto word : words)
    if (word == text) return true;
  return false;
}

bool is_pci_config(std::string_view path) {
  return base_name(path) == "config" && contains(path, "/devices/");
}

// ---- learning -----------------------------------------------------------------------------------

// "Serial Number : 1650923012345", "<serial>165...</serial>", "unique_id 1234", "SerialNumber:
// AB1".
void learn_from_line(std::string_view line, Pseudonyms& names) {
  const auto lower = to_lower(line);
  for (const std::string_view word :
       {"serial", "unique_id", "unique id", "uniqueid", "asset tag", "asset_tag", "s/n"}) {
    const auto at = lower.find(word);
    if (at == lower.npos) continue;
    const auto from = at + word.size();
    auto start = line.find_first_of(":=>", from);
    // "GPU serial number is 1650923012345": NVRM, of a GPU that fell off the bus
    if (const auto is = lower.find(" is ", from); is < start && is - from <= 8) start = is + 3;
    if (start == line.npos && word == "unique_id") start = line.find(' ', from);
    if (start == line.npos) continue;
    start = line.find_first_not_of(" \t\":=>'", start);
    if (start == line.npos) continue;
    auto token = line.substr(start, line.find_first_of(" \t\",;<>()'/", start) - start);
    if (const auto hex = after_prefix(token, "0x")) {
      if (const auto number = parse_hex(*hex)) names.add_number(*number);
    } else if (token.size() >= 6) {
      names.add_serial(token);
    }
  }
}

// Where the path starts in "0::/a/b" or "4:cpu,cpuacct:/a/b"; nowhere in anything else.
std::size_t cgroup_path_start(std::string_view line) {
  const auto first = line.find(':');
  const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
  const bool is_cgroup = second != line.npos && parse_uint(line.substr(0, first)) &&
                         line.substr(second + 1).starts_with('/');
  return is_cgroup ? second + 1 : line.npos;
}

// The parts of a cgroup's path name containers, pods, users and services. What a runtime writes
// around an id stays: it tells which runtime it is.
void learn_from_cgroups(std::string_view text, Pseudonyms& names) {
  for (const auto line : lines(text))
    for (auto part : split(line.substr(std::min(cgroup_path_start(line), line.size())), "/")) {
      if (one_of(part, kCommonGroups)) continue;
      for (const auto prefix : kGroupPrefixes)
        if (part.starts_with(prefix)) {
          part.remove_prefix(prefix.size());
          break;
        }
      for (const auto suffix : kGroupSuffixes)
        if (part.ends_with(suffix)) part.remove_suffix(suffix.size());
      if (!one_of(part, kCommonGroups)) names.add_label(part);
    }
}

void learn_from_text(std::string_view text, Pseudonyms& names) {
  for (const auto line : lines(text)) learn_from_line(line, names);
  names.add_users_of_homes(text);
}

void learn_from_file(std::string_view path, const std::string& content, Pseudonyms& names) {
  const auto name = base_name(path);
  const auto all = lines(trim(content));
  const auto value = all.empty() ? std::string_view() : trim(all.front());
  if (one_of(path, kHostFiles)) names.add_host(value);
  if (path == "/proc/self/cgroup") learn_from_cgroups(content, names);
  if (is_pci_config(path)) {
    if (const auto serial = pci_serial(content)) names.add_number(*serial);
    return;
  }
  if (names_a_serial(name)) {
    // amdgpu writes its 64-bit id as sixteen hex digits here and in decimal in the KFD topology.
    const auto hex = value.size() == 16 ? parse_uint(value, 16) : std::nullopt;
    if (hex)
      names.add_number(*hex);
    else
      names.add_serial(value);
    names.add_label(value);
  }
  learn_from_text(content, names);
}

void learn_from_value(std::string_view name, const Json& value, Pseudonyms& names) {
  if (value.is_object()) {
    for (const auto& [key, part] : value.items()) learn_from_value(key, part, names);
  } else if (value.is_array()) {
    for (const auto& part : value) learn_from_value(name, part, names);
  } else if (names_a_serial(name)) {
    if (value.is_string()) names.add_serial(value.get<std::string>());
    if (value.is_number_unsigned()) names.add_number(value.get<std::uint64_t>());
  }
}

Pseudonyms learn(const Recording& recording) {
  Pseudonyms names;
  if (recording.identity)
    if (const auto* who = std::get_if<SystemIdentity>(&*recording.identity))
      names.add_host(who->host_name);
  for (const auto& [name, value] : recording.environment) {
    if (!value) continue;
    if (one_of(name, kHostVariables)) names.add_host(*value);
    if (one_of(name, kUserVariables)) names.add_user(*value);
    names.add_users_of_homes(*value);
  }
  for (const auto& [path, content] : recording.files)
    if (const auto* text = std::get_if<std::string>(&content)) learn_from_file(path, *text, names);
  for (const auto& [key, document] : recording.probes)
    for (const auto& [call, answer] : document.calls)
      learn_from_value(call.substr(0, call.find('(')), answer.value, names);
  if (recording.kernel_log)
    if (const auto* text = std::get_if<std::string>(&*recording.kernel_log))
      learn_from_text(*text, names);
  for (const auto& [key, result] : recording.tools)
    if (const auto* process = std::get_if<JobOutcome>(&result)) {
      learn_from_text(process->out, names);
      learn_from_text(process->err, names);
    }
  return names;
}

// ---- rewriting ----------------------------------------------------------------------------------

class Rewriter {
 public:
  Rewriter(Pseudonyms names, const RedactionRules& rules)
      : names_(std::move(names)), rules_(rules) {}

  Recording rewrite(Recording in) {
    Recording out;
    out.tool_version = in.tool_version;
    out.created_utc = in.created_utc;
    out.description = names_.apply(in.description);
    out.closed_world = in.closed_world;
    out.redacted = true;
    for (auto& [path, content] : in.probes) probe(path, content, out);
    for (auto& [path, content] : in.files) out.files.emplace(text(path), file(path, content));
    by_path(in.links, out.links);
    by_path(in.real_paths, out.real_paths);
    for (auto& [path, listing] : in.directories)
      out.directories.emplace(text(path), recorded(listed(path, std::move(listing))));
    by_path(in.statuses, out.statuses);
    by_path(in.spaces, out.spaces);
    by_path(in.tools, out.tools);
    for (auto& [path, failure] : in.opens) {
      if (failure) failure->message = text(failure->message);
      out.opens.emplace(text(path), std::move(failure));
    }
    for (const auto& [name, value] : in.environment) variable(name, value, out);
    if (in.identity) out.identity = recorded(*in.identity);
    if (in.kernel_log) {
      if (auto* log = std::get_if<std::string>(&*in.kernel_log)) *log = kept_lines(*log);
      out.kernel_log = recorded(*in.kernel_log);
    }
    return out;
  }

 private:
  std::string text(std::string_view value) { return names_.apply(value); }

  std::string kept_lines(std::string_view log) const {
    if (!rules_.kernel_log_line) return std::string(log);
    std::string out;
    std::string_view record;  // the time of the one that is being read: host/kernel_log.h
    bool begun = false;
    for (const auto line : lines(log)) {
      const auto space = line.find(' ');  // "<seconds> text"
      if (space == line.npos) continue;
      const auto time = line.substr(0, space);
      const auto text = line.substr(space + 1);
      if (time != record || parse_double(time) == 0)
        begun = !rules_.begins_record || rules_.begins_record(text);
      record = time;
      const auto kept = begun ? rules_.kernel_log_line(text) : std::nullopt;
      if (kept) out += std::string(time) + ' ' + *kept + '\n';
    }
    return out;
  }
  using Listing = Recorded<std::vector<std::string>>;
  Listing listed(const std::string& folder, Listing listing) const {
    auto* names = std::get_if<std::vector<std::string>>(&listing);
    if (names != nullptr && rules_.listed)
      std::erase_if(*names, [&](const auto& name) { return !rules_.listed(folder, name); });
    return listing;
  }

  // One overload for each type that a recording holds.
  std::string value(const std::string& from) { return text(from); }
  std::vector<std::string> value(std::vector<std::string> from) {
    for (auto& part : from) part = text(part);
    return from;
  }
  FileStatus value(const FileStatus& from) { return from; }
  FileSystemSpace value(const FileSystemSpace& from) { return from; }
  SystemIdentity value(SystemIdentity from) {
    from.host_name = text(from.host_name);
    return from;
  }
  JobOutcome value(JobOutcome from) {
    from.out = text(from.out);
    from.err = text(from.err);
    from.channel = text(from.channel);
    return from;
  }

  template <class T>
  Recorded<T> recorded(const Recorded<T>& from) {
    if (const auto* failure = std::get_if<RecordedFailure>(&from))
      return RecordedFailure{failure->kind, text(failure->message), failure->code};
    return value(std::get<T>(from));
  }
  template <class T>
  void by_path(const RecordedByPath<T>& from, RecordedByPath<T>& to) {
    for (const auto& [path, content] : from) to.emplace(text(path), recorded(content));
  }

  // "0::/system.slice/job", as the folders below /sys/fs/cgroup are rewritten.
  std::string cgroups(std::string_view content) {
    constexpr std::string_view kRoot = "/sys/fs/cgroup";
    std::string out;
    for (const auto line : lines(content)) {
      const auto path = line.substr(std::min(cgroup_path_start(line), line.size()));
      out += text(line.substr(0, line.size() - path.size()));
      if (!path.empty()) out += text(std::string(kRoot) + std::string(path)).substr(kRoot.size());
      out += '\n';
    }
    return out;
  }

  Recorded<std::string> file(const std::string& path, const Recorded<std::string>& content) {
    const auto* bytes = std::get_if<std::string>(&content);
    if (bytes == nullptr) return recorded(content);
    if (one_of(base_name(path), kRemovedFiles))
      return RecordedFailure{ErrorKind::no_permission, text(path) + ": removed by redaction", 0};
    if (path == "/proc/self/cgroup") return cgroups(*bytes);
    if (!is_pci_config(path)) return text(rules_.file ? rules_.file(path, *bytes) : *bytes);
    std::string config = *bytes;
    if (const auto serial = pci_serial(config)) set_pci_serial(config, names_.number(*serial));
    return config;
  }

  void variable(const std::string& name, const std::optional<std::string>& from, Recording& out) {
    if (names_a_credential(name)) return;
    std::optional<std::string> to;
    if (from) to = one_of(name, kUserVariables) ? names_.user(*from) : text(*from);
    out.environment.emplace(name, std::move(to));
  }

  void probe(const std::string& key, ProbeDocument document, Recording& out) {
    for (auto* field : {&document.stopped_in, &document.library_name, &document.library_path,
                        &document.library_real_path, &document.library_error})
      *field = text(*field);
    decltype(document.calls) calls;
    for (auto& [name, call] : document.calls) {
      call.value = json(name.substr(0, name.find('(')), call.value);
      calls.emplace(text(name), std::move(call));
    }
    document.calls = std::move(calls);
    out.probes.emplace(text(key), std::move(document));
  }

  Json json(std::string_view name, const Json& from) {
    if (from.is_string() && names_a_process(name) && is_driver_process(from.get<std::string>()))
      return from;
    if (from.is_string() && (names_a_process(name) || assigns_a_credential(name)))
      return names_.whole(from.get<std::string>());
    if (from.is_string()) return text(from.get<std::string>());
    if (from.is_number_unsigned()) return names_.number(from.get<std::uint64_t>());
    if (from.is_array()) {
      if (auto bytes = uuid_bytes(name, from)) return *bytes;
      Json out = Json::array();
      for (const auto& part : from) out.push_back(json(name, part));
      return out;
    }
    if (!from.is_object()) return from;
    Json out = Json::object();
    for (const auto& [key, part] : from.items()) out[text(key)] = json(key, part);
    return out;
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
    for (const auto byte : names_.uuid(bytes)) {
      if (is_signed)
        out.push_back(static_cast<std::int8_t>(byte));
      else
        out.push_back(byte);
    }
    return out;
  }

  Pseudonyms names_;
  const RedactionRules& rules_;
};

}  // namespace

Recording redact(Recording recording, const RedactionRules& rules) {
  auto names = learn(recording);
  return Rewriter(std::move(names), rules).rewrite(std::move(recording));
}

}  // namespace gpuready
