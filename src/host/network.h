// Connecting to what the user names: TCP services, and sockets of this machine.
#pragma once

#include <chrono>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace gpuready {

// Connects to "host:port", "[v6]:port" or "host" (port 53) and closes. Milliseconds until
// connected. Every address that the name has is tried within the one time limit.
Result<double> tcp_connect_ms(const std::string& target, std::chrono::milliseconds timeout);

// A blocking stream socket. Connecting, and later each send(), takes at most `timeout`. The errors
// do not name the path.
Result<Descriptor> connect_unix(const std::string& path, std::chrono::milliseconds timeout);

}  // namespace gpuready
