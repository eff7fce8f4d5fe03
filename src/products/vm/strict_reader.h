// Reading what decides whether a device may be given away. A file that is not there is an answer;
// one that is there and cannot be read, or means nothing, is noted: what it would have told is not
// known.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/host.h"

namespace gpuready::vm {

// Whether a path in sysfs that was resolved is a device's.
bool is_device_path(const Result<std::string>& path);

class StrictReader {
 public:
  StrictReader(Host& host, std::vector<std::string>& unclear) : host_(host), unclear_(unclear) {}

  std::optional<std::string> text(const std::string& path);  // trimmed
  std::optional<std::string> one_of(const std::string& path,
                                    std::initializer_list<std::string_view> values);
  std::optional<int> count(const std::string& path);              // from 0 on
  std::optional<std::string> link_name(const std::string& path);  // the last part of its text
  std::vector<std::string> list(const std::string& folder);
  void note(std::string what) { unclear_.push_back(std::move(what)); }

 private:
  void note_unless_missing(const Error& error);
  void note_value(const std::string& path, std::string_view value, std::string_view wanted);

  Host& host_;
  std::vector<std::string>& unclear_;
};

}  // namespace gpuready::vm
