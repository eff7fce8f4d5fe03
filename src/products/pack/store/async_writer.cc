#include "pack/store/async_writer.h"

#include <utility>

namespace gpuready::pack {
namespace {

constexpr std::size_t kBlockBytes = 1u << 20, kMostBlocks = 8;

}  // namespace

Result<void> AsyncWriter::write(std::string_view bytes) {
  block_ += bytes;
  return block_.size() < kBlockBytes ? Result<void>() : hand_over();
}

Result<void> AsyncWriter::hand_over() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.size() < kMostBlocks || error_; });
  if (error_) return std::unexpected(*error_);
  waiting_.push_back(std::move(block_));
  block_ = std::exchange(spare_, {});
  block_.reserve(kBlockBytes + kBlockBytes / 4);
  changed_.notify_all();
  return {};
}

Result<void> AsyncWriter::commit() {
  TRY(hand_over());
  stop();
  if (error_) return std::unexpected(*error_);
  return file_.commit();
}

void AsyncWriter::stop() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void AsyncWriter::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_.empty() || ended_; });
    if (waiting_.empty()) return;
    std::string block = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    changed_.notify_all();
    const auto written = file_.write(block);
    lock.lock();
    if (written) {
      block.clear();
      spare_ = std::move(block);  // its memory need not be asked for, and cleared, again
      continue;
    }
    error_ = written.error();
    changed_.notify_all();
    return;
  }
}

}  // namespace gpuready::pack
