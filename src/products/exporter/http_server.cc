#include "exporter/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/text.h"
#include "host/storage.h"
#include "jobs/trusted_path.h"

namespace gpuready::exporter {
namespace {

// From a request's first byte to the answer's last one, and between two requests.
constexpr std::chrono::seconds kTimeForARequest{10};
// One more closes the one that is nearest to its deadline.
constexpr std::size_t kMostConnections = 128;
constexpr std::chrono::seconds kPauseWithoutDescriptors{1};
constexpr std::size_t kMostHeaderBytes = 16 << 10;
constexpr int kPollMilliseconds = 100;

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

template <class T>
SocketAddress socket_address(const T& address) {
  SocketAddress out;
  std::memcpy(&out.bytes, &address, sizeof address);
  out.size = sizeof address;
  return out;
}

SocketAddress to_socket(const ListenAddress& address) {
  if (!address.unix_path.empty()) {
    sockaddr_un out{.sun_family = AF_UNIX, .sun_path = {}};
    address.unix_path.copy(out.sun_path, sizeof out.sun_path - 1);
    return socket_address(out);
  }
  sockaddr_in v4{};
  if (inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    return socket_address(v4);
  }
  sockaddr_in6 v6{};
  inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr);
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(address.port);
  return socket_address(v6);
}

std::string text_of(const ListenAddress& address) {
  if (!address.unix_path.empty()) return "unix:" + address.unix_path;
  const bool v6 = contains(address.host, ":");
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", address.host, v6 ? "]" : "", address.port);
}

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};

// Of a socket; nothing for any other file, or a link to one.
std::optional<FileId> socket_at(const std::string& path) {
  const auto end = walk_to(path, LastLink::keep);
  if (!end || !end->file || !S_ISSOCK(end->file->st_mode)) return std::nullopt;
  return FileId{end->file->st_dev, end->file->st_ino};
}

// A socket's file outlives the process that listened there.
Result<void> remove_left_over(const std::string& path, const SocketAddress& address) {
  if (!socket_at(path))
    return fail(ErrorKind::bad_input, printable(path) +
                                          " exists and is not a socket; move it away, or name "
                                          "another path by --listen unix:PATH");
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED)
    return live_storage().unlink(path);
  return {};
}

