// What the C interfaces share: statuses, the thread's last error, and structs that begin with
// `size`. Nothing is thrown across them.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "base/result.h"
#include "gpuready/status.h"

namespace gpuready {

gpuready_status status_of(ErrorKind kind);

// Sets the thread's last error and returns its status.
gpuready_status c_failed(gpuready_status status, std::string text);
void c_succeeded();
gpuready_status c_out_of_memory();
gpuready_status c_threw();

// Runs `body`, which returns a status or a Result<void>. What it throws becomes a status.
template <class Body>
gpuready_status c_call(Body&& body) noexcept {
  try {
    c_succeeded();
    if constexpr (std::is_same_v<decltype(body()), gpuready_status>) {
      return body();
    } else {
      const Result<void> done = body();
      return done ? GPUREADY_OK : c_failed(status_of(done.error().kind), done.error().message);
    }
  } catch (const std::bad_alloc&) {
    return c_out_of_memory();
  } catch (const std::length_error&) {
    return c_out_of_memory();
  } catch (...) {
    return c_threw();
  }
}

inline std::unexpected<Error> null_pointer(const char* what) {
  return fail(ErrorKind::bad_input, std::string(what) + " is a null pointer");
}

// Checks `size`, which a struct begins with, against the size of the struct as this library knows
// it. A smaller size is refused: where it ends within a field, half a field would be read.
Result<void> check_struct_size(const char* name, const void* at, std::size_t known);
// True when bytes [known, size) of a larger struct are all zero.
bool tail_is_zero(const void* at, std::size_t known);

// The caller's struct. One of a newer interface is accepted only where all that this library does
// not know is zero, which is the default.
template <class Struct>
Result<Struct> take_struct(const char* name, const Struct* from) {
  TRY(check_struct_size(name, from, sizeof(Struct)));
  if (!tail_is_zero(from, sizeof(Struct)))
    return fail(ErrorKind::unsupported,
                std::string(name) + " sets fields that this version of the library does not know");
  return *from;
}

// Fills the caller's struct; what a newer one has beyond is set to zero. `size` stays.
template <class Struct>
Result<void> give_struct(const char* name, Struct value, Struct* to) {
  TRY(check_struct_size(name, to, sizeof(Struct)));
  const std::size_t size = to->size;
  std::memcpy(static_cast<void*>(to), &value, sizeof value);
  std::memset(reinterpret_cast<char*>(to) + sizeof value, 0, size - sizeof value);
  to->size = size;
  return {};
}

}  // namespace gpuready
