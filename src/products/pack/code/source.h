// Bytes that are read once, from front to back, through a window: a mapped file, or a member of an
// archive that is unpacked meanwhile. Nothing needs the whole of them in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace gpuready::pack {

class Source {
 public:
  virtual ~Source() = default;
  // The bytes from here on: `least` of them, or all that are left; often more. They are valid until
  // the next call. At most kMostWindow can be asked for.
  virtual Bytes peek(std::size_t least) = 0;
  virtual void skip(std::uint64_t bytes) = 0;  // beyond the end: to the end
  // Bytes left from here on, where that is known beforehand.
  virtual std::optional<std::uint64_t> left() const = 0;
  // Why the bytes ended before their end: a damaged archive.
  virtual std::optional<Error> error() const { return std::nullopt; }

  std::uint64_t position() const { return position_; }

 protected:
  std::uint64_t position_ = 0;
};

inline constexpr std::size_t kMostWindow = 48u << 20;

// Bytes in memory. `release`: they are a mapped file's, whose pages behind the position are given
// back, so that what was read does not count as our memory.
class MemorySource : public Source {
 public:
  explicit MemorySource(Bytes bytes, bool release = false) : bytes_(bytes), release_(release) {}
  Bytes peek(std::size_t least) override;
  void skip(std::uint64_t bytes) override;
  std::optional<std::uint64_t> left() const override { return bytes_.size() - position_; }

 private:
  Bytes bytes_;
  bool release_;
  std::uint64_t released_ = 0;
};

// Bytes that `read` gives piece by piece: it fills the buffer as far as it can and says how far; 0
// is the end. `size`: of all, where known.
class StreamSource : public Source {
 public:
  using Read = std::function<Result<std::size_t>(std::span<std::uint8_t>)>;
  // `buffer`: memory that another source has left, so that not each of many has to ask for it.
  explicit StreamSource(Read read, std::optional<std::uint64_t> size = {},
                        std::vector<std::uint8_t> buffer = {})
      : read_(std::move(read)), size_(size), buffer_(std::move(buffer)) {}
  std::vector<std::uint8_t> take_buffer() { return std::move(buffer_); }
  Bytes peek(std::size_t least) override;
  void skip(std::uint64_t bytes) override;
  std::optional<std::uint64_t> left() const override {
    return size_ ? std::optional(*size_ > position_ ? *size_ - position_ : 0) : std::nullopt;
  }
  std::optional<Error> error() const override { return error_; }

 private:
  bool fill(std::size_t least);
  Read read_;
  std::optional<std::uint64_t> size_;
  std::vector<std::uint8_t> buffer_;
  std::size_t start_ = 0, end_ = 0;  // what of the buffer is not skipped yet
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace gpuready::pack
