#include "http/curl_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace gpuready {
namespace {

// The flavours by TLS library that distributions have.
constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
constexpr long kGlobalAll = 3;

Result<CurlLibrary> load() {
  void* library = nullptr;
  for (const char* name : kNames)
    if ((library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
  if (library == nullptr)
    return fail(
        ErrorKind::unsupported,
        "libcurl.so.4 is not installed, so nothing can be fetched from a URL: install it (on "
        "Debian and Ubuntu: libcurl4), or copy the release into a folder and install from that");
  CurlLibrary curl;
  int (*global_init)(long) = nullptr;
  const std::pair<const char*, void**> symbols[] = {
      {"curl_global_init", reinterpret_cast<void**>(&global_init)},
      {"curl_easy_init", reinterpret_cast<void**>(&curl.easy_init)},
      {"curl_easy_setopt", reinterpret_cast<void**>(&curl.easy_setopt)},
      {"curl_easy_perform", reinterpret_cast<void**>(&curl.easy_perform)},
      {"curl_easy_reset", reinterpret_cast<void**>(&curl.easy_reset)},
      {"curl_easy_cleanup", reinterpret_cast<void**>(&curl.easy_cleanup)},
      {"curl_easy_strerror", reinterpret_cast<void**>(&curl.easy_strerror)},
      {"curl_slist_append", reinterpret_cast<void**>(&curl.slist_append)},
      {"curl_slist_free_all", reinterpret_cast<void**>(&curl.slist_free_all)},
  };
  for (const auto& [name, to] : symbols)
    if ((*to = dlsym(library, name)) == nullptr)
      return fail(ErrorKind::unsupported, std::string("libcurl has no ") + name);
  if (global_init(kGlobalAll) != curl::kOk)
    return fail(ErrorKind::unsupported, "libcurl does not start");
  return curl;
}

}  // namespace

bool curl::is_final(int code) {
  constexpr int kFinal[] = {1, 3, 4, 27, kTooManyRedirects, 53, 54, 58, 59, 60, 66, 77, 83, 90, 91};
  return std::ranges::find(kFinal, code) != std::end(kFinal);
}

const char* curl::named_certificates() {
  for (const char* path : {getenv("CURL_CA_BUNDLE"), getenv("SSL_CERT_FILE")})
    if (path != nullptr && *path != 0) return path;
  return nullptr;
}

Result<const CurlLibrary*> curl_library() {
  static const Result<CurlLibrary> loaded = load();
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

}  // namespace gpuready
