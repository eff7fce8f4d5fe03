#include "machine/live_machine.h"

#include <unistd.h>

#include <atomic>
#include <mutex>

#include "gpuready/gpu_info.h"
#include "machine/fake.h"
#include "machine/inspect.h"

namespace gpuready {
namespace {

struct Known {
  pid_t process = getpid();
  std::mutex mutex;  // held while the machine is inspected
  std::vector<std::string> fakes;
  std::shared_ptr<const Machine> machine;
  std::optional<bool> available;

  void forget() {
    machine.reset();
    available.reset();
  }
  // Locks, and forgets what was found under other fakes.
  std::unique_lock<std::mutex> lock_for(const std::vector<std::string>& wanted) {
    std::unique_lock lock(mutex);
    if (fakes != wanted) forget();
    fakes = wanted;
    return lock;
  }
};

// A forked child has its own, because the parent's may be locked by a thread that it lacks.
Known& known() {
  static std::atomic<Known*> current = nullptr;
  Known* found = current.load();
  if (found != nullptr && found->process == getpid()) return *found;
  auto* fresh = new Known;  // lives as long as the process
  if (current.compare_exchange_strong(found, fresh)) return *fresh;
  delete fresh;
  return *found;
}

Machine inspect_live(Host& host, const std::vector<std::string>& fakes, bool full) {
  InspectOptions options;
  options.libraries = options.full = full;
  options.fakes = fakes;
  return inspect(host, options);
}

// The lock is held.
const std::shared_ptr<const Machine>& machine_of(Known& known, Host& host) {
  if (!known.machine)
    known.machine = std::make_shared<const Machine>(inspect_live(host, known.fakes, true));
  return known.machine;
}

bool find_out(Known& known, Host& host) {
  if (!known.machine) {
    const Machine machine = inspect_live(host, known.fakes, false);
    const auto answer = machine.fakes.empty() ? availability_by_files(machine) : FilesSay::nothing;
    if (answer != FilesSay::nothing) return answer == FilesSay::yes;
  }
  return gpu_info_of(*machine_of(known, host)).any_available();
}

}  // namespace

Result<std::shared_ptr<const Machine>> v0::inspect_machine() {
  const auto host = make_live_host();
  const auto fakes = TRY(choose_fakes(*host, std::nullopt));
  Known& all = known();
  const auto lock = all.lock_for(fakes);
  return machine_of(all, *host);
}

void v0::refresh() {
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  all.forget();
}

Result<bool> live_gpu_available() {
  const auto host = make_live_host();
  const auto fakes = TRY(choose_fakes(*host, std::nullopt));
  Known& all = known();
  const auto lock = all.lock_for(fakes);
  if (!all.available || all.machine) all.available = find_out(all, *host);
  return *all.available;
}

}  // namespace gpuready
