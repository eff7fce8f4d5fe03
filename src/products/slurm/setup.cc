#include "slurm/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "host/atomic_file.h"

namespace gpuready::slurm {
namespace {

constexpr std::string_view kHead = "# gpuready slurm install";
constexpr std::uint32_t kScriptMode = 0755;

// Slurm takes neither arguments nor PATH, so a script holds both.
std::string script(const Hook& hook, const SetupChoice& choice) {
  std::string command = fmt::format("{} slurm {}", shell_quoted(choice.gpuready), hook.name);
  if (choice.scontrol) command += " --scontrol " + shell_quoted(*choice.scontrol);
  if (choice.conf) command += " --conf " + shell_quoted(*choice.conf);
  return fmt::format("#!/bin/sh\n{}\nexec {} --quiet\n", kHead, command);
}

std::string how_to_chain(const Hook& hook, const std::string& path, const std::string& other) {
  if (hook.setting == "HealthCheckProgram")
    return fmt::format(
        "Set HealthCheckProgram to a script that runs both, each for itself: "
        "\"{}; {}\". Slurm kills it after 60 s; gpuready takes at most 45 s.",
        other, path);
  if (other.ends_with("/*"))
    return fmt::format(
        "It names every file of a folder: link the script there, as in "
        "\"ln -s {} {}gpuready\".",
        path, other.substr(0, other.size() - 1));
  return fmt::format("Add the line \"{} || exit 1\" to {}.", path, other);
}

}  // namespace

bool can_be_value(std::string_view path) {
  return std::ranges::none_of(path, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || contains("\"'#\\*?[]%\x7f", {&c, 1});
  });
}

Result<void> check_hook_folder(const std::string& folder) {
  if (!folder.starts_with('/'))
    return fail(ErrorKind::bad_input,
                "--folder " + printable(folder) + ": Slurm wants an absolute path");
  if (can_be_value(folder)) return {};
  return fail(ErrorKind::bad_input,
              printable(folder) +
                  ": Slurm cannot read the path of a hook with blanks, quotes or characters of "
                  "patterns; name another folder for the scripts by --folder");
}

Setup plan_setup(const Conf& conf, const SetupChoice& choice) {
  Setup setup;
  bool prolog = false;
  const auto add = [&](std::string_view key, const std::string& value) {
    setup.lines.push_back(fmt::format("{}={}", key, value));
  };
  for (const Hook& hook : kHooks) {
    const std::string path = fmt::format("{}/{}", choice.folder, hook.name);
    setup.scripts.push_back({path, script(hook, choice)});
    const auto now = value_of(conf, hook.setting);
    if (now && *now != path) {
      setup.taken.push_back({std::string(hook.setting), *now, setting(conf, hook.setting)->place(),
                             how_to_chain(hook, path, *now)});
      continue;
    }
    if (!now) add(hook.setting, path);
    prolog |= hook.setting == "Prolog";
  }
  const auto interval = value_of(conf, "HealthCheckInterval");
  if (!interval || parse_int(*interval) == 0) {
    add("HealthCheckInterval", std::to_string(choice.interval_s));
    if (!value_of(conf, "HealthCheckNodeState")) add("HealthCheckNodeState", "ANY,CYCLE");
  }
  // Without it a hook that never ends holds its node and job for ever.
  if (!value_of(conf, "PrologEpilogTimeout")) add("PrologEpilogTimeout", "120");
  const auto flags = value_of(conf, "PrologFlags");
  if (prolog && !flags) add("PrologFlags", "Alloc");
  if (prolog && flags && !prolog_at_allocation(flags))
    setup.notes.push_back(fmt::format(
        "PrologFlags={} lacks Alloc: the prolog runs when a node's first step starts, not when "
        "the job gets its nodes",
        printable(*flags)));
  return setup;
}

std::string with_lines(std::string_view slurm_conf, const std::vector<std::string>& lines) {
  std::string text(slurm_conf);
  if (lines.empty()) return text;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text + fmt::format("{}\n{}\n", kHead, join(lines, "\n"));
}

Result<void> write_setup(Storage& storage, const std::string& folder, const Setup& setup,
                         const std::string& slurm_conf, std::string_view text) {
  if (const auto made = storage.make_folder(folder, kScriptMode);
      !made && made.error().code != EEXIST)
    return made;
  for (const auto& file : setup.scripts)
    TRY(write_file_atomically(file.path, file.content, {.mode = kScriptMode}, storage));
  if (setup.lines.empty()) return {};
  return write_file_atomically(slurm_conf, with_lines(text, setup.lines), {.keep_owner = true},
                               storage);
}

}  // namespace gpuready::slurm
