#include "host/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace gpuready {

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: a pipe without a writer must be refused, not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail_errno(path, errno);
  struct stat facts{};
  void* data = nullptr;
  int failed = fstat(fd, &facts) == 0 ? 0 : errno;
  const bool regular = failed == 0 && S_ISREG(facts.st_mode);
  const std::size_t size = regular ? static_cast<std::size_t>(facts.st_size) : 0;
  if (regular && size > 0) {
    data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) failed = errno;
  }
  ::close(fd);
  if (failed != 0) return fail_errno(path, failed);
  if (!regular) return fail(ErrorKind::bad_input, path + ": not a regular file");
  return MappedFile(static_cast<const std::uint8_t*>(data), size,
                    std::chrono::sys_seconds(std::chrono::seconds(facts.st_mtim.tv_sec)));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      modified_(other.modified_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(modified_, other.modified_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::uint8_t*>(data_), size_);
}

}  // namespace gpuready
