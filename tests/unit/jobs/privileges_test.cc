// What a child of root still is after drop_privileges(), as the kernel tells it.
#include "jobs/privileges.h"

#include <fmt/format.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "unit/device/in_child.h"

namespace gpuready {
namespace {

std::string identity() {
  uid_t real_user = 0, user = 0, saved_user = 0;
  gid_t real_group = 0, group = 0, saved_group = 0;
  if (getresuid(&real_user, &user, &saved_user) != 0) return "no user";
  if (getresgid(&real_group, &group, &saved_group) != 0) return "no group";
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct held[2] = {};
  if (syscall(SYS_capget, &header, held) != 0) return "no capabilities";
  const auto any = held[0].effective | held[0].permitted | held[0].inheritable | held[1].effective |
                   held[1].permitted | held[1].inheritable;
  int signal = 0;
  prctl(PR_GET_PDEATHSIG, &signal);
  return fmt::format(
      "user {} {} {}, group {} {} {} and {} more, capabilities {}, {}, signal {}", real_user, user,
      saved_user, real_group, group, saved_group, getgroups(0, nullptr), any != 0,
      prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? "none again" : "may get more", signal);
}

std::string dropped() {
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  const auto done = drop_privileges();
  return done ? identity() : done.error().message;
}

TEST(Privileges, RootsChildBecomesNobody) {
  if (geteuid() != 0) GTEST_SKIP() << "not root";
  const gid_t group = 7;
  const auto before = in_child_with(
      {}, [&] { return setgroups(1, &group) == 0 ? identity() : std::string("refused"); });
  if (before == "refused") GTEST_SKIP() << "a user name space without groups of its own";
  const auto after = in_child_with(
      {}, [&] { return setgroups(1, &group) == 0 ? dropped() : std::string("refused"); });
  EXPECT_TRUE(before.starts_with("user 0 0 0, group 0 0 0 and 1 more")) << before;
  EXPECT_EQ(after,
            fmt::format("user 65534 65534 65534, group 65534 65534 65534 and 0 more, capabilities "
                        "false, none again, signal {}",
                        SIGUSR1));
}

TEST(Privileges, AnotherUserStaysAsItIs) {
  const auto text = in_child_with({}, [] {
    if (geteuid() == 0 && setresuid(1000, 1000, 1000) != 0) return std::string("refused");
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    const auto before = identity();
    const auto done = drop_privileges();
    return std::string(!done                  ? done.error().message
                       : identity() == before ? "the same"
                                              : "not the same");
  });
  if (text == "refused") GTEST_SKIP() << "a user name space without users of its own";
  EXPECT_EQ(text, "the same");
}

}  // namespace
}  // namespace gpuready
