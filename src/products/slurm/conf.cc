#include "slurm/conf.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/characters.h"
#include "base/nodes/hostlist.h"
#include "base/text.h"

namespace gpuready::slurm {
namespace {

constexpr std::size_t kMostBytes = 4u << 20;
constexpr int kDeepest = 8;
constexpr std::int64_t kMostGpus = 1024;  // of a word of Gres=
constexpr const char* kFiles[] = {
    "/etc/slurm/slurm.conf",      "/etc/slurm-llnl/slurm.conf",
    "/run/slurm/conf/slurm.conf", "/var/spool/slurmd/conf-cache/slurm.conf",
    "/usr/local/etc/slurm.conf",  "/opt/slurm/etc/slurm.conf"};
constexpr std::string_view kObjects[] = {"NodeName",     "PartitionName", "NodeSet",
                                         "FrontendName", "DownNodes",     "SwitchName"};

std::string without_comment(std::string_view line) {
  std::string text;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\\' && at + 1 < line.size() && line[at + 1] == '#') continue;
    if (line[at] == '#' && (at == 0 || line[at - 1] != '\\')) break;
    text += line[at];
  }
  return text;
}

// Key=Value and Key="A value"; blanks may surround the equals sign.
std::vector<std::pair<std::string, std::string>> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\n";
  std::vector<std::pair<std::string, std::string>> words;
  while (true) {
    line = trim(line);
    const auto end = line.find_first_of("= \t");
    if (line.empty() || end == line.npos) break;
    const std::string key(line.substr(0, end));
    line = trim(line.substr(end));
    if (!line.starts_with('=')) {
      if (words.empty()) words.emplace_back(key, line);  // "Include FILE"
      break;
    }
    line = trim(line.substr(1));
    if (line.starts_with('"')) {
      const auto close = std::min(line.find('"', 1), line.size());
      words.emplace_back(key, line.substr(1, close - 1));
      line = line.substr(std::min(close + 1, line.size()));
    } else {
      const auto stop = std::min(line.find_first_of(kBlank), line.size());
      words.emplace_back(key, line.substr(0, stop));
      line = line.substr(stop);
    }
  }
  return words;
}

void append(Host& host, const std::string& path, std::string_view text, int depth, Conf& conf,
            std::vector<std::string>& unread) {
  for (ConfLine& line : parse_conf(text, path)) {
    const auto& [key, value] = line.words.front();
    if (!equals_ignore_case(key, "include")) {
      conf.push_back(std::move(line));
      continue;
    }
    std::string file = value.starts_with('/') ? value : path.substr(0, path.rfind('/') + 1) + value;
    if (const auto at = file.find("%c"); at != file.npos)
      file.replace(at, 2, value_of(conf, "ClusterName").value_or("%c"));
    const auto included = depth < kDeepest
                              ? host.read_file(file, kMostBytes)
                              : fail(ErrorKind::bad_input, file + ": files include each other");
    if (included)
      append(host, file, *included, depth + 1, conf, unread);
    else
      unread.push_back(
          fmt::format("{}, included by {}", printable(included.error().message), line.place()));
  }
}

}  // namespace

std::optional<std::string> ConfLine::value(std::string_view key) const {
  for (const auto& [name, text] : words)
    if (equals_ignore_case(name, key)) return text;
  return std::nullopt;
}

std::string ConfLine::place() const { return fmt::format("{}:{}", file, number); }

std::string ConfLine::text() const {
  std::vector<std::string> parts;
  for (const auto& [key, value] : words) parts.push_back(key + "=" + value);
  return join(parts, " ");
}

Conf parse_conf(std::string_view text, const std::string& file) {
  Conf conf;
  std::string whole;
  int number = 0, first = 0;
  for (const std::string_view line : lines(text)) {
    ++number;
    if (whole.empty()) first = number;
    std::string part = without_comment(line);
    if (part.ends_with('\\')) {
      part.pop_back();
      whole += part;
      if (whole.empty()) whole = " ";
      continue;
    }
    whole += part;
    if (auto words = words_of(whole); !words.empty())
      conf.push_back({.file = file, .number = first, .words = std::move(words)});
    whole.clear();
  }
  if (auto words = words_of(whole); !words.empty())
    conf.push_back({.file = file, .number = first, .words = std::move(words)});
  return conf;
}

