// Writing a file so that it is whole or untouched, whatever fails and whenever the writer dies.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/storage.h"

namespace gpuready {

struct WriteOptions {
  // `fail`: a file that exists when the new one is whole is not replaced (EEXIST), however late it
  // came. Where a filesystem has neither hard links nor a rename that refuses to replace, that is
  // looked up just before the rename.
  OnExisting on_existing = OnExisting::replace;
  // Mode 0600, also over a file that others could read. Else the old file's mode, or that of any
  // new file.
  bool private_to_user = false;
  // This mode, whatever the umask and an old file say.
  std::optional<std::uint32_t> mode = {};
  // The old file's owner, group and extended attributes; else those of any new file.
  bool keep_owner = false;
  std::optional<std::chrono::sys_seconds> modified = {};  // else when it was written
  // Else a symbolic link at the end of the path is replaced.
  bool follow_link = true;
};

// Writes a temporary file in the same folder, syncs it and gives it the name `path`. On any failure
// the old file is untouched and the temporary one gone. It has no name while it is written, so that
// it is gone with a process that is killed, too; but for the moment of replacing an old file, and
// on filesystems without such files, it is `.gpuready-PID-N.tmp`. The folder is held from the first
// call to the last. Refused are: what is not a regular file (a device, a folder), since renaming
// would replace it; a link that another user may have made; another user's file in a folder that
// others may change.
Result<void> write_file_atomically(const std::string& path, std::string_view bytes,
                                   WriteOptions options = {}, Storage& storage = live_storage());

// The same for a file that is made piece by piece. Without commit() nothing is left of it.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path, WriteOptions options = {},
                                   Storage& storage = live_storage());
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
