#include "jobs/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace gpuready {
namespace {

constexpr unsigned kNobody = 65534;

Result<void> checked(long returned, const char* what) {
  if (returned == 0) return {};
  return fail_errno(what, errno);
}

Result<void> become_nobody() {
  TRY(checked(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs"));
  TRY(checked(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keepcaps"));
  // A user name space may know no group of its own, and then refuses this.
  if (setgroups(0, nullptr) != 0 && errno != EPERM) return fail_errno("setgroups", errno);
  TRY(checked(setresgid(kNobody, kNobody, kNobody), "setresgid"));
  TRY(checked(setresuid(kNobody, kNobody, kNobody), "setresuid"));
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  data[0].effective = data[0].permitted = 1u << CAP_DAC_READ_SEARCH;
  if (syscall(SYS_capset, &header, data) == 0) return {};
  // A container may have taken this one away as well.
  data[0] = {};
  return checked(syscall(SYS_capset, &header, data), "capset");
}

}  // namespace

Result<void> drop_privileges() {
  if (geteuid() != 0) return {};
  // A process that changes its user loses the signal of its parent's death.
  int signal = 0;
  prctl(PR_GET_PDEATHSIG, &signal);
  TRY(become_nobody());
  return checked(prctl(PR_SET_PDEATHSIG, signal), "PR_SET_PDEATHSIG");
}

Result<void> keep_reading_as_another_program() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  TRY(checked(syscall(SYS_capget, &header, data), "capget"));
  constexpr auto kReading = 1u << CAP_DAC_READ_SEARCH;
  if ((data[0].permitted & kReading) == 0) return {};
  data[0].inheritable |= kReading;
  TRY(checked(syscall(SYS_capset, &header, data), "capset"));
  return checked(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0),
                 "PR_CAP_AMBIENT_RAISE");
}

}  // namespace gpuready
