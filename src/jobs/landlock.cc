#include "jobs/landlock.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>

#include "base/descriptor.h"

namespace gpuready {
namespace {

// The kernel's interface, which the headers of older distributions lack in part.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr std::uint64_t kReadFile = 1u << 2, kReadFolder = 1u << 3, kRead = kReadFile | kReadFolder;
constexpr std::uint64_t kWriteFile = 1u << 1, kTruncate = 1u << 14;
constexpr std::uint64_t kOfFiles = kReadFile | kWriteFile | kTruncate;
constexpr std::uint64_t kChangeFolders = 0x1ff0;  // make and remove, of every kind
struct Ruleset {
  std::uint64_t files = 0, network = 0, scopes = 0;
};
struct [[gnu::packed]] BelowPath {
  std::uint64_t allowed = 0;
  int place = -1;
};

class Rules {
 public:
  Rules() {
    const long version = syscall(kCreateRuleset, nullptr, 0, 1);
    if (version < 1) return;
    handled_.files = kRead | kWriteFile | kChangeFolders | (version >= 3 ? kTruncate : 0);
    if (version >= 4) handled_.network = 3;  // to bind and to connect TCP sockets
    if (version >= 6) handled_.scopes = 2;   // signals
    rules_ = Descriptor(static_cast<int>(syscall(kCreateRuleset, &handled_, sizeof handled_, 0)));
  }

  void allow(const std::string& path, std::uint64_t rights) {
    const Descriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status{};
    if (!rules_ || !place || fstat(place.get(), &status) != 0) return;
    BelowPath rule{rights & handled_.files, place.get()};
    if (!S_ISDIR(status.st_mode)) rule.allowed &= kOfFiles;
    (void)syscall(kAddRule, rules_.get(), 1, &rule, 0);
  }

  void restrict() {
    if (!rules_ || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
    (void)syscall(kRestrictSelf, rules_.get(), 0);
  }

 private:
  Ruleset handled_;
  Descriptor rules_;
};

// Rights can only be given: to all that lies beside the way to `hidden`.
void allow_reading_beside(Rules& rules, const std::string& hidden) {
  for (std::size_t slash = 0; slash != hidden.npos; slash = hidden.find('/', slash + 1)) {
    const auto folder = hidden.substr(0, slash + 1);
    const auto next = hidden.substr(folder.size(), hidden.find('/', folder.size()) - folder.size());
    DIR* entries = opendir(folder.c_str());
    if (entries == nullptr) continue;
    while (const dirent* entry = readdir(entries))
      if (const std::string name = entry->d_name; name != "." && name != ".." && name != next)
        rules.allow(folder + name, kRead);
    closedir(entries);
  }
}

}  // namespace

void confine(const Confinement& confinement) {
  Rules rules;
  char hidden[PATH_MAX];
  if (confinement.hidden.size() > 1 && realpath(confinement.hidden.c_str(), hidden) != nullptr &&
      hidden[1] != 0)
    allow_reading_beside(rules, hidden);
  else
    rules.allow("/", kRead);
  for (const auto& path : confinement.readable) rules.allow(path, kRead);
  for (const auto& path : confinement.writable) rules.allow(path, kRead | kOfFiles);
  for (const auto& path : confinement.own) rules.allow(path, ~std::uint64_t{0});
  rules.restrict();
}

}  // namespace gpuready
