// A small HTTP/1.1 server: GET and HEAD, one thread, answers that are at hand. A client that is
// slow or idle holds a connection for 10 s at most, and less if others need it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "exporter/http_request.h"

namespace gpuready::exporter {

// "127.0.0.1:9836", "[::1]:9836" or "unix:/run/gpuready/exporter.sock".
struct ListenAddress {
  std::string unix_path;  // empty: TCP
  std::string host;       // digits, no name
  std::uint16_t port = 0;
};
Result<ListenAddress> parse_listen_address(std::string_view text);

using HttpHandler = std::function<HttpAnswer(std::string_view path, std::string_view accept)>;

class HttpServer {
 public:
  // A socket that no process listens on any more is replaced.
  static Result<HttpServer> listen(const ListenAddress& address);
  HttpServer(HttpServer&&) noexcept;
  ~HttpServer();

  std::string address() const;  // with the port that was chosen where 0 was asked for
  // Answers until `stop` is set, at most 0.1 s longer.
  void serve(const HttpHandler& handler, const std::atomic<bool>& stop);

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuready::exporter
