// Where files come from: a folder, an HTTP server, or a container registry. Only what is asked
// for is read. All functions may be called from several threads at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuready {

using ByteSink = std::function<Result<void>(std::string_view bytes)>;

struct ByteRange {
  std::uint64_t offset = 0, length = 0;
};

class Origin {
 public:
  virtual ~Origin() = default;
  virtual std::string where() const = 0;  // as people read it; without a password
  // A whole file beside the manifest, at most `limit_bytes`.
  virtual Result<std::string> file(const std::string& name, std::size_t limit_bytes) = 0;
  // A whole file of any size, in order. What came before an error was of that file.
  virtual Result<void> whole(const std::string& name, const ByteSink& sink) = 0;
  // Bytes of a file that is `size_bytes` large. Each reaches the sink once, in order, also where
  // the connection breaks and is recreated. An error of the sink ends it. An answer that is not the
  // file (another size or part, a web page) is an error as a broken connection is one, never
  // `bad_input`.
  virtual Result<void> range(const std::string& name, std::uint64_t size_bytes, ByteRange range,
                             const ByteSink& sink) = 0;
  // False once a server has answered with a whole file where a range was asked for: then it is
  // cheaper to read the whole once.
  virtual bool has_ranges() const { return true; }
  // Its files are here already: what is read of them need not be kept.
  virtual bool is_local() const { return false; }
  virtual unsigned parallel() const = 0;  // how many ranges are best read at once
};

struct OriginOptions {
  std::chrono::milliseconds connect{30'000};
  // Slower than a kilobyte a second for this long: the connection is recreated.
  std::chrono::milliseconds stall{30'000};
  // A file beside the archives, as a manifest, is there after this long, or not at all.
  std::chrono::milliseconds small_file{120'000};
  unsigned attempts = 5;  // without a byte between them
  std::chrono::milliseconds pause{
      500};  // before the second attempt; twice as long before each other
  const std::atomic<bool>* cancel = nullptr;
  std::vector<std::string> headers = {};  // "Name: value", of each request
};

Result<std::unique_ptr<Origin>> open_http_origin(std::string url, const OriginOptions& options);

}  // namespace gpuready
