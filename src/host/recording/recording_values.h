// One JSON form for each value that a recording holds.
#pragma once

#include <string>

#include "host/recording/recording.h"

namespace gpuready {

// Appends a member without looking for the key first, which would make building a large object
// quadratic; the caller knows that the key is new.
void append(Json& object, std::string key, Json value);

bool is_utf8(std::string_view bytes);
Json bytes_to_json(const std::string& bytes);  // text, or {"base64": ...}
Result<std::string> bytes_from_json(const Json& value);

// {"error": "ENOENT"} when the failure is just what errno says about `subject`, else in full.
Json failure_to_json(const RecordedFailure& failure, std::string_view subject);
bool is_failure(const Json& value);  // an object with "error"
Result<RecordedFailure> failure_from_json(const Json& value, std::string_view subject);

Json to_json(const FileStatus& status);
Result<FileStatus> status_from_json(const Json& value);
Json to_json(const FileSystemSpace& space);
Result<FileSystemSpace> space_from_json(const Json& value);
Json to_json(const SystemIdentity& identity);
Result<SystemIdentity> identity_from_json(const Json& value);
Json to_json(const JobOutcome& result);
Result<JobOutcome> job_outcome_from_json(const Json& value);

}  // namespace gpuready
