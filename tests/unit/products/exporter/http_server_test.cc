// The server over a socket's file: which addresses it takes, and how it answers over a connection.
#include "exporter/http_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/descriptor.h"
#include "base/text.h"
#include "unit/test_folder.h"

namespace gpuready::exporter {
namespace {

namespace fs = std::filesystem;

class ExporterServer : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.path(name); }
  std::string refusal_of(const std::string& path) const {
    const auto server = HttpServer::listen({.unix_path = path, .host = "", .port = 0});
    return server ? "" : server.error().message;
  }

 private:
  // Not in the build: a socket's path has at most 107 bytes.
  TestFolder folder_{testing::TempDir()};
};

Descriptor connected(const std::string& path) {
  Descriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return client;
}

void send_text(const Descriptor& client, std::string_view text) {
  ASSERT_EQ(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

// Up to this text, or the connection's end.
std::string received(const Descriptor& client, std::string_view end) {
  std::string text;
  char bytes[512];
  while (!text.ends_with(end)) {
    const ssize_t size = ::recv(client.get(), bytes, sizeof bytes, 0);
    if (size <= 0) return text + "(ended)";
    text.append(bytes, static_cast<std::size_t>(size));
  }
  return text;
}

// The pieces of a request come one after the other, several requests over one connection.
TEST_F(ExporterServer, AnswersEachRequestOfAConnection) {
  auto server = HttpServer::listen({.unix_path = at("socket"), .host = "", .port = 0});
  ASSERT_TRUE(server) << server.error().message;
  std::atomic<bool> stop = false;
  std::thread serving([&] {
    server->serve(
        [](std::string_view path, std::string_view) {
          return HttpAnswer{.type = "text/plain", .body = std::string(path) + " answered"};
        },
        stop);
  });
  const Descriptor client = connected(at("socket"));
  send_text(client, "GET /first HTTP/1.1\r\n");
  send_text(client, "Host: a\r\n\r\n");
  EXPECT_TRUE(received(client, " answered").ends_with("\r\n\r\n/first answered"));
  send_text(client,
            "GET /second HTTP/1.1\r\nHost: a\r\n\r\nGET /third HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string both = received(client, "/third answered");
  EXPECT_TRUE(contains(both, "\r\n\r\n/second answered")) << both;
  send_text(client, "GET /last HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(received(client, "(ended)").ends_with("/last answered(ended)"));
  stop = true;
  serving.join();
}

TEST_F(ExporterServer, ReplacesOnlyASocketThatNoProcessListensOn) {
  std::ofstream(at("file")) << "kept";
  EXPECT_TRUE(contains(refusal_of(at("file")), "exists and is not a socket"))
      << refusal_of(at("file"));
  EXPECT_TRUE(fs::exists(at("file")));
  const auto first = HttpServer::listen({.unix_path = at("socket"), .host = "", .port = 0});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(contains(refusal_of(at("socket")), "Address already in use"));
  {
    const Descriptor left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    at("left").copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(left.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_EQ(refusal_of(at("left")), "");
}

TEST_F(ExporterServer, SaysWhyAnAddressCannotBeUsed) {
  EXPECT_EQ(refusal_of(at("missing/socket")),
            "cannot listen on unix:" + at("missing/socket") + ": No such file or directory");
}

}  // namespace
}  // namespace gpuready::exporter
