// Results and errors of the C++ interface. Every operation that can fail for a reason outside the
// program returns Result<T>; exceptions are for programmer errors only.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace gpuready::inline v0 {

enum class ErrorKind {
  not_found,      // the named thing does not exist
  no_permission,  // it exists, but this user or container may not read or use it
  not_recorded,   // a replay was asked for something that its recording does not hold
  bad_input,      // an argument, option, variable or file is malformed or out of range
  too_large,      // a size overflows or exceeds a limit, or there is not enough host memory
  timed_out,      // a deadline passed
  hung,           // a deadline passed and /proc showed the child in uninterruptible sleep
  crashed,        // a child died by a signal
  unsupported,    // this platform, driver or device cannot do it
  busy,           // somebody else is using it
  cancelled,      // the caller asked to stop
  io,             // any other failure of the operating system; output could not be written

  // Of devices.
  no_device,      // the device that was asked for is not there or cannot be opened
  device,         // a GPU driver's call failed, and may be tried again; `code` is its number
  device_memory,  // the device does not have enough free memory
  device_lost,    // the device's context is gone; nothing can be done there any more

  // Of data.
  wrong_size,         // a buffer or shape does not fit the format or the other operand
  truncated,          // encoded bytes or a file end too early
  not_finite,         // a NaN or an infinity in the input
  bad_code,           // encoded bytes hold a code that the format does not define
  not_representable,  // the target format cannot hold these values without loss
  not_ternary,        // the format has four levels and no zero
  unknown_format,     // no format has this name
  ambiguous_format,   // several formats share this name; one of them must be named
  unsupported_tier,   // this CPU, build or kernel does not give the tier that was demanded
};

std::string_view to_string(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::io;
  std::string message;  // one sentence: what, where, and the cure where there is one
  int code = 0;         // errno or the vendor's error number; 0 when there is none
};

// A value, or an Error in its place. It is std::expected<T, Error> for programs in
// C++20, has its names, and takes a std::unexpected<Error>.
template <class T>
class Result;

namespace result_detail {
template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<Result<T>> = true;
// What holds an Error and can hold nothing else, as std::unexpected<Error>.
template <class T>
concept HoldsError = !is_result<std::remove_cvref_t<T>> && requires(T&& t) {
  { std::forward<T>(t).error() } -> std::convertible_to<Error>;
} && !requires(T&& t) { t.has_value(); };
}  // namespace result_detail

template <class T>
class Result {
 public:
  using value_type = T;
  using error_type = Error;

  Result()
    requires std::default_initializable<T>
  = default;
  template <class U = T>
    requires(!result_detail::is_result<std::remove_cvref_t<U>> && !result_detail::HoldsError<U> &&
             !std::same_as<std::remove_cvref_t<U>, Error> && std::constructible_from<T, U>)
  explicit(!std::convertible_to<U, T>) Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  template <result_detail::HoldsError E>
  Result(E&& error) : state_(std::in_place_index<1>, std::forward<E>(error).error()) {}
  template <class U>
    requires(!std::same_as<U, T> && std::convertible_to<U, T>)
  Result(Result<U> other)
      : Result(other ? Result(T(*std::move(other))) : Result(std::move(other).error())) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // Only where there is a value.
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  // The value; where there is none a std::logic_error, for not to look first is the program's
  // error.
  T& value() & { return checked(), **this; }
  const T& value() const& { return checked(), **this; }
  T&& value() && { return checked(), *std::move(*this); }
  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? *std::move(*this) : static_cast<T>(std::forward<U>(other));
  }

  // Only where there is none.
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

  template <class U>
    requires(!result_detail::is_result<U>)
  friend bool operator==(const Result& result, const U& value) {
    return result.has_value() && *result == value;
  }

 private:
  void checked() const {
    if (!has_value()) throw std::logic_error(error().message);
  }
  std::variant<T, Error> state_;
};

template <>
class Result<void> {
 public:
  using value_type = void;
  using error_type = Error;

  Result() = default;
  Result(Error error) : state_(std::move(error)) {}
  template <result_detail::HoldsError E>
  Result(E&& error) : state_(std::forward<E>(error).error()) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  void operator*() const {}
  void value() const {
    if (!has_value()) throw std::logic_error(error().message);
  }
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<std::monostate, Error> state_;
};

}  // namespace gpuready::inline v0
