// The JSON form that both kinds of recording share: the index of an archive (recording.json) and a
// machine written by hand. docs/recordings.md describes it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "host/recording/recording.h"

namespace gpuready {

inline constexpr std::string_view kRecordingSchema = "gpuready.recording";
inline constexpr std::string_view kScriptSchema = "gpuready.machine-script";

// The entry "files/sys/class/x" is the file /sys/class/x.
inline constexpr std::string_view kFilesPrefix = "files";

// Where {"entry": NAME} is looked up: the bytes of an archive's entry, or nullptr.
using EntryLookup = std::function<const std::string*(std::string_view)>;

// `name` is how errors call the document; each names the section and key at fault. In a machine
// written by hand, null in "files" and the like means absent, and unknown sections are refused.
Result<Recording> recording_from_json(const Json& doc, std::string_view name,
                                      const EntryLookup& entry);

// What goes into an archive beside recording.json, by entry name.
using ArchiveEntries = std::map<std::string, std::string, std::less<>>;
// The index; contents are moved out into `entries`.
Json recording_to_json(const Recording& recording, ArchiveEntries& entries);

}  // namespace gpuready
