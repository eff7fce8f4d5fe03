#include "pack/code/source.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace gpuready::pack {
namespace {

constexpr std::uint64_t kReleaseStep = 8u << 20;
constexpr std::size_t kReadStep = 1u << 20;

}  // namespace

Bytes MemorySource::peek(std::size_t least) {
  // A step at a time, so that pages are given back while a long file is searched.
  return slice(bytes_, position_, std::max<std::uint64_t>(least, kReleaseStep));
}

void MemorySource::skip(std::uint64_t bytes) {
  position_ += std::min<std::uint64_t>(bytes, bytes_.size() - position_);
  if (!release_ || position_ - released_ < kReleaseStep) return;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t behind = position_ / page * page;
  // A hint: what it does not do costs memory alone.
  (void)::madvise(const_cast<std::uint8_t*>(bytes_.data()) + released_, behind - released_,
                  MADV_DONTNEED);
  released_ = behind;
}

bool StreamSource::fill(std::size_t least) {
  if (buffer_.size() - start_ < least) {
    if (start_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + start_, end_ - start_);
      end_ -= start_;
      start_ = 0;
    }
    // Twice as much, so that what is kept is moved to the front once in this many bytes.
    if (buffer_.size() < 2 * least) buffer_.resize(2 * std::max(least, kReadStep));
  }
  while (!ended_ && end_ - start_ < least) {
    const auto got = read_(std::span(buffer_).subspan(end_));
    if (!got) error_ = got.error();
    ended_ = !got || *got == 0;
    if (got) end_ += *got;
  }
  return end_ - start_ >= least;
}

Bytes StreamSource::peek(std::size_t least) {
  least = std::min(std::max<std::size_t>(least, 1), kMostWindow);
  fill(least);
  return {buffer_.data() + start_, end_ - start_};
}

void StreamSource::skip(std::uint64_t bytes) {
  while (bytes > 0) {
    if (start_ == end_ && !fill(1)) return;
    const auto step = std::min<std::uint64_t>(bytes, end_ - start_);
    start_ += step;
    position_ += step;
    bytes -= step;
  }
}

}  // namespace gpuready::pack