Result<Descriptor> open_socket(const ListenAddress& address) {
  const SocketAddress where = to_socket(address);
  Descriptor socket(::socket(where.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("cannot listen on " + text_of(address), errno);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto bind = [&] { return ::bind(socket.get(), where.get(), where.size) == 0; };
  bool bound = bind();
  if (!bound && errno == EADDRINUSE && !address.unix_path.empty()) {
    TRY(remove_left_over(address.unix_path, where));
    bound = bind();
  }
  if (!bound || ::listen(socket.get(), SOMAXCONN) != 0)
    return fail_errno("cannot listen on " + text_of(address), errno);
  return socket;
}

// A part of the descriptors that this process may open: the rest is for samples.
std::size_t most_connections() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::clamp<std::size_t>(limit.rlim_cur / 4, 4, kMostConnections);
}

class Connection {
 public:
  explicit Connection(Descriptor socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  short waits_for() const { return out_.empty() && !has_request() ? POLLIN : POLLOUT; }
  Deadline deadline() const { return deadline_; }
  void end() { deadline_ = {}; }

  // Takes what came, or sends what is left, and answers one request: others have their turn before
  // the next. false: the connection has ended.
  bool go_on(const HttpHandler& handler) {
    if (!out_.empty() && !send()) return false;
    if (out_.empty() && !has_request() && !receive()) return false;
    if (!out_.empty() || !has_request()) return true;
    answer(handler);
    return send();
  }

 private:
  bool receive() {
    char bytes[4096];
    const ssize_t size = ::recv(descriptor(), bytes, sizeof bytes, 0);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (ends_) return size > 0;  // closing at once could take the answer from the client
    if (in_.empty()) deadline_ = deadline_in(kTimeForARequest);
    in_.append(bytes, static_cast<std::size_t>(size));
    return size > 0;
  }
  bool send() {
    const ssize_t size = ::send(descriptor(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    out_.erase(0, static_cast<std::size_t>(size));
    if (!out_.empty()) return true;
    deadline_ = deadline_in(kTimeForARequest);
    if (ends_) ::shutdown(descriptor(), SHUT_WR);
    return true;
  }
  bool has_request() const {
    return !ends_ && (in_.size() > kMostHeaderBytes || size_of_head(in_) != in_.npos);
  }
  void answer(const HttpHandler& handler) {
    const auto size = size_of_head(in_);
    const auto request =
        size > kMostHeaderBytes ? HttpRequest{.refused = 431} : parse_head(in_.substr(0, size));
    in_.erase(0, size);
    ends_ = !request.keep_alive;
    out_ = answer_bytes(
        request.refused != 0 ? refusal(request.refused) : handler(request.path, request.accept),
        request);
  }

  Descriptor socket_;
  Deadline deadline_ = deadline_in(kTimeForARequest);
  std::string in_, out_;
  bool ends_ = false;  // after the answer
};

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail(ErrorKind::bad_input,
                fmt::format("--listen {}: {}; give ADDRESS:PORT, such as 127.0.0.1:9836 or "
                            "[::1]:9836, or unix:PATH",
                            printable(text), why));
  };
  ListenAddress out;
  if (const auto path = after_prefix(text, "unix:")) {
    out.unix_path = *path;
    if (!path->starts_with('/')) return bad("the path is not absolute");
    if (path->size() >= sizeof sockaddr_un{}.sun_path) return bad("the path is too long");
    return out;
  }
  const auto colon = text.rfind(':');
  if (colon == text.npos) return bad("it has no port");
  const auto port = parse_uint(text.substr(colon + 1));
  if (!port || *port > 65'535) return bad("the port is not a number up to 65535");
  out.port = static_cast<std::uint16_t>(*port);
  auto host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  out.host = host;
  in6_addr unused{};
  if (inet_pton(bracketed ? AF_INET6 : AF_INET, out.host.c_str(), &unused) != 1)
    return bad("the address is not one of digits");
  return out;
}

struct HttpServer::State {
  ListenAddress address;
  Descriptor socket;
  std::optional<FileId> file;  // of the socket
  std::vector<Connection> connections;
  Deadline accepts_at{};

  ~State() {
    if (file && socket_at(address.unix_path) == file)
      (void)live_storage().unlink(address.unix_path);
  }

  void accept() {
    const std::size_t most = most_connections();
    // A few at a time, so that those that are accepted are read before others replace them.
    for (std::size_t i = 0; i < most / 4; ++i) {
      Descriptor accepted(::accept4(socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!accepted) {
        if (errno != EAGAIN && errno != ECONNABORTED)
          accepts_at = deadline_in(kPauseWithoutDescriptors);
        return;
      }
      if (connections.size() >= most)
        connections.erase(std::ranges::min_element(connections, {}, &Connection::deadline));
      connections.emplace_back(std::move(accepted));
    }
  }

  void serve_once(const HttpHandler& handler) {
    std::vector<pollfd> polled;
    for (const Connection& each : connections)
      polled.push_back({.fd = each.descriptor(), .events = each.waits_for(), .revents = 0});
    const bool accepts = Clock::now() >= accepts_at;
    polled.push_back({.fd = accepts ? socket.get() : -1, .events = POLLIN, .revents = 0});
    if (::poll(polled.data(), polled.size(), kPollMilliseconds) < 0) return;
    for (std::size_t i = 0; i < connections.size(); ++i)
      if (const int seen = polled[i].revents;
          (seen & (POLLERR | POLLHUP)) != 0 || (seen != 0 && !connections[i].go_on(handler)))
        connections[i].end();  // a client that is gone reads no answer
    std::erase_if(connections,
                  [](const Connection& each) { return Clock::now() >= each.deadline(); });
    if (polled.back().revents != 0) accept();
  }
};

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::listen(const ListenAddress& address) {
  auto state = std::make_unique<State>();
  state->address = address;
  state->socket = TRY(open_socket(address));
  if (!address.unix_path.empty()) state->file = socket_at(address.unix_path);
  SocketAddress bound;
  bound.size = sizeof bound.bytes;
  if (address.unix_path.empty() &&
      ::getsockname(state->socket.get(), reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size) ==
          0)
    state->address.port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound.bytes)->sin_port);
  return HttpServer(std::move(state));
}

std::string HttpServer::address() const { return text_of(state_->address); }

void HttpServer::serve(const HttpHandler& handler, const std::atomic<bool>& stop) {
  while (!stop) state_->serve_once(handler);
}

}  // namespace gpuready::exporter
