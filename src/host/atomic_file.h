// Writing a file so that it is whole or untouched.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready {

// Writes a temporary file in the same folder, syncs it and renames it over `path`. On any failure
// the old file is untouched and the temporary one gone, as it is when the process is killed on a
// filesystem that has files without a name. A symbolic link is followed; anything
// that is no regular file (a device, a folder) is refused, since renaming would replace it.
Result<void> write_file_atomically(const std::string& path, std::string_view bytes);

// The same for a file that is made piece by piece. Without commit() nothing is left of it.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();

  Result<void> write(std::string_view bytes);
  Result<void> commit();

 private:
  struct State;
  explicit AtomicFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gpuready
