// Two walks over a recording: the first learns the secrets that only their place gives away
// (serials, host names), the second rewrites every text: keys, contents, logs, output and probes'
// values.
#include <algorithm>

#include "base/text.h"
#include "host/pci_serial.h"
#include "host/pseudonyms.h"
#include "host/recording.h"
#include "host/secret_names.h"

namespace gpuready {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

constexpr std::string_view kUserVariables[] = {"USER", "LOGNAME", "USERNAME", "SUDO_USER"};
constexpr std::string_view kHostVariables[] = {"HOSTNAME", "HOST"};
constexpr std::string_view kHostFiles[] = {"/etc/hostname", "/proc/sys/kernel/hostname"};
// Binary files with serials inside, of no use to a replay.
constexpr std::string_view kRemovedFiles[] = {"vpd", "edid"};

// Words of the kernel's command line that say something about GPUs; the rest (root devices,
// consoles, a sandbox's own arguments) goes.
constexpr std::string_view kKeptParameters[] = {"iommu",
                                                "intel_iommu",
                                                "amd_iommu",
                                                "pci",
                                                "pcie_aspm",
                                                "pcie_port_pm",
                                                "nouveau",
                                                "nvidia",
                                                "nvidia-drm",
                                                "amdgpu",
                                                "i915",
                                                "xe",
                                                "vfio",
                                                "vfio-pci",
                                                "vfio_pci",
                                                "video",
                                                "module_blacklist",
                                                "lockdown",
                                                "modprobe",
                                                "rd",
                                                "hugepagesz",
                                                "hugepages",
                                                "default_hugepagesz",
                                                "mitigations"};
// Parts of a cgroup's path that every machine has.
constexpr std::string_view kCommonGroups[] = {"docker", "kubepods",   "podman",
                                              "lxc",    "containerd", "crio"};

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
  for (const std::string_view word : {"serial", "unique_id", "unique id", "uniqueid"}) {
    const auto at = lower.find(word);
    if (at == lower.npos) continue;
    const auto from = at + word.size();
    auto start = line.find_first_of(":=>", from);
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

// The parts of a cgroup's path name containers, users and services.
void learn_from_cgroups(std::string_view text, Pseudonyms& names) {
  for (const auto line : lines(text))
    for (const auto part : split(line.substr(std::min(line.find('/'), line.size())), "/")) {
      if (one_of(part, kCommonGroups) || part.ends_with(".slice") || part == "init.scope") continue;
      if (part.find_first_of("0123456789") != part.npos)
        names.add_serial(part);
      else
        names.add_host(part);
    }
}

void learn_from_text(std::string_view text, Pseudonyms& names) {
  for (const auto line : lines(text)) learn_from_line(line, names);
}

void learn_from_file(std::string_view path, const std::string& content, Pseudonyms& names) {
  const auto name = base_name(path);
  const auto value = trim(content);
  if (one_of(path, kHostFiles)) names.add_host(value);
  if (path == "/proc/self/cgroup") learn_from_cgroups(content, names);
  if (is_pci_config(path)) {
    if (const auto serial = pci_serial(content)) names.add_number(*serial);
    return;
  }
  if (names_a_serial(name) && !contains(value, "\n")) {
    // amdgpu writes its 64-bit id as sixteen hex digits here and in decimal in the KFD topology.
    const auto hex = value.size() == 16 ? parse_uint(value, 16) : std::nullopt;
    if (hex)
      names.add_number(*hex);
    else
      names.add_serial(value);
    return;
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
  for (const auto& [name, value] : recording.environment)
    if (value && one_of(name, kHostVariables)) names.add_host(*value);
  for (const auto& [path, content] : recording.files)
    if (const auto* text = std::get_if<std::string>(&content)) learn_from_file(path, *text, names);
  for (const auto& [key, document] : recording.probes)
    for (const auto& [call, answer] : document.calls)
      learn_from_value(call.substr(0, call.find('(')), answer.value, names);
  if (recording.kernel_log)
    if (const auto* text = std::get_if<std::string>(&*recording.kernel_log))
      learn_from_text(*text, names);
  for (const auto& [key, result] : recording.tools)
    if (const auto* process = std::get_if<ProcessResult>(&result)) {
      learn_from_text(process->out, names);
      learn_from_text(process->err, names);
    }
  return names;
}

// "iommu=pt root=UUID=... quiet" -> "iommu=pt ..."
std::string kept_parameters(std::string_view command_line) {
  std::vector<std::string> kept;
  for (const auto word : split(command_line, " \t\n"))
    if (one_of(word.substr(0, word.find_first_of("=.")), kKeptParameters)) kept.emplace_back(word);
  kept.emplace_back("...");
  return join(kept, " ");
}

// The kernel lists what it starts as init, with arguments and environment, each on an indented
// line.
bool tells_of_init(std::string_view text) {
  return text.starts_with("    ") || contains(text, " as init process") ||
         text.starts_with("  with arguments:") || text.starts_with("  with environment:") ||
         contains(text, "kernel command line parameters");
}

// "Linux version 6.1 (user@host) (gcc ...": who built the kernel is nobody's concern.
std::string without_builder(std::string_view line) {
  const auto at = contains(line, "Linux version ") ? line.find('@') : line.npos;
  const auto from = at == line.npos ? at : line.rfind('(', at);
  const auto to = at == line.npos ? at : line.find(')', at);
  if (from == line.npos || to == line.npos) return std::string(line);
  return std::string(line.substr(0, from)) + "(builder)" + std::string(line.substr(to + 1));
}

// The kernel's log without what it quotes of the command line and of init.
std::string without_private_lines(std::string_view log) {
  constexpr std::string_view kQuote = "ommand line: ";
  std::string out;
  for (const auto line : lines(log)) {
    const auto space = line.find(' ');  // "<seconds> text"
    if (space != line.npos && tells_of_init(line.substr(space + 1))) continue;
    const auto at = line.find(kQuote);
    if (at == line.npos)
      out += without_builder(line);
    else
      out += std::string(line.substr(0, at + kQuote.size())) +
             kept_parameters(line.substr(at + kQuote.size()));
    out += '\n';
  }
  return out;
}

// ---- rewriting ----------------------------------------------------------------------------------

class Rewriter {
 public:
  explicit Rewriter(Pseudonyms names) : names_(std::move(names)) {}

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
    by_path(in.directories, out.directories);
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
      if (auto* log = std::get_if<std::string>(&*in.kernel_log)) *log = without_private_lines(*log);
      out.kernel_log = recorded(*in.kernel_log);
    }
    return out;
  }

 private:
  std::string text(std::string_view value) { return names_.apply(value); }

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
  ProcessResult value(ProcessResult from) {
    from.out = text(from.out);
    from.err = text(from.err);
    from.document = text(from.document);
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

  Recorded<std::string> file(std::string_view path, const Recorded<std::string>& content) {
    const auto* bytes = std::get_if<std::string>(&content);
    if (bytes != nullptr && one_of(base_name(path), kRemovedFiles))
      return RecordedFailure{ErrorKind::no_permission, text(path) + ": removed by redaction", 0};
    if (bytes != nullptr && path == "/proc/cmdline") return text(kept_parameters(*bytes) + "\n");
    if (bytes == nullptr || !is_pci_config(path)) return recorded(content);
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
};

}  // namespace

Recording redact(Recording recording) {
  auto names = learn(recording);
  return Rewriter(std::move(names)).rewrite(std::move(recording));
}

}  // namespace gpuready
