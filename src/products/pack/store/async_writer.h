// Writes a large file in a thread of its own while the caller unpacks and hashes, so that both
// cores of a small machine work on the one file that a switch replaces.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "host/atomic_file.h"

namespace gpuready::pack {

class AsyncWriter {
 public:
  explicit AsyncWriter(AtomicFile file) : file_(std::move(file)), thread_([this] { work(); }) {}
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;
  ~AsyncWriter() { stop(); }

  // Waits while much is not written yet. An error may be that of bytes given before.
  Result<void> write(std::string_view bytes);
  Result<void> commit();  // once, at the end

 private:
  void work();
  void stop();
  Result<void> hand_over();

  AtomicFile file_;
  std::string block_;  // that is being filled
  std::string spare_;  // one that was written
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::optional<Error> error_;
  bool ended_ = false;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace gpuready::pack
