// A host whose world is a machine written as JSON sections.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "host/recording/recording.h"

namespace gpuready {

inline std::unique_ptr<Host> scripted(const std::string& sections) {
  auto recording = recording_from_script(
      R"({"schema":"gpuready.machine-script","schema_version":1,)" + sections + "}", "test", "/");
  if (!recording) {
    ADD_FAILURE() << recording.error().message;
    return make_recorded_host({});
  }
  return make_recorded_host(std::move(*recording));
}

}  // namespace gpuready
