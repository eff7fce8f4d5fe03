// Logs into which a user got text, of every machine under tests/machines.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <random>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "gpuready/finding.h"
#include "host/recording/recording.h"
#include "machine/inspect.h"
#include "unit/machine_folders.h"

namespace gpuready::test {

inline const std::string* log_of(const Recording& recording) {
  return recording.kernel_log ? std::get_if<std::string>(&*recording.kernel_log) : nullptr;
}

// What every rule looks for is in the log of some machine.
inline const std::vector<std::string>& drivers_lines() {
  static const std::vector<std::string> all = [] {
    std::set<std::string> texts;
    for (const auto& [name, recording] : machines())
      if (const auto* log = log_of(recording))
        for (const auto line : lines(*log))
          if (const auto space = line.find(' '); space != line.npos)
            texts.emplace(trim(line.substr(space + 1)));
    return std::vector(texts.begin(), texts.end());
  }();
  return all;
}

// Where the kernel quotes a user. "%l" is text of any length, "%c" a process's name (15
// characters), "%n" that of a network interface (15 characters without a blank or a colon).
inline constexpr std::string_view kWrappers[] = {
    "tmpfs: Unknown parameter '%l'",
    "overlayfs: unrecognized mount option \"%l\" or missing value",
    "%c[4242]: segfault at 0 ip 00005581 sp 00007ffc error 4 in a[5581+1000] likely on CPU 1",
    "a[4242]: segfault at 0 ip 00005581 sp 00007ffc error 4 in %l[5581+1000]",
    // Names that look like a driver's, before a file's name of any length.
    "NVRM: a[4242]: segfault at 0 ip 00005581 sp 00007ffc error 6 in %l[5581+1000]",
    "amdgpu: a[4242]: segfault at 0 ip 00005581 error 6 in %l[5581+1000] likely on CPU 1",
    "Lockdown: a[4242] general protection fault ip:401106 sp:7ffe error:0 in %l[401000+1000]",
    "xe 0000:03:00: [7]: segfault at 0 ip 00005581 error 6 in %l[5581+1000]",
    "i915: a: page allocation failure: order:0, nodemask=(null),cpuset=%l,mems_allowed=0",
    "traps: %c[77] trap invalid opcode ip:401106 sp:7ffe error:0 in a[401000+1000]",
    "audit: type=1326 audit(1.2:3): auid=1000 uid=1000 comm=\"%c\" exe=\"%l\" sig=31",
    "Out of memory: Killed process 1 (%c) total-vm:1kB, anon-rss:1kB, UID:1000",
    "oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/%l,task=%c,pid=1,uid=1000",
    "%c invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "CPU: 3 PID: 1 Comm: %c Not tainted 6.1.0-40-amd64",
    "%c (4242) used greatest stack depth: 11111 bytes left",
    "%c: page allocation failure: order:0, mode:0xcc0(GFP_KERNEL)",
    "process '%l' launched '/bin/x' with NULL argv: empty string added",
    "ptrace attach of \"%l\"[1] was attempted by \"%l\"[2]",
    "INFO: task %c:4242 blocked for less than 1 second",
    "usb 1-1: Product: %l",
    "input: %l as /devices/virtual/input/input7",
    "hid-generic 0003:046D:C31C.0001: input,hidraw0: USB HID v1.11 Keyboard [%l] on usb-1",
    "BTRFS: device label %l devid 1 transid 6 /dev/loop0",
    "systemd[1]: %l",
    "job.service[77]: %l",
    "systemd-modules-load[312]: Failed to insert module '%l': Key was rejected by service",
    "%n: renamed from eth0",
    "br0: port 1(%n) entered blocking state",
    "%n: page allocation failure: order:0",
    "%lIN=lo OUT= MAC=00:00 SRC=127.0.0.1 DST=127.0.0.1 LEN=60",
    "amdgpu 0000:03:00.0: amdgpu:  Process %c pid 1 thread %c pid 2",
};

inline std::string wrapped(std::string_view wrapper, const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < wrapper.size(); ++i) {
    const char kind = wrapper[i] == '%' && i + 1 < wrapper.size() ? wrapper[++i] : '\0';
    std::string short_text = text.substr(0, 15);
    if (kind == 'n') std::erase_if(short_text, [](char c) { return c == ' ' || c == ':'; });
    if (kind == '\0')
      out += wrapper[i];
    else
      out += kind == 'l' ? text : short_text;
  }
  return out;
}

// Each at a time of its own, from `seconds` on, or all of them behind the first line of one record.
inline std::string block(const std::vector<std::string>& texts, double seconds,
                         const std::string& first) {
  std::string out;
  if (!first.empty()) out = fmt::format("{:.6f} {}\n", seconds, first);
  for (const auto& text : texts) {
    if (first.empty()) seconds += 1e-6;
    out += fmt::format("{:.6f} {}\n", seconds, text);
  }
  return out;
}

