#include "http/url_stream.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/text.h"

namespace gpuready {
namespace {

constexpr std::size_t kMostWaiting = 8u << 20;  // bytes that came and were not read yet

// libcurl hands bytes out when they come; a thread of its own takes them and waits for the reader.
class ThreadedStream final : public UrlStream {
 public:
  ThreadedStream(std::string name, std::string shown_name)
      : name_(std::move(name)), shown_(std::move(shown_name)) {}
  ThreadedStream(const ThreadedStream&) = delete;
  ThreadedStream& operator=(const ThreadedStream&) = delete;
  ~ThreadedStream() override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    stop_ = true;
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  Result<void> start(const std::string& folder, OriginOptions options) {
    options.cancel = &stop_;
    origin_ = TRY(open_http_origin(folder, options));
    thread_ = std::thread([this] { fetch(); });
    return {};
  }

  std::string_view name() const override { return shown_; }

  Result<std::size_t> read(std::span<std::uint8_t> to) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return start_ < bytes_.size() || ended_; });
    if (start_ == bytes_.size()) {
      if (error_) return std::unexpected(*error_);
      return 0;
    }
    const auto size = std::min(to.size(), bytes_.size() - start_);
    std::memcpy(to.data(), bytes_.data() + start_, size);
    start_ += size;
    if (start_ == bytes_.size()) {
      bytes_.clear();
      start_ = 0;
    }
    changed_.notify_all();
    return size;
  }

 private:
  void fetch() {
    auto done = origin_->whole(name_, [&](std::string_view bytes) -> Result<void> {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return bytes_.size() < kMostWaiting || closed_; });
      if (closed_) return fail(ErrorKind::cancelled, "its reader has gone");
      bytes_ += bytes;
      changed_.notify_all();
      return {};
    });
    const std::lock_guard lock(mutex_);
    if (!done) error_ = done.error();
    ended_ = true;
    changed_.notify_all();
  }

  std::string name_, shown_;
  std::unique_ptr<Origin> origin_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string bytes_;
  std::size_t start_ = 0;  // what of them was read
  bool ended_ = false, closed_ = false;
  std::optional<Error> error_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace

bool is_url(std::string_view path) {
  return path.starts_with("http://") || path.starts_with("https://");
}

std::string url_without_password(std::string_view url) {
  if (!is_url(url)) return std::string(url);
  const auto begin = url.find("://") + 3;
  const auto end = std::min(url.find('/', begin), url.size());
  const auto at = url.rfind('@', end);
  if (at == url.npos || at < begin) return std::string(url);
  return std::string(url.substr(0, begin)) + std::string(url.substr(at + 1));
}

Result<FileUrl> split_url(const std::string& url) {
  const auto path_end = std::min(url.find_first_of("?#"), url.size());
  const auto slash = url.rfind('/', path_end == 0 ? 0 : path_end - 1);
  const auto host = url.find("://") + 3;
  if (!is_url(url) || slash <= host || slash + 1 >= path_end)
    return fail(ErrorKind::bad_input, url_without_password(url) + ": expected the URL of a file");
  return FileUrl{.folder = url.substr(0, slash),
                 .name = url.substr(slash + 1, url.find('#') - slash - 1),
                 .shown_name = url.substr(slash + 1, path_end - slash - 1)};
}

Result<std::unique_ptr<UrlStream>> open_url_stream(const std::string& url,
                                                   const OriginOptions& options) {
  const auto parts = TRY(split_url(url));
  auto stream = std::make_unique<ThreadedStream>(parts.name, parts.shown_name);
  TRY(stream->start(parts.folder, options));
  return stream;
}

}  // namespace gpuready
