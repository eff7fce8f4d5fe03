#include "kubernetes/unary_call.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/text.h"
#include "host/network.h"

namespace gpuready::kubernetes {
namespace {

constexpr std::size_t kMostText = 200;  // of each header that is kept
constexpr std::size_t kBuffer = 16 << 10;

// By number ("Status codes" of grpc.io).
constexpr std::string_view kStatusNames[] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

struct Exchange {
  std::string_view unsent;  // of the body
  std::string http_status = {}, grpc_status = {}, grpc_message = {};
  std::optional<std::uint32_t> closed = {};  // HTTP/2's error code of the stream
};

std::string_view as_text(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
              std::size_t name_size, const std::uint8_t* value, std::size_t size, std::uint8_t,
              void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const auto header = as_text(name, name_size);
  std::string* const kept = header == ":status"        ? &exchange.http_status
                            : header == "grpc-status"  ? &exchange.grpc_status
                            : header == "grpc-message" ? &exchange.grpc_message
                                                       : nullptr;
  if (kept) *kept = as_text(value, std::min(size, kMostText));
  return 0;
}

int on_close(nghttp2_session*, std::int32_t, std::uint32_t code, void* user) {
  static_cast<Exchange*>(user)->closed = code;
  return 0;
}

ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t* out, std::size_t size,
                  std::uint32_t* flags, nghttp2_data_source*, void* user) {
  auto& unsent = static_cast<Exchange*>(user)->unsent;
  const std::size_t given = unsent.copy(reinterpret_cast<char*>(out), size);
  unsent.remove_prefix(given);
  if (unsent.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(given);
}

using Session = std::unique_ptr<nghttp2_session, decltype(&nghttp2_session_del)>;

Result<Session> begin(std::string_view method, std::chrono::milliseconds timeout,
                      Exchange& exchange) {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0)
    return fail(ErrorKind::too_large, "no memory for HTTP/2");
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  nghttp2_session* made = nullptr;
  nghttp2_session_client_new(&made, callbacks, &exchange);
  nghttp2_session_callbacks_del(callbacks);
  Session session(made, nghttp2_session_del);
  const nghttp2_settings_entry no_push{NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
  const std::string limit = fmt::format("{}m", timeout.count());
  const std::pair<std::string_view, std::string_view> headers[] = {
      {":method", "POST"},         {":scheme", "http"},     {":path", method},
      {":authority", "localhost"}, {"te", "trailers"},      {"content-type", "application/grpc"},
      {"user-agent", "gpuready"},  {"grpc-timeout", limit},
  };
  std::vector<nghttp2_nv> list;
  const auto bytes = [](std::string_view text) {  // nghttp2 copies them
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  for (const auto& [name, value] : headers)
    list.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  const nghttp2_data_provider body{{}, read_body};
  if (!session || nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, &no_push, 1) != 0 ||
      nghttp2_submit_request(made, nullptr, list.data(), list.size(), &body, nullptr) < 0)
    return fail(ErrorKind::too_large, "no memory for HTTP/2");
  return session;
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// Until the stream is closed.
Result<void> perform(nghttp2_session* session, int descriptor, Exchange& exchange,
                     Deadline deadline) {
  std::string_view unsent;  // of what nghttp2 wants to send
  std::uint8_t buffer[kBuffer];
  while (!exchange.closed) {
    if (unsent.empty()) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session, &bytes);
      if (size < 0) return fail(ErrorKind::io, nghttp2_strerror(static_cast<int>(size)));
      unsent = as_text(bytes, static_cast<std::size_t>(size));
    }
    if (unsent.empty() && !nghttp2_session_want_read(session))
      return fail(ErrorKind::io, "it does not speak HTTP/2");
    const auto left = static_cast<int>(left_until(deadline).count());
    pollfd wait{descriptor, static_cast<short>(unsent.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    if (left == 0 || ::poll(&wait, 1, left) == 0)
      return fail(ErrorKind::timed_out, "it does not answer");
    if (wait.revents & POLLOUT) {
      const ssize_t sent =
          ::send(descriptor, unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) unsent.remove_prefix(static_cast<std::size_t>(sent));
      if (sent < 0 && !would_block()) return fail(ErrorKind::io, std::strerror(errno), errno);
    }
    if (!(wait.revents & (POLLIN | POLLHUP | POLLERR))) continue;
    const ssize_t size = ::recv(descriptor, buffer, sizeof buffer, MSG_DONTWAIT);
    if (size == 0) return fail(ErrorKind::io, "it closed the connection without an answer");
    if (size < 0 && !would_block()) return fail(ErrorKind::io, std::strerror(errno), errno);
    if (size < 0) continue;
    const ssize_t used = nghttp2_session_mem_recv(session, buffer, static_cast<std::size_t>(size));
    if (used < 0) return fail(ErrorKind::io, nghttp2_strerror(static_cast<int>(used)));
  }
  return {};
}

Result<void> judge(const Exchange& answer) {
  const auto status = parse_uint(answer.grpc_status);
  if (status == 0u) return {};
  if (!status)
    return fail(ErrorKind::io,
                fmt::format("it gave no gRPC status (HTTP status '{}', HTTP/2 error {})",
                            printable(answer.http_status), *answer.closed));
  const auto name = *status < std::size(kStatusNames) ? kStatusNames[*status] : "not a gRPC status";
  return fail(ErrorKind::io,
              fmt::format("it refuses: {} ({}){}{}", name, *status,
                          answer.grpc_message.empty() ? "" : ": ", printable(answer.grpc_message)));
}

Result<void> call_unnamed(const UnaryCall& request) {
  const Deadline deadline = deadline_in(request.timeout);
  // A message: not compressed, its length in big endian, its bytes.
  std::string body(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8)
    body += static_cast<char>(request.message.size() >> shift & 0xff);
  body += request.message;
  Exchange exchange{.unsent = body};
  const auto descriptor = TRY(connect_unix(request.socket, request.timeout));
  const auto session = TRY(begin(request.method, request.timeout, exchange));
  TRY(perform(session.get(), descriptor.get(), exchange, deadline));
  return judge(exchange);
}

}  // namespace

Result<void> call(const UnaryCall& request) {
  auto done = call_unnamed(request);
  if (!done)
    return fail(done.error().kind, request.socket + ": " + done.error().message, done.error().code);
  return done;
}

}  // namespace gpuready::kubernetes
