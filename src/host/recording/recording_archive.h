// Pieces of the recording's file formats that recording.h does not show.
#pragma once

#include <string>
#include <string_view>

#include "host/recording/recording.h"

namespace gpuready {

inline constexpr std::string_view kZstdMagic{"\x28\xB5\x2F\xFD", 4};  // how FILE.tar.zst begins

// The bytes of FILE.tar.zst: the same recording gives the same bytes.
Result<std::string> recording_to_archive(const Recording& recording);
// Whether `doc` says that it is of this schema, in a version that this program reads.
Result<void> check_schema(const Json& doc, std::string_view name, std::string_view schema);

}  // namespace gpuready
