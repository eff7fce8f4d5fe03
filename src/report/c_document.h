// What the C interface's documents share.
#pragma once

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "base/c_api/c_status.h"
#include "base/clock.h"
#include "host/machine_id.h"
#include "value/envelope.h"

namespace gpuready {

// Runs `body`, which gives a document, and hands out a copy of its text.
template <class Body>
gpuready_status give_document(char** json, Body&& body) {
  return c_call([&]() -> Result<void> {
    if (json == nullptr) return null_pointer("json");
    *json = nullptr;
    const auto text = dump(TRY(body()));
    auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    *json = copy;
    return {};
  });
}

inline Envelope c_envelope(Host& host, const char* command, const char* version,
                           Clock::time_point start) {
  Envelope envelope;
  envelope.command = command;
  envelope.tool_version = version;
  envelope.created_utc = format_utc(std::time(nullptr));
  envelope.machine_id = machine_id(host);
  envelope.boot_id = boot_id(host);
  envelope.duration_ms = elapsed_ms(start);
  return envelope;
}

}  // namespace gpuready
