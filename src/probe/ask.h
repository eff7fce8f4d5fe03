// One call into a vendor's library: announced before, told after, timed.
#pragma once

#include <concepts>
#include <string>

#include "base/clock.h"
#include "host/probe_document.h"

namespace gpuready {

// `call` makes the call, sets the value on success, and gives the library's return code.
template <std::invocable<Json&> Call>
int ask(ProbeWriter& writer, const std::string& key, Call&& call) {
  writer.begin(key);
  Json value;
  const auto start = Clock::now();
  const int code = call(value);
  const double us = elapsed_ms(start) * 1000;
  if (code != 0) value = nullptr;  // what a failed call left in its outputs means nothing
  writer.answer(key, code, value, us);
  return code;
}

// "symbol(a,b)"
inline std::string call_key(std::string_view symbol, std::string_view first = {},
                            std::string_view second = {}) {
  std::string key(symbol);
  key += '(';
  key += first;
  if (!second.empty()) {
    if (!first.empty()) key += ',';
    key += second;
  }
  key += ')';
  return key;
}

}  // namespace gpuready
