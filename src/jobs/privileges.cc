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
  // A user name space may know no group of its own, and then refuses this.
  if (setgroups(0, nullptr) != 0 && errno != EPERM) return fail_errno("setgroups", errno);
  TRY(checked(setresgid(kNobody, kNobody, kNobody), "setresgid"));
  TRY(checked(setresuid(kNobody, kNobody, kNobody), "setresuid"));
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  return checked(syscall(SYS_capset, &header, none), "capset");
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

}  // namespace gpuready
