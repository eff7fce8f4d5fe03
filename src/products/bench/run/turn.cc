#include "bench/run/turn.h"

#include "host/lock_wait.h"

namespace gpuready::bench {

Turn wait_for_turn(Host& host, const std::string& path,
                   const std::function<void(std::string_view holder)>& tell,
                   const std::function<bool()>& go_on) {
  constexpr unsigned kTriesPerLook = 50;  // at the holder: looking takes time of the other run
  unsigned tries = 0;
  std::string told;
  const auto look = [&] {
    if (tries++ % kTriesPerLook != 0) return go_on();
    std::string holder = holder_of_lock(host, path);
    if (holder.empty()) holder = "it holds " + path;
    if (holder != told) tell(holder);
    told = std::move(holder);
    return go_on();
  };
  auto lock = lock_when_free([&] { return MachineLock::take(path); }, look);
  return {std::move(lock), tries > 0};
}

}  // namespace gpuready::bench
