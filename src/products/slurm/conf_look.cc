#include "slurm/conf_look.h"

#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/paths.h"
#include "base/text.h"

namespace gpuready::slurm {
namespace {

constexpr const char* kPluginFolders[] = {"/usr/lib/x86_64-linux-gnu/slurm-wlm",
                                          "/usr/lib/aarch64-linux-gnu/slurm-wlm",
                                          "/usr/lib64/slurm",
                                          "/usr/lib/slurm",
                                          "/usr/local/lib/slurm",
                                          "/opt/slurm/lib/slurm"};

bool is_pattern(std::string_view path) { return path.find_first_of("*?[") != path.npos; }

// What this user may not look into is not known to be missing.
std::optional<std::string> hidden_folder(const std::string& hook) {
  const std::string folder(folder_of(hook));
  if (::access(folder.c_str(), is_pattern(hook) ? R_OK | X_OK : X_OK) == 0 || errno != EACCES)
    return std::nullopt;
  return folder;
}

}  // namespace

std::optional<bool> has_nvml_plugin(Host& host, const Conf& conf) {
  std::vector<std::string> folders(std::begin(kPluginFolders), std::end(kPluginFolders));
  if (const auto named = value_of(conf, "PluginDir")) {
    folders.clear();
    for (const auto folder : split(*named, ":")) folders.emplace_back(folder);
  }
  std::optional<bool> found;
  for (const auto& folder : folders)
    if (host.exists(folder)) found = found.value_or(false) || host.exists(folder + "/gpu_nvml.so");
  return found;
}

std::optional<std::string> why_not_startable(Host& host, const std::string& hook) {
  glob_t found{};
  const int failed = ::glob(hook.c_str(), 0, nullptr, &found);
  const std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (failed != 0) return is_pattern(hook) ? "matches no file" : "does not exist";
  for (const auto& file : files) {
    const auto status = host.status(file);
    const char* why = !status                               ? "does not exist"
                      : status->kind == FileKind::directory ? "is a folder"
                      : status->kind != FileKind::regular   ? "is not a regular file"
                      : (status->mode & 0111) == 0          ? "is not executable"
                                                            : nullptr;
    if (why != nullptr)
      return is_pattern(hook) ? fmt::format("names {}, which {}", file, why) : why;
  }
  return std::nullopt;
}

Result<ConfLook> look_at_conf(Host& here, Host& devices, const Machine& machine,
                              const std::string& node, const std::string& slurm_conf) {
  ConfLook look{.view = {.machine = machine, .node = node, .folder = folder_of(slurm_conf)}};
  ConfView& view = look.view;
  view.slurm = TRY(read_conf(here, slurm_conf, look.unseen));
  const auto beside = [&](const char* name) -> std::optional<Conf> {
    auto conf = read_conf(here, view.folder + "/" + name, look.unseen);
    if (conf) return *std::move(conf);
    // Slurm reads nothing from what is not a regular file.
    if (conf.error().kind == ErrorKind::unsupported)
      view.no_gres = "it is not a regular file";
    else if (conf.error().kind != ErrorKind::not_found)
      look.unseen.push_back(conf.error().message);
    return std::nullopt;
  };
  view.cgroup = beside("cgroup.conf");
  view.no_gres = "the file is missing";
  view.gres = beside("gres.conf");
  view.nvml_plugin = has_nvml_plugin(here, view.slurm);
  for (const auto& file : device_files(view))
    if (!devices.exists(file)) view.missing[file] = "does not exist";
  for (const auto& hook : hook_lines(view)) {
    if (const auto folder = hidden_folder(hook.path))
      look.unseen.push_back(*folder + ": permission denied");
    else if (const auto why = why_not_startable(here, hook.path))
      view.missing[hook.path] = *why;
  }
  for (const auto* conf :
       {&view.slurm, view.gres ? &*view.gres : nullptr, view.cgroup ? &*view.cgroup : nullptr})
    if (conf != nullptr)
      for (const auto& line : *conf)
        if (std::ranges::find(look.files, line.file) == look.files.end())
          look.files.push_back(line.file);
  return look;
}

std::vector<Finding> check_conf(const ConfLook& look) {
  return look.unseen.empty() ? check_conf(look.view) : std::vector<Finding>{};
}

}  // namespace gpuready::slurm
