// A running QEMU's monitor: commands, their answers, and events
// (https://www.qemu.org/docs/master/interop/qmp-spec.html).
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/json.h"

namespace gpuready::vm {

class Qmp {
 public:
  // QEMU serves one client of a socket at a time.
  static Result<Qmp> open(const std::string& socket, Deadline deadline);

  // What the command returns. An error of kind `device` has QEMU's own text.
  Result<Json> execute(std::string_view command, const Json& arguments, Deadline deadline);
  Result<Json> next_event(Deadline deadline);

 private:
  Result<Json> read(Deadline deadline);  // one message

  std::string name_;
  Descriptor socket_;
  std::string unread_;
  std::deque<Json> events_;
};

}  // namespace gpuready::vm
