#include "exporter/http_request.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <span>

#include "base/text.h"

namespace gpuready::exporter {
namespace {

struct Status {
  int code;
  const char *reason, *text;  // the text, if a request is refused with it
};
constexpr Status kStatuses[] = {
    {200, "OK", ""},
    {400, "Bad Request", "not a request of HTTP/1.1, which has one Host and no control characters"},
    {404, "Not Found", ""},
    {405, "Method Not Allowed", "only GET and HEAD are answered"},
    {413, "Content Too Large", "a request has no body here"},
    {431, "Request Header Fields Too Large", "the request's header is too large"},
    {503, "Service Unavailable", ""},
    {505, "HTTP Version Not Supported", "only HTTP/1.0 and HTTP/1.1 are answered"}};

const Status& status_of(int code) { return *std::ranges::find(kStatuses, code, &Status::code); }

// "http://host/metrics?x" and "/metrics?x" are "/metrics"; "http://host" is "/".
std::string_view path_of(std::string_view target) {
  if (const auto scheme = target.find("://"); !target.starts_with('/') && scheme != target.npos)
    target.remove_prefix(std::min(target.find_first_of("/?#", scheme + 3), target.size()));
  const auto path = target.substr(0, target.find_first_of("?#"));
  return path.empty() ? "/" : path;
}

// A bare carriage return or a zero could end a line for a proxy, and not here.
bool is_control(char c) {
  return (static_cast<unsigned char>(c) < ' ' && c != '\t') ||
         c == 0x7f;  // char has no sign on ARM
}

bool lists(std::string_view value, std::string_view word) {
  return std::ranges::any_of(split(value, ","), [&](std::string_view each) {
    return equals_ignore_case(trim(each), word);
  });
}

}  // namespace

std::size_t size_of_head(std::string_view bytes) {
  const auto first = bytes.find_first_not_of("\r\n");  // empty lines may precede a request
  if (first == bytes.npos) return bytes.npos;
  const auto crlf = bytes.find("\n\r\n", first), lf = bytes.find("\n\n", first);
  if (crlf == bytes.npos && lf == bytes.npos) return bytes.npos;
  return crlf < lf ? crlf + 3 : lf + 2;
}

HttpRequest parse_head(std::string_view head) {
  HttpRequest request;
  const auto refused = [&](int status) {
    request.refused = status;
    request.keep_alive = false;
    return request;
  };
  const auto all = lines(trim(head));
  for (const std::string_view line : all)
    if (std::ranges::any_of(line, is_control)) return refused(400);
  const auto parts = split(all.empty() ? "" : trim(all.front()), " ");
  if (parts.size() != 3 || !parts[2].starts_with("HTTP/")) return refused(400);
  if (parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0") return refused(505);
  request.keep_alive = parts[2] == "HTTP/1.1";
  request.head_only = parts[0] == "HEAD";
  request.path = path_of(parts[1]);
  int hosts = 0;
  for (const std::string_view line : std::span(all).subspan(1)) {
    const auto colon = line.find(':');
    const auto name = line.substr(0, colon);
    if (colon == line.npos || name.empty() || name.find_first_of(" \t") != name.npos)
      return refused(400);
    const auto value = trim(line.substr(colon + 1));
    if (equals_ignore_case(name, "Accept"))
      request.accept += (request.accept.empty() ? "" : ",") + std::string(value);
    hosts += equals_ignore_case(name, "Host");
    if (equals_ignore_case(name, "Connection"))
      request.keep_alive =
          !lists(value, "close") && (request.keep_alive || lists(value, "keep-alive"));
    if (equals_ignore_case(name, "Transfer-Encoding") ||
        (equals_ignore_case(name, "Content-Length") && value != "0"))
      request.refused = 413;
  }
  if (hosts > 1 || (hosts == 0 && parts[2] == "HTTP/1.1")) return refused(400);
  if (parts[0] != "GET" && parts[0] != "HEAD") request.refused = 405;
  return request.refused != 0 ? refused(request.refused) : request;
}

HttpAnswer refusal(int status) {
  return {status, "text/plain; charset=utf-8", std::string(status_of(status).text) + "\n"};
}

std::string answer_bytes(const HttpAnswer& answer, const HttpRequest& request) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S GMT}\r\nContent-Type: {}\r\n"
      "Content-Length: {}\r\n{}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "Connection: {}\r\n\r\n{}",
      answer.status, status_of(answer.status).reason, fmt::gmtime(std::time(nullptr)), answer.type,
      answer.body.size(), answer.status == 405 ? "Allow: GET, HEAD\r\n" : "",
      request.keep_alive ? "keep-alive" : "close", request.head_only ? "" : answer.body);
}

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

}  // namespace gpuready::exporter
