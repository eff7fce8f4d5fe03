// A unary call of gRPC over HTTP/2 on a unix socket, by nghttp2
// ("gRPC over HTTP2", the specification of grpc.io).
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready::kubernetes {

struct UnaryCall {
  std::string socket;       // path
  std::string_view method;  // "/package.Service/Method"
  std::string_view message;
  std::chrono::milliseconds timeout;  // of all of it
};

// Succeeds when the server's status is OK; what it answers in addition is dropped. An
// error names the socket. A server that sends without end, or never, costs `timeout` and a fixed
// amount of memory.
Result<void> call(const UnaryCall& request);

}  // namespace gpuready::kubernetes
