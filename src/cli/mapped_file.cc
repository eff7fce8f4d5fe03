#include "cli/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace gpuready::cli {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail_errno(printable(path), errno);
  struct stat facts{};
  int problem = ::fstat(descriptor, &facts) == 0 ? 0 : errno;
  if (problem == 0 && !S_ISREG(facts.st_mode)) problem = EINVAL;
  MappedFile file;
  if (problem == 0 && facts.st_size > 0) {
    const auto size = static_cast<std::size_t>(facts.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      problem = errno;
    } else {
      file.data_ = static_cast<const std::uint8_t*>(data);
      file.size_ = size;
    }
  }
  ::close(descriptor);
  if (problem != 0) return fail_errno(printable(path), problem);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

}  // namespace gpuready::cli
