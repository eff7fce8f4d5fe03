// Attributes whose drivers or locks may never return are read and written in a child of our own:
// unbinding waits for a driver's users, and what touches the device's lock meanwhile waits as well.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "base/result.h"
#include "host/host.h"
#include "host/storage.h"

namespace gpuready::vm {

inline constexpr const char* kAttributeChild = "__attribute";

// What the child does with one attribute.
namespace attribute {
inline constexpr const char* kRead = "read";    // answers its text, "" for "(null)"
inline constexpr const char* kWrite = "write";  // VALUE
inline constexpr const char* kSet = "set";      // VALUE, unless it reads so; answers what it reads
inline constexpr const char* kHash = "hash";    // of an option ROM; "" where it cannot be read
// Of a device's folder, with VALUE: the addresses of all that may be reset with it.
inline constexpr const char* kHotReset = "hot-reset";
}  // namespace attribute

// The child's side: `gpuready __attribute VERB PATH [VALUE]`, for attributes of the PCI and
// mediated buses and for huge pages. Prints the errno, and on the next line the answer, or what
// failed. Returns the process's exit code.
int run_attribute_child(std::span<const std::string> args);
std::string attribute_answer(Host& host, Storage& storage, std::span<const std::string> args);

// The parent's. `hung` when the driver did not return by the deadline and the child waits in the
// kernel; nothing that touches the device's lock may be done then.
Result<std::string> ask_attribute(Host& host, const char* verb, const std::string& path,
                                  const std::string& value, std::chrono::milliseconds deadline);

}  // namespace gpuready::vm
