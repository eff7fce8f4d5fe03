// Attributes whose drivers or locks may never return are read and written in a child of our own:
// unbinding waits for a driver's users, and what touches the device's lock meanwhile waits as well.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "host/host.h"
#include "host/storage.h"
#include "jobs/running_job.h"

namespace gpuready::vm {

// What the child does with one attribute.
namespace attribute {
inline constexpr const char* kRead = "read";    // answers its text, "" for "(null)"
inline constexpr const char* kWrite = "write";  // the value
inline constexpr const char* kSet = "set";  // the value, unless it reads so; answers what it reads
inline constexpr const char* kHash = "hash";  // of an option ROM; "" where it cannot be read
// Of a device's folder; the value is the addresses of all that may be reset with it.
inline constexpr const char* kHotReset = "hot-reset";
}  // namespace attribute

struct AttributeRequest {
  std::string verb, path, value;
};

// The child's side, `gpuready __attribute`, for attributes of the PCI and mediated buses and for
// huge pages: answers each line with a request by a line. Returns the process's exit code.
inline constexpr const char* kAttributeChild = "__attribute";
int run_attribute_child(std::span<const std::string> args);
std::string attribute_answer(Host& host, Storage& storage, const AttributeRequest& request);

// The parent's side. One child serves the requests until one does not return by its deadline: that
// child is killed, or abandoned where it waits in the kernel, and the next request starts another.
class AttributeChild {
 public:
  virtual ~AttributeChild() = default;

  // `hung` when the driver did not return by the deadline and the child waits in the kernel;
  // nothing that touches the device's lock may be done then.
  Result<std::string> ask(const AttributeRequest& request, std::chrono::milliseconds deadline);

  // The answer is in `channel`; without one, how the child ended.
  virtual Result<JobOutcome> exchange(const AttributeRequest& request,
                                      std::chrono::milliseconds deadline);

 private:
  std::optional<RunningJob> child_;
};

}  // namespace gpuready::vm
