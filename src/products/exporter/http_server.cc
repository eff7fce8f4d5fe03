#include "exporter/http_server.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/text.h"
#include "host/storage.h"

namespace gpuready::exporter {
namespace {

constexpr int kBacklog = 64;
constexpr int kSecondsForARequest = 10;  // a client that is slower holds no connection
constexpr std::size_t kMostHeaderBytes = 16 << 10;

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

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

// A socket's file outlives the process that listened there.
bool is_left_over(const SocketAddress& address) {
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED;
}

Result<Descriptor> open_socket(const ListenAddress& address) {
  const SocketAddress where = to_socket(address);
  Descriptor socket(::socket(where.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto bind = [&] { return ::bind(socket.get(), where.get(), where.size) == 0; };
  bool bound = bind();
  if (!bound && errno == EADDRINUSE && !address.unix_path.empty() && is_left_over(where)) {
    TRY(live_storage().unlink(address.unix_path));
    bound = bind();
  }
  if (!bound || ::listen(socket.get(), kBacklog) != 0)
    return fail_errno("cannot listen on " + text_of(address), errno);
  return socket;
}

}  // namespace

bool wants_openmetrics(std::string_view accept) {
  double openmetrics = 0, text = 0;
  for (const std::string_view range : split(accept, ",")) {
    const auto parts = split(range, ";");
    if (parts.empty()) continue;
    double quality = 1;
    bool has_version = true;
    for (const std::string_view part : parts) {
      const std::size_t equals = std::min(part.find('='), part.size());
      const auto name = trim(part.substr(0, equals));
      const auto value = trim(part.substr(std::min(equals + 1, part.size())));
      if (equals_ignore_case(name, "q")) quality = parse_double(value).value_or(0);
      if (equals_ignore_case(name, "version")) has_version = value == "1.0.0";
    }
    const auto type = trim(parts.front());
    if (equals_ignore_case(type, "application/openmetrics-text") && has_version)
      openmetrics = std::max(openmetrics, quality);
    if (equals_ignore_case(type, "text/plain")) text = std::max(text, quality);
  }
  return openmetrics > 0 && openmetrics >= text;
}

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
  std::unique_ptr<event_base, Freed<event_base_free>> base;
  std::unique_ptr<evhttp, Freed<evhttp_free>> http;
  const HttpHandler* handler = nullptr;
  const std::atomic<bool>* stop = nullptr;

  ~State() {
    http.reset();
    if (!address.unix_path.empty()) (void)live_storage().unlink(address.unix_path);
  }

  static void answer(evhttp_request* request, void* self) {
    const State& state = *static_cast<State*>(self);
    const char* path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
    const char* accept = evhttp_find_header(evhttp_request_get_input_headers(request), "Accept");
    const HttpAnswer answer = (*state.handler)(path ? path : "", accept ? accept : "");
    evkeyvalq* headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Content-Type", answer.type.c_str());
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evbuffer_add(evhttp_request_get_output_buffer(request), answer.body.data(), answer.body.size());
    evhttp_send_reply(request, answer.status, nullptr, nullptr);
  }

  static void look(evutil_socket_t, short, void* self) {
    const State& state = *static_cast<State*>(self);
    if (*state.stop) event_base_loopbreak(state.base.get());
  }
};

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::listen(const ListenAddress& address) {
  Descriptor socket = TRY(open_socket(address));
  auto state = std::make_unique<State>();
  state->address = address;
  SocketAddress bound;
  bound.size = sizeof bound.bytes;
  if (address.unix_path.empty() &&
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size) == 0)
    state->address.port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound.bytes)->sin_port);
  state->base.reset(event_base_new());
  state->http.reset(state->base ? evhttp_new(state->base.get()) : nullptr);
  const int own = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0);  // libevent closes it
  if (!state->http || evhttp_accept_socket(state->http.get(), own) != 0)
    return fail(ErrorKind::unsupported, "libevent cannot serve " + text_of(address));
  evhttp_set_allowed_methods(state->http.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  evhttp_set_timeout(state->http.get(), kSecondsForARequest);
  evhttp_set_max_headers_size(state->http.get(), kMostHeaderBytes);
  evhttp_set_max_body_size(state->http.get(), 0);
  evhttp_set_gencb(state->http.get(), State::answer, state.get());
  return HttpServer(std::move(state));
}

std::string HttpServer::address() const { return text_of(state_->address); }

void HttpServer::serve(const HttpHandler& handler, const std::atomic<bool>& stop) {
  state_->handler = &handler;
  state_->stop = &stop;
  const std::unique_ptr<event, Freed<event_free>> timer(
      event_new(state_->base.get(), -1, EV_PERSIST, State::look, state_.get()));
  constexpr timeval kPause{.tv_sec = 0, .tv_usec = 100'000};
  event_add(timer.get(), &kPause);
  event_base_dispatch(state_->base.get());
}

}  // namespace gpuready::exporter