Result<Conf> read_conf(Host& host, const std::string& path, std::vector<std::string>& unread) {
  const auto text = TRY(host.read_file(path, kMostBytes));
  Conf conf;
  append(host, path, text, 0, conf, unread);
  return conf;
}

const ConfLine* setting(const Conf& conf, std::string_view key) {
  const ConfLine* found = nullptr;
  for (const ConfLine& line : conf) {
    const auto& first = line.words.front().first;
    const bool object = std::ranges::any_of(
        kObjects, [&](std::string_view name) { return equals_ignore_case(first, name); });
    if (!object && line.value(key)) found = &line;
  }
  return found;
}

std::optional<std::string> value_of(const Conf& conf, std::string_view key) {
  const ConfLine* line = setting(conf, key);
  const auto value = line != nullptr ? line->value(key) : std::nullopt;
  return value && !equals_ignore_case(*value, "(null)") && !value->empty() ? value : std::nullopt;
}

bool lists(const std::optional<std::string>& value, std::string_view word) {
  if (!value) return false;
  const auto words = split(*value, ", ");
  return std::ranges::any_of(words,
                             [&](std::string_view each) { return equals_ignore_case(each, word); });
}

bool prolog_at_allocation(const std::optional<std::string>& flags) {
  return lists(flags, "Alloc") || lists(flags, "Contain") || lists(flags, "X11") ||
         lists(flags, "RunInJob");
}

Result<std::string> find_conf(Host& host, const std::optional<std::string>& named) {
  if (named) return named->starts_with('/') ? *named : host.real_path(*named);
  if (auto path = host.environment("SLURM_CONF"); path && path->starts_with('/')) return *path;
  for (const char* file : kFiles)
    if (host.exists(file)) return std::string(file);
  return fail(ErrorKind::not_found,
              "slurm.conf was not found in the usual folders; pass --conf FILE");
}

Result<std::string> node_name(Host& host, const std::optional<std::string>& named) {
  if (named) return *named;
  if (auto name = host.environment("SLURMD_NODENAME"); name && !name->empty()) return *name;
  return std::string(short_host_name(TRY(host.identity()).host_name));
}

bool names_node(std::string_view list, std::string_view node) {
  const auto names = parse_hostlist(list);
  return names && std::ranges::find(*names, node) != names->end();
}

std::vector<const ConfLine*> lines_of_node(const Conf& conf, std::string_view node) {
  std::vector<const ConfLine*> found, defaults;
  for (const ConfLine& line : conf) {
    if (!equals_ignore_case(line.words.front().first, "NodeName")) continue;
    const std::string& names = line.words.front().second;
    if (equals_ignore_case(names, "DEFAULT")) {
      defaults.insert(defaults.begin(), &line);  // the latest counts
    } else if (names_node(names, node)) {
      found.push_back(&line);
      found.insert(found.end(), defaults.begin(), defaults.end());
    }
  }
  return found;
}

std::optional<std::int64_t> gres_count(std::string_view text) {
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  auto count = parse_int(text.substr(0, digits));
  const std::string suffix = to_lower(text.substr(digits));
  if (!count || suffix.empty()) return count;
  constexpr std::string_view kPowers = "kmgtp";
  const auto power = kPowers.find(suffix.front());
  const bool decimal = suffix.substr(1) == "b";
  if (power == kPowers.npos || (suffix.size() > 1 && !decimal && suffix.substr(1) != "ib"))
    return std::nullopt;
  count = std::min(*count, kMostGpus);
  for (std::size_t i = 0; i <= power; ++i) *count *= decimal ? 1000 : 1024;
  return count;
}

GresGpus gpus_of_gres(std::string_view gres) {
  GresGpus gpus;
  for (std::string_view word : split(gres, ",")) {
    word = trim(word.substr(0, word.find('(')));
    auto parts = split(word, ":");
    if (parts.empty() || !equals_ignore_case(parts[0], "gpu")) continue;
    std::int64_t count = 1;
    if (parts.size() > 1 && is_digit(parts.back().front())) {
      const auto number = gres_count(parts.back());
      if (!number) break;  // as Slurm does
      count = *number;
      parts.pop_back();
    }
    std::erase_if(parts,
                  [](std::string_view part) { return equals_ignore_case(part, "no_consume"); });
    gpus.count += static_cast<int>(std::min(count, kMostGpus));
    gpus.types.emplace_back(parts.size() > 1 ? parts[1] : "");
  }
  return gpus;
}

}  // namespace gpuready::slurm
