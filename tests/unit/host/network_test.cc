// Connecting to what a user names, on this machine only.
#include "host/network.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <string>

#include "unit/test_folder.h"

namespace gpuready {
namespace {

constexpr std::chrono::milliseconds kPatience{5000};

// A port of 127.0.0.1, which answers while it is held.
struct LocalPort {
  Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string number;

  LocalPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket.get(), any, size), 0);
    EXPECT_EQ(::getsockname(socket.get(), any, &size), 0);
    number = std::to_string(ntohs(address.sin_port));
  }
};

TEST(Network, ATargetIsAHostAndItsPortWithOrWithoutBrackets) {
  const LocalPort port;
  const auto refused = tcp_connect_ms("127.0.0.1:" + port.number, kPatience);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ECONNREFUSED);
  EXPECT_TRUE(refused.error().message.starts_with("127.0.0.1:" + port.number));
  ASSERT_EQ(::listen(port.socket.get(), 16), 0);
  for (const auto& target : {"127.0.0.1:" + port.number, " 127.0.0.1:" + port.number + "\n",
                             "[127.0.0.1]:" + port.number, "[::ffff:127.0.0.1]:" + port.number}) {
    const auto took = tcp_connect_ms(target, kPatience);
    if (!took && took.error().code == EAFNOSUPPORT) continue;  // no IPv6 here
    ASSERT_TRUE(took) << took.error().message;
    EXPECT_GE(*took, 0);
  }
}

TEST(Network, WhatIsNoTargetIsRefused) {
  for (const char* target :
       {"", " ", ":53", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x",
        "127.0.0.1:-1", "[127.0.0.1", "[127.0.0.1]:", "[127.0.0.1]:0", "[127.0.0.1]53", "[]:53"}) {
    const auto took = tcp_connect_ms(target, kPatience);
    ASSERT_FALSE(took) << target;
    EXPECT_EQ(took.error().kind, ErrorKind::bad_input) << target << ": " << took.error().message;
  }
}

// sockaddr_un of Linux has 108 bytes; the path ends with a NUL.
TEST(Network, ASocketsPathHasAtMost107Bytes) {
  const auto error_of = [](std::size_t bytes) {
    const auto socket = connect_unix("/" + std::string(bytes - 1, 'x'), kPatience);
    return socket ? ErrorKind::busy : socket.error().kind;
  };
  EXPECT_EQ(error_of(107), ErrorKind::not_found);
  EXPECT_EQ(error_of(108), ErrorKind::bad_input);
}

TEST(Network, ASocketOfThisMachineConnectsWhileItsServerListens) {
  const TestFolder folder("/tmp");
  const auto path = folder.path("s");
  const Descriptor server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto before = connect_unix(path, kPatience);
  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().kind, ErrorKind::io);
  EXPECT_EQ(before.error().code, ECONNREFUSED);
  ASSERT_EQ(::listen(server.get(), 1), 0);
  EXPECT_TRUE(connect_unix(path, kPatience));
}

}  // namespace
}  // namespace gpuready
