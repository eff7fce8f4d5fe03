#include "host/network.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "base/text.h"

namespace gpuready {
namespace {

struct Target {
  std::string host, port = "53";
};

Result<Target> parse_target(const std::string& text) {
  Target target;
  std::string_view rest = trim(text);
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos)
      return fail(ErrorKind::bad_input, text + ": the address lacks its closing ]");
    target.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    const auto colon = rest.find(':') == rest.rfind(':') ? rest.find(':') : std::string_view::npos;
    target.host = rest.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon);
  }
  const bool well_formed = rest.empty() || rest.front() == ':';
  if (!rest.empty()) target.port = rest.substr(1);
  const auto port = parse_uint(target.port);
  if (target.host.empty() || !well_formed || !port || *port == 0 || *port > 65535)
    return fail(ErrorKind::bad_input, text + ": not HOST, HOST:PORT or [ADDRESS]:PORT");
  return target;
}

// One address, within the deadline. 0, or an errno.
int connect_until(const addrinfo& address, Deadline deadline) {
  const int descriptor = ::socket(
      address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol);
  if (descriptor < 0) return errno;
  int error_number = 0;
  if (::connect(descriptor, address.ai_addr, address.ai_addrlen) != 0) {
    error_number = errno;
    while (error_number == EINPROGRESS || error_number == EINTR) {
      pollfd wait{descriptor, POLLOUT, 0};
      const int ready = ::poll(&wait, 1, static_cast<int>(left_until(deadline).count()));
      if (ready < 0 && errno == EINTR) continue;
      socklen_t size = sizeof error_number;
      if (ready == 0)
        error_number = ETIMEDOUT;
      else if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error_number, &size) != 0)
        error_number = errno;
      break;
    }
  }
  ::close(descriptor);
  return error_number;
}

}  // namespace

Result<double> tcp_connect_ms(const std::string& text, std::chrono::milliseconds timeout) {
  const auto target = TRY(parse_target(text));
  const auto start = Clock::now();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found);
      code != 0)
    return fail(ErrorKind::not_found, text + ": " + ::gai_strerror(code), code);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  int last_error = EADDRNOTAVAIL;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    last_error = connect_until(*address, start + timeout);
    if (last_error == 0) return elapsed_ms(start);
  }
  return fail_errno(text, last_error);
}

Result<Descriptor> connect_unix(const std::string& path, std::chrono::milliseconds timeout) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path)
    return fail(ErrorKind::bad_input, "the path of a socket has at most 107 bytes");
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Descriptor descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // A server whose queue is full makes connect() wait for this long; 0 would be for ever.
  timeout = std::max(timeout, std::chrono::milliseconds(1));
  const timeval limit{timeout.count() / 1000, timeout.count() % 1000 * 1000};
  ::setsockopt(descriptor.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (!descriptor || ::connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&address),
                               sizeof address) != 0) {
    if (errno == EAGAIN) return fail(ErrorKind::timed_out, "it accepts no connection");
    return fail(errno == ENOENT ? ErrorKind::not_found : ErrorKind::io, std::strerror(errno),
                errno);
  }
  return descriptor;
}

}  // namespace gpuready