inline double time_at(std::string_view log, std::size_t at) {
  return parse_double(log.substr(at, log.find(' ', at) - at)).value_or(0);
}

// Between two messages: older kernels log the lines of one some microseconds apart.
inline std::size_t middle_of(const std::string& log) {
  std::size_t last = 0, at = 0;
  constexpr double kOneMessage = 0.001;
  while (at < log.size() &&
         (at < log.size() / 2 || time_at(log, at) - time_at(log, last) < kOneMessage)) {
    last = at;
    const auto end = log.find('\n', at);
    at = end == log.npos ? log.size() : end + 1;
  }
  return at;
}

inline Recording with_lines(Recording recording, const std::array<std::string, 3>& added) {
  const std::string log = *log_of(recording);
  const auto middle = middle_of(log);
  recording.kernel_log =
      added[0] + log.substr(0, middle) + added[1] + log.substr(middle) + added[2];
  return recording;
}

// What is asked of a machine, as JSON.
using Answer = std::function<Json(const Recording&)>;

inline Json to_json(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const auto& finding : findings) {
    Json item = {{"id", finding.id},
                 {"severity", to_string(finding.severity)},
                 {"title", finding.title},
                 {"explanation", finding.explanation},
                 {"cure", finding.cure.value_or("")},
                 {"gpus", finding.gpus},
                 {"explains", to_json(finding.explains)}};
    for (const auto& evidence : finding.evidence)
      item["evidence"].push_back(evidence.source + ": " + evidence.quote);
    out.push_back(std::move(item));
  }
  return out;
}

struct Forged {
  std::vector<std::string> texts;
  std::string first = {};    // of the record that they stand in; empty: each is a record
  std::size_t machines = 1;  // each text is tried on one machine of so many
};

// A third of a machine's lines each at the start, in the middle and at the end of its log; which
// one is where changes from machine to machine.
inline void expect_no_change(const Answer& answer, const std::vector<Forged>& forged) {
  using Blocks = std::array<std::string, 3>;
  std::vector<std::vector<Blocks>> tried;  // of each of `forged`, for machines in turn
  for (const auto& [texts, first, turns] : forged) {
    auto& all = tried.emplace_back(turns);
    for (std::size_t turn = 0; turn < turns; ++turn)
      for (std::size_t place = 0; place < 3; ++place) {
        std::vector<std::string> part;
        for (std::size_t k = turn + place * turns; k < texts.size(); k += 3 * turns)
          part.push_back(texts[k]);
        all[turn][place] = block(part, 77.5 + static_cast<double>(place), first);
      }
  }
  for (const auto& [name, recording] : walked(machines(), 48)) {
    if (!log_of(recording)) continue;  // nothing of it can be read
    const auto before = answer(recording);
    for (auto& turns : tried) {
      auto& blocks = turns.front();
      ASSERT_EQ(answer(with_lines(recording, blocks)), before) << name;
      std::ranges::rotate(blocks, blocks.begin() + 1);
      std::ranges::rotate(turns, turns.begin() + 1);
    }
  }
}

// Whatever a user gets into the log, and however, no answer changes.
inline void expect_forged_lines_change_nothing(const Answer& answer,
                                               const std::vector<std::string>& more = {}) {
  auto texts = drivers_lines();
  texts.insert(texts.end(), more.begin(), more.end());
  std::vector<std::string> quoted;
  for (const auto& text : texts)
    for (const auto wrapper : kWrappers) quoted.push_back(wrapped(wrapper, text));
  ASSERT_GT(quoted.size(), 5'000u);
  std::vector<Forged> forged{{.texts = std::move(quoted), .machines = 8}};
  // Behind a line break; a mapped file's name may hold some.
  forged.push_back({texts, "tmpfs: Unknown parameter 'x"});
  for (const char* name : {"NVRM: a", "amdgpu: a", "i915: a", "xe: a"})
    forged.push_back({texts, std::string(name) + "[4242]: segfault at 0 ip 1 error 6 in x"});
  expect_no_change(answer, forged);
}

inline void expect_pieces_of_lines_change_nothing(const Answer& answer) {
  std::mt19937_64 engine(26);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(engine() % limit); };
  const auto& texts = drivers_lines();
  std::vector<std::string> forged;
  for (int i = 0; i < 3'000; ++i) {
    std::string text;
    for (std::size_t pieces = 1 + below(3); pieces > 0; --pieces) {
      const auto& from = texts[below(texts.size())];
      const auto at = below(2) == 0 || from.empty() ? 0 : below(from.size());
      text += from.substr(at, 1 + below(80));
    }
    forged.push_back(wrapped(kWrappers[below(std::size(kWrappers))], text));
  }
  expect_no_change(answer, {{forged}});
}

}  // namespace gpuready::test
