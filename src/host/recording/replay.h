// Pieces shared by the hosts that answer from a Recording.
#pragma once

#include <memory>

#include "host/recording/recording.h"

namespace gpuready {

// Answers by the exact path asked; what was never asked gives not_recorded.
std::unique_ptr<Host> make_open_world_host(Recording recording);
// A machine written by hand: links are followed, folders and statuses follow from the paths listed,
// and what is not listed does not exist.
std::unique_ptr<Host> make_closed_world_host(Recording recording);

std::unexpected<Error> failed(const RecordedFailure& failure);
RecordedFailure recorded(const Error& error);

template <class T>
Result<T> answer(const Recorded<T>& found) {
  if (const auto* failure = std::get_if<RecordedFailure>(&found)) return failed(*failure);
  return std::get<T>(found);
}
// The content, or the error that reading the file with this limit gives.
Result<std::string> limited(const Recorded<std::string>& found, const std::string& path,
                            std::size_t limit_bytes);

}  // namespace gpuready
