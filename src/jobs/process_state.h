// What /proc says about a process that will not end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuready {

// The state letter of a /proc/<pid>/stat line (proc(5)): 'R', 'S', 'D', 'Z', ...; 0 when the text
// is no such line. The command's name is in parentheses and may itself hold any character.
char state_in_stat(std::string_view stat);

// The process that such a line names as the parent; -1 when the text is no such line.
int parent_in_stat(std::string_view stat);

// Where the process or one of its threads is in uninterruptible sleep: the kernel's function, or
// "" where that may not be read. Nothing when none is. `proc_root` is "/proc".
std::optional<std::string> uninterruptible_sleep(int pid, const std::string& proc_root = "/proc");

}  // namespace gpuready
