#include "vm/hotplug/qmp.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "host/network.h"

namespace gpuready::vm {
namespace {

constexpr std::size_t kMostMessage = 1 << 20;  // a list of devices has some kilobytes

}  // namespace

Result<Json> Qmp::read(Deadline deadline) {
  for (;;) {
    if (const auto end = unread_.find('\n'); end != unread_.npos) {
      auto message = TRY(parse_json(std::string_view(unread_).substr(0, end), name_, kMostMessage));
      unread_.erase(0, end + 1);
      return message;
    }
    if (unread_.size() > kMostMessage)
      return fail(ErrorKind::too_large, name_ + ": not a QMP socket: a message does not end");
    pollfd wait{socket_.get(), POLLIN, 0};
    const auto left = static_cast<int>(left_until(deadline).count());
    const int ready = left == 0 ? 0 : ::poll(&wait, 1, left);
    if (ready == 0) return fail(ErrorKind::timed_out, name_ + ": QEMU does not answer");
    char buffer[4096];
    const ssize_t size = ready < 0 ? -1 : ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail_errno(name_, errno);
    if (size == 0) return fail(ErrorKind::io, name_ + ": QEMU closed the connection");
    unread_.append(buffer, static_cast<std::size_t>(size));
  }
}

Result<Qmp> Qmp::open(const std::string& socket, Deadline deadline) {
  Qmp qmp;
  qmp.name_ = printable(socket);
  auto connected = connect_unix(socket, left_until(deadline));
  if (!connected)
    return fail(connected.error().kind,
                fmt::format("{}: {}; start QEMU with -qmp unix:{},server=on,wait=off", qmp.name_,
                            connected.error().message, qmp.name_),
                connected.error().code);
  qmp.socket_ = std::move(*connected);
  const auto greeting = qmp.read(deadline);
  if (!greeting && greeting.error().kind == ErrorKind::timed_out)
    return fail(ErrorKind::busy,
                qmp.name_ +
                    ": QEMU does not greet: another program, such as libvirt, uses this socket; "
                    "give QEMU a second -qmp");
  if (!greeting || !member(*greeting, "QMP").is_object())
    return fail(ErrorKind::bad_input, qmp.name_ + ": not a QMP socket of QEMU");
  TRY(qmp.execute("qmp_capabilities", Json::object(), deadline));
  return qmp;
}

Result<Json> Qmp::execute(std::string_view command, const Json& arguments, Deadline deadline) {
  const std::string text = dump_line({{"execute", command}, {"arguments", arguments}}) + "\n";
  for (std::string_view unsent = text; !unsent.empty();) {
    const ssize_t sent = ::send(socket_.get(), unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return fail_errno(name_, errno);
    unsent.remove_prefix(static_cast<std::size_t>(sent));
  }
  for (;;) {
    auto message = TRY(read(deadline));
    if (message.contains("event"))
      events_.push_back(std::move(message));
    else if (message.contains("return"))
      return member(message, "return");
    else
      return fail(ErrorKind::device,
                  fmt::format("QEMU: {}: {}", command,
                              printable(get_string(member(message, "error"), "desc")
                                            .value_or("an answer without a result"))));
  }
}

Result<Json> Qmp::next_event(Deadline deadline) {
  for (;;) {
    if (!events_.empty()) {
      auto event = std::move(events_.front());
      events_.pop_front();
      return event;
    }
    if (auto message = TRY(read(deadline)); message.contains("event"))
      events_.push_back(std::move(message));
  }
}

}  // namespace gpuready::vm
