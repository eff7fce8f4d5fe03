// Can this machine reach a named TCP service? Asked only when the user names one.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace gpuready {

// Connects to "host:port", "[v6]:port" or "host" (port 53) and closes. Milliseconds until
// connected. Every address that the name has is tried within the one time limit.
Result<double> tcp_connect_ms(const std::string& target, std::chrono::milliseconds timeout);

}  // namespace gpuready
