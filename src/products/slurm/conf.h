// Slurm's configuration files: slurm.conf, gres.conf, cgroup.conf, with what they include.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/host.h"

namespace gpuready::slurm {

struct ConfLine {
  std::string file;
  int number = 0;
  std::vector<std::pair<std::string, std::string>> words;  // key and value

  // Slurm's keys are the same in any case.
  std::optional<std::string> value(std::string_view key) const;
  std::string place() const;  // "/etc/slurm/slurm.conf:12"
  std::string text() const;
};
using Conf = std::vector<ConfLine>;

// Lines of one file; a line that ends with a backslash goes on in the next.
Conf parse_conf(std::string_view text, const std::string& file);
// The file and what it includes. An error only if the file itself cannot be read; what it includes
// and cannot be read is added to `unread`.
Result<Conf> read_conf(Host& host, const std::string& path, std::vector<std::string>& unread);

// The last line that sets this for the whole cluster; a line about nodes or partitions does not.
const ConfLine* setting(const Conf& conf, std::string_view key);
std::optional<std::string> value_of(const Conf& conf, std::string_view key);
// The words of a list: "cons_tres,cgroup".
bool lists(const std::optional<std::string>& value, std::string_view word);
// Whether PrologFlags of this value run the prolog when a job gets its nodes: others imply Alloc.
bool prolog_at_allocation(const std::optional<std::string>& flags);

// Where slurm.conf is, as an absolute path: the one that the user names, SLURM_CONF, the usual
// folders, what slurmd fetched without files.
Result<std::string> find_conf(Host& host, const std::optional<std::string>& named);
// This node, as slurm.conf names it: what the user names, the variable that slurmd sets, else this
// host's name.
Result<std::string> node_name(Host& host, const std::optional<std::string>& named);

// Whether this list of nodes, such as n[1-4], has the node.
bool names_node(std::string_view list, std::string_view node);
// Lines about this node: NodeName= with it in its list, or with DEFAULT before.
std::vector<const ConfLine*> lines_of_node(const Conf& conf, std::string_view node);

// "8" or "8K", with the suffixes that Slurm knows; nothing for any other text.
std::optional<std::int64_t> gres_count(std::string_view text);
// "gpu:h100:4,gpu:a100:2(S:0-1)": the GPUs of Gres=, by type; a type may be empty.
struct GresGpus {
  int count = 0;
  std::vector<std::string> types;
};
GresGpus gpus_of_gres(std::string_view gres);

}  // namespace gpuready::slurm
