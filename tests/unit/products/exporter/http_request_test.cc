// Requests by RFC 9112, and those that no client should send.
#include "exporter/http_request.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready::exporter {
namespace {

TEST(HttpRequest, EndsWithAnEmptyLine) {
  EXPECT_EQ(size_of_head("GET / HTTP/1.1\r\n\r\nGET"), 18u);
  EXPECT_EQ(size_of_head("GET / HTTP/1.0\n\nx"), 16u);
  EXPECT_EQ(size_of_head("\r\n\r\nGET / HTTP/1.1\r\n\r\n"), 22u);
  for (const char* open : {"", "\r\n\r\n", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nA: b\r\n\r"})
    EXPECT_EQ(size_of_head(open), std::string_view::npos) << open;
}

TEST(HttpRequest, SaysWhatIsAskedFor) {
  const auto get =
      parse_head("GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\naccept: a/b\r\nAccept:c/d\r\n\r\n");
  EXPECT_EQ(get.refused, 0);
  EXPECT_EQ(get.path, "/metrics");
  EXPECT_EQ(get.accept, "a/b,c/d");
  EXPECT_TRUE(get.keep_alive);
  EXPECT_FALSE(get.head_only);
  EXPECT_TRUE(parse_head("HEAD / HTTP/1.0\r\n\r\n").head_only);
  const auto path = [](const std::string& target) {
    return parse_head("GET " + target + " HTTP/1.0\r\n\r\n").path;
  };
  EXPECT_EQ(path("http://a:1/metrics"), "/metrics");
  for (const char* root : {"http://a", "http://a?x=/metrics", "/", "/#x", "?"})
    EXPECT_EQ(path(root), "/") << root;
}

TEST(HttpRequest, KeepsTheConnectionAsItsVersionSays) {
  const auto keeps = [](std::string_view line, std::string_view header) {
    return parse_head(std::string(line) + "\r\nHost: a\r\n" + std::string(header) + "\r\n\r\n")
        .keep_alive;
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1", "A: b"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1", "Connection: x, Close"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0", "A: b"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0", "Connection: Keep-Alive"));
  EXPECT_FALSE(keeps("POST / HTTP/1.1", "A: b")) << "what follows could be its body";
}

TEST(HttpRequest, IsRefusedByTheStatusThatSaysWhy) {
  struct Case {
    const char* head;
    int status;
  };
  for (const Case& each :
       std::initializer_list<Case>{{"GET", 400},
                                   {"GET /", 400},
                                   {"GET  / x HTTP/1.1", 400},
                                   {"\x16\x03\x01\x02", 400},
                                   {"GET / HTTP/1.1\r\nno colon", 400},
                                   {"GET / HTTP/1.1\r\nA : b", 400},
                                   {"GET / HTTP/1.1\r\nA: b\r\n folded: c", 400},
                                   {"GET / HTTP/1.1\r\nA: b\rC: d", 400},
                                   {"GET / HTTP/1.1\r\nA: \x01", 400},
                                   {"GET / HTTP/1.1\r\nHost: b", 400},
                                   {"GET / HTTP/1.1\r\nA: b\tc \xc3\xa4", 0},
                                   {"GET / HTTP/2.0", 505},
                                   {"GET / HTTP/9.9", 505},
                                   {"POST / HTTP/1.1", 405},
                                   {"POST / HTTP/1.1\r\nContent-Length: 3", 405},
                                   {"FOO / HTTP/1.1", 405},
                                   {"GET / HTTP/1.1\r\nContent-Length: 3", 413},
                                   {"GET / HTTP/1.1\r\nContent-Length: -5", 413},
                                   {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked", 413},
                                   {"GET / HTTP/1.1\r\nContent-Length: 0", 0}}) {
    const auto request = parse_head(std::string(each.head) + "\r\nHost: a\r\n\r\n");
    EXPECT_EQ(request.refused, each.status) << each.head;
    EXPECT_EQ(request.keep_alive, each.status == 0) << each.head;
  }
  EXPECT_EQ(parse_head("GET / HTTP/1.1\r\n\r\n").refused, 400) << "without Host";
  EXPECT_EQ(parse_head("GET / HTTP/1.0\r\n\r\n").refused, 0);
}

TEST(HttpAnswer, HasItsLengthAndNoBodyForHead) {
  const HttpAnswer answer{200, "text/plain", "abc"};
  const auto get = answer_bytes(answer, {.keep_alive = true});
  EXPECT_TRUE(get.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << get;
  EXPECT_TRUE(contains(get, " GMT\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n")) << get;
  EXPECT_TRUE(contains(get, "\r\nConnection: keep-alive\r\n")) << get;
  EXPECT_TRUE(get.ends_with("\r\n\r\nabc")) << get;
  const auto head = answer_bytes(answer, {.head_only = true});
  EXPECT_TRUE(contains(head, "\r\nContent-Length: 3\r\n")) << head;
  EXPECT_TRUE(head.ends_with("\r\nConnection: close\r\n\r\n")) << head;
  EXPECT_TRUE(contains(answer_bytes(refusal(405), {}), "\r\nAllow: GET, HEAD\r\n"));
}

}  // namespace
}  // namespace gpuready::exporter
