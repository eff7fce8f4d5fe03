// What a scrape needs of HTTP/1.1 (RFC 9112): GET and HEAD, requests without a body. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuready::exporter {

struct HttpAnswer {
  int status = 200;
  std::string type, body;
};

struct HttpRequest {
  int refused = 0;  // the status that says why it is not answered; 0: it is
  bool head_only = false;
  bool keep_alive = false;  // the connection stays open for the next request
  std::string path = {}, accept = {};
};

// The size of the request's head, with the empty line at its end; npos: more of it is to come.
std::size_t size_of_head(std::string_view bytes);
HttpRequest parse_head(std::string_view head);
// Why a request is refused, as an answer.
HttpAnswer refusal(int status);
// The bytes of an answer.
std::string answer_bytes(const HttpAnswer& answer, const HttpRequest& request);

// Whether an Accept header asks for OpenMetrics 1.0 rather than for Prometheus' text.
bool wants_openmetrics(std::string_view accept);

}  // namespace gpuready::exporter
