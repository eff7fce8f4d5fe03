// libcurl, found by dlopen(): `pack` and `vm drivers fetch` need it for URLs. Declared
// here by ourselves: the ABI of libcurl.so.4 is stable since 2006. The numbers are those of
// curl/curl.h.
#pragma once

#include "base/result.h"

namespace gpuready {

namespace curl {
using Handle = void*;
struct StringList;
using Write = std::size_t (*)(char* bytes, std::size_t size, std::size_t count, void* user);
using Progress = int (*)(void* user, long long, long long, long long, long long);

inline constexpr int kLong = 0, kPointer = 10'000, kFunction = 20'000;
enum Option : int {
  kWriteData = kPointer + 1,
  kUrl = kPointer + 2,
  kRange = kPointer + 7,
  kErrorBuffer = kPointer + 10,
  kWriteFunction = kFunction + 11,
  kLowSpeedLimit = kLong + 19,
  kLowSpeedTime = kLong + 20,
  kUserAgent = kPointer + 18,
  kHttpHeader = kPointer + 23,
  kHeaderData = kPointer + 29,
  kNoProgress = kLong + 43,
  kFollowLocation = kLong + 52,
  kXferInfoData = kPointer + 57,
  kCaInfo = kPointer + 65,
  kMaxRedirects = kLong + 68,
  kHeaderFunction = kFunction + 79,
  kNoSignal = kLong + 99,
  kConnectTimeoutMs = kLong + 156,
  kProtocols = kLong + 181,
  kRedirectProtocols = kLong + 182,
  kXferInfoFunction = kFunction + 219,
};
inline constexpr long kHttp = 1, kHttps = 2;
inline constexpr int kOk = 0, kWriteError = 23, kTimedOut = 28, kAborted = 42,
                     kTooManyRedirects = 47;
// Of these another attempt changes nothing: malformed URL, unsupported protocol, TLS that cannot be
// set up or trusted.
bool is_final(int code);
// A file of certificates to trust instead of the system's: that of a mirror's own authority, by the
// variables that curl itself reads. Null: none is named.
const char* named_certificates();
}  // namespace curl

struct CurlLibrary {
  curl::Handle (*easy_init)() = nullptr;
  int (*easy_setopt)(curl::Handle, int option, ...) = nullptr;
  int (*easy_perform)(curl::Handle) = nullptr;
  void (*easy_reset)(curl::Handle) = nullptr;
  void (*easy_cleanup)(curl::Handle) = nullptr;
  const char* (*easy_strerror)(int code) = nullptr;
  curl::StringList* (*slist_append)(curl::StringList*, const char*) = nullptr;
  void (*slist_free_all)(curl::StringList*) = nullptr;
};
// Loaded once a process, never closed. `unsupported` where it is not installed.
Result<const CurlLibrary*> curl_library();

}  // namespace gpuready
