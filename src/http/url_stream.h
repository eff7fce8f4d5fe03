// The bytes of a URL as they arrive, for a reader that asks for them piece by piece. A connection
// that breaks is recreated and goes on where it broke, where the server knows ranges.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/origin.h"

namespace gpuready {

class UrlStream {
 public:
  virtual ~UrlStream() = default;
  virtual std::string_view name() const = 0;  // of the file: what follows the last '/' of the path
  // Fills as much as there is, at least a byte; 0 is the end.
  virtual Result<std::size_t> read(std::span<std::uint8_t> to) = 0;
};

bool is_url(std::string_view path);  // http:// or https://
std::string url_without_password(std::string_view url);
struct FileUrl {
  std::string folder, name;  // as the server knows them
  std::string shown_name;    // without what follows a '?'
};
Result<FileUrl> split_url(const std::string& url);
Result<std::unique_ptr<UrlStream>> open_url_stream(const std::string& url,
                                                   const OriginOptions& options = {});

}  // namespace gpuready
