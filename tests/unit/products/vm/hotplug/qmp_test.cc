// The monitor's protocol with a QEMU of a few lines. A real one: hotplug_test.cc.
#include "vm/hotplug/qmp.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <thread>

#include "unit/products/vm/driver_folder.h"

namespace gpuready::vm {
namespace {

using Texts = std::vector<std::string>;
constexpr const char* kGreeting = R"({"QMP":{"version":{},"capabilities":[]}})";
constexpr const char* kDone = R"({"return":{}})";

Deadline soon() { return deadline_in(std::chrono::milliseconds(20'000)); }

// Sends the first text, answers each command with the next one, and closes the connection.
class FakeQemu {
 public:
  explicit FakeQemu(Texts texts) : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this, texts = std::move(texts)] { serve(texts); });
  }
  ~FakeQemu() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    end();
  }
  std::string path() const { return folder_.path("qmp"); }
  void end() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  void serve(const Texts& texts) const {
    const Descriptor client(::accept(listener_.get(), nullptr, nullptr));
    for (const auto& text : texts) {
      char got = '\n';
      while (&text != &texts.front() && ::recv(client.get(), &got, 1, 0) == 1 && got != '\n') {
      }
      const auto line = text.empty() ? text : text + "\r\n";
      if (got != '\n' || ::send(client.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  TestFolder folder_;
  Descriptor listener_;
  std::thread thread_;
};

std::string told(const Result<Json>& answer) {
  return answer ? answer->dump() : answer.error().message;
}

TEST(VmQmp, AnswersAreTheCommandsAndEventsAreKept) {
  FakeQemu qemu({kGreeting, kDone,
                 R"({"event":"A"})"
                 "\n"
                 R"({"return":[1]})",
                 R"({"error":{"class":"GenericError","desc":"Device 'x' not found"}})", "{}",
                 R"({"return":2})"
                 "\n"
                 R"({"event":"B"})"});
  auto qmp = Qmp::open(qemu.path(), soon());
  ASSERT_TRUE(qmp) << qmp.error().message;
  const auto ask = [&](const char* command) {
    return qmp->execute(command, Json::object(), soon());
  };
  EXPECT_EQ(told(ask("query")), "[1]");
  const auto refused = ask("device_del");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::device);
  EXPECT_EQ(told(refused), "QEMU: device_del: Device 'x' not found");
  EXPECT_EQ(told(ask("x")), "QEMU: x: an answer without a result");
  EXPECT_EQ(told(qmp->next_event(soon())), R"({"event":"A"})");
  EXPECT_EQ(told(ask("y")), "2");
  EXPECT_EQ(told(qmp->next_event(soon())), R"({"event":"B"})");
}

TEST(VmQmp, AConnectionThatQemuClosesIsAnError) {
  FakeQemu silent({kGreeting, kDone, ""});
  auto qmp = Qmp::open(silent.path(), soon());
  ASSERT_TRUE(qmp) << qmp.error().message;
  EXPECT_EQ(told(qmp->execute("query", Json::object(), soon())),
            silent.path() + ": QEMU closed the connection");
  silent.end();
  const auto unsent = qmp->execute("query", Json::object(), soon());
  ASSERT_FALSE(unsent);
  EXPECT_EQ(unsent.error().kind, ErrorKind::io);
  EXPECT_EQ(unsent.error().message, silent.path() + ": Broken pipe");
}

TEST(VmQmp, WhatDoesNotGreetAsQemuIsNoMonitor) {
  for (const char* greeting : {"{}", R"({"QMP":1})", "x"}) {
    FakeQemu other({greeting});
    const auto qmp = Qmp::open(other.path(), soon());
    ASSERT_FALSE(qmp) << greeting;
    EXPECT_EQ(qmp.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(qmp.error().message, other.path() + ": not a QMP socket of QEMU");
  }
}

}  // namespace
}  // namespace gpuready::vm
