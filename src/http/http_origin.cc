#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "http/curl_library.h"
#include "http/http_answer.h"
#include "http/origin.h"
#include "http/url_stream.h"

namespace gpuready {
namespace {

constexpr long kMostRedirects = 8;
constexpr long kSlowBytesPerSecond = 1024;
// An attempt that brought this much counts as none: the connection works, if badly.
constexpr std::uint64_t kProgressBytes = 256u << 10;

bool may_pass(int status) {
  constexpr int kPassing[] = {408, 425, 429, 500, 502, 503, 504};
  return std::ranges::find(kPassing, status) != std::end(kPassing);
}

// The version of each file that the first answer was of: all others must be of the same.
class Versions {
 public:
  bool agree(const std::string& name, const std::string& etag) {
    const std::lock_guard lock(mutex_);
    auto& known = etags_[name];
    if (known.empty()) known = etag;
    return etag.empty() || known == etag;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> etags_;
};

// One request: what it wants, and how far it got.
struct Transfer {
  std::string name, shown;                 // of the file; the URL, for people
  std::uint64_t first = 0;                 // byte that is wanted first
  std::optional<std::uint64_t> length;     // bytes wanted; absent: the whole file
  std::optional<std::uint64_t> file_size;  // where it is known beforehand
  bool asked_range = false;
  bool may_skip = false;  // read over what is before `first` where the server ignores ranges
  const ByteSink* sink = nullptr;
  const std::atomic<bool>* cancel = nullptr;
  std::optional<Clock::time_point> deadline = {};
  Versions* versions = nullptr;

  HttpAnswer answer = {};
  bool checked = false, ignores_ranges = false, complete = false;
  std::uint64_t skip = 0, delivered = 0;
  std::optional<Error> error = {};  // final

  bool refuse(ErrorKind kind, std::string_view what) {
    error = Error{kind, fmt::format("{}: {}", shown, what)};
    return false;
  }

  // Looks at the headers, and at the first bytes of the body, before any of them is taken.
  bool check(std::string_view body) {
    checked = true;
    const int status = answer.status;
    if (may_pass(status)) return false;
    if (status == 404 || status == 410)
      return refuse(ErrorKind::not_found,
                    fmt::format("the server answers {}: there is no such file", status));
    if (status == 401 || status == 403 || status == 407)
      return refuse(ErrorKind::no_permission,
                    fmt::format("the server answers {}: access is refused", status));
    if (status != 200 && status != 206)
      return refuse(ErrorKind::io, fmt::format("the server answers {}", status));
    // None of a release's files begins so.
    if (status == 200 && is_web_page(body))
      return refuse(ErrorKind::not_found,
                    "the server sends a web page in place of the file: is there a login page or a "
                    "proxy in between?");
    if (!answer.encoding.empty() && answer.encoding != "identity")
      return refuse(ErrorKind::io,
                    fmt::format("the server sends it encoded ({}), though that was not asked for",
                                printable(answer.encoding)));
    if (!versions->agree(name, answer.etag))
      return refuse(ErrorKind::io,
                    "the file was changed on the server while it was fetched: try again");
    return status == 206 ? check_partial() : check_whole();
  }

  bool check_partial() {
    if (!asked_range)
      return refuse(ErrorKind::io, "the server sends a part, and the whole was asked for");
    if (!answer.range)
      return refuse(ErrorKind::io, "the server sends a part and does not say which");
    const auto& range = *answer.range;
    if (range.first != first || range.last - range.first + 1 != *length)
      return refuse(ErrorKind::io,
                    fmt::format("the server sends bytes {}-{}, and {}-{} were asked for",
                                range.first, range.last, first, first + *length - 1));
    if (file_size && range.total && *range.total != *file_size) return refuse_size(*range.total);
    return true;
  }

  bool check_whole() {
    if (file_size && answer.length && *answer.length != *file_size)
      return refuse_size(*answer.length);
    ignores_ranges = asked_range;
    if (ignores_ranges && first > 0 && !may_skip)
      return refuse(ErrorKind::unsupported, "the server ignores ranges");
    skip = first;
    return true;
  }

  bool refuse_size(std::uint64_t size) {
    return refuse(
        ErrorKind::io,
        fmt::format("the file has {} bytes on the server, and {} are expected", size, *file_size));
  }

  // False ends the transfer.
  bool take(std::string_view bytes) {
    if (!checked && !check(bytes)) return false;
    if (complete) return false;  // more than was asked for
    const auto skipped = std::min<std::uint64_t>(skip, bytes.size());
    skip -= skipped;
    bytes.remove_prefix(skipped);
    const auto came = bytes.size();
    if (length) bytes = bytes.substr(0, *length - delivered);
    if (!bytes.empty()) {
      if (const auto taken = (*sink)(bytes); !taken) {
        error = taken.error();
        return false;
      }
      delivered += bytes.size();
    }
    complete = length && delivered == *length;
    // An answer that ends here leaves its connection to the next request.
    return !complete || (answer.status == 206 && bytes.size() == came);
  }
};

std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* user) {
  static_cast<Transfer*>(user)->answer.add({bytes, size * count});
  return size * count;
}
std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* user) {
  return static_cast<Transfer*>(user)->take({bytes, size * count}) ? size * count : 0;
}
int on_progress(void* user, long long, long long, long long, long long) {
  auto* transfer = static_cast<Transfer*>(user);
  if (transfer->deadline && Clock::now() >= *transfer->deadline) {
    transfer->refuse(ErrorKind::timed_out, "the server is too slow");
    return 1;
  }
  return transfer->cancel != nullptr && *transfer->cancel ? 1 : 0;
}

class HttpOrigin final : public Origin {
 public:
  HttpOrigin(const CurlLibrary& library, std::string url, OriginOptions options)
      : curl_(library), url_(std::move(url)), options_(options) {
    if (!url_.ends_with('/')) url_ += '/';
    headers_ = curl_.slist_append(nullptr, "Accept-Encoding: identity");
    for (const auto& header : options_.headers)
      headers_ = curl_.slist_append(headers_, header.c_str());
  }
  ~HttpOrigin() override {
    for (auto* handle : idle_) curl_.easy_cleanup(handle);
    curl_.slist_free_all(headers_);
  }

  std::string where() const override { return url_without_password(url_); }
  bool has_ranges() const override { return !ignores_ranges_; }
  unsigned parallel() const override { return 8; }

  Result<std::string> file(const std::string& name, std::size_t limit_bytes) override {
    std::string text;
    const ByteSink sink = [&](std::string_view bytes) -> Result<void> {
      if (text.size() + bytes.size() > limit_bytes)
        return fail(ErrorKind::too_large,
                    fmt::format("{}{}: larger than {} bytes", where(), name, limit_bytes));
      text += bytes;
      return {};
    };
    Transfer transfer;
    transfer.may_skip = true;
    transfer.deadline = deadline_in(options_.small_file);
    TRY(attempts(name, transfer, sink));
    return text;
  }

  Result<void> whole(const std::string& name, const ByteSink& sink) override {
    Transfer transfer;
    transfer.may_skip = true;
    return attempts(name, transfer, sink);
  }

  Result<void> range(const std::string& name, std::uint64_t size_bytes, ByteRange range,
                     const ByteSink& sink) override {
    if (range.length == 0) return {};
    Transfer transfer;
    transfer.first = range.offset;
    transfer.length = range.length;
    transfer.file_size = size_bytes;
    transfer.asked_range = range.offset > 0 || range.length < size_bytes;
    // What reads the whole from its beginning has made up its mind to do without ranges.
    transfer.may_skip = range.offset == 0;
    return attempts(name, transfer, sink);
  }

 private:
  // `wanted` says what; each attempt goes on where the last ended.
  Result<void> attempts(const std::string& name, Transfer wanted, const ByteSink& sink) {
    std::uint64_t delivered = 0;
    unsigned failed = 0;
    auto pause = options_.pause;
    for (;;) {
      Transfer transfer = wanted;
      transfer.name = name;
      transfer.shown = where() + name;
      transfer.versions = &versions_;
      transfer.sink = &sink;
      transfer.cancel = options_.cancel;
      if (transfer.length) {
        transfer.first += delivered;
        *transfer.length -= delivered;
        transfer.asked_range |= delivered > 0;
      } else {
        transfer.first = delivered;  // of no known length: read again up to there
      }
      const std::string why = perform(name, transfer);
      delivered += transfer.delivered;
      // Of a whole file, its first answer says how much is to come.
      if (!wanted.length && wanted.may_skip && transfer.answer.status == 200)
        wanted.length = wanted.file_size = transfer.answer.length;
      if (transfer.ignores_ranges) ignores_ranges_ = true;
      if (transfer.error) return std::unexpected(*transfer.error);
      if (transfer.complete) return {};
      if (options_.cancel != nullptr && *options_.cancel)
        return fail(ErrorKind::cancelled, transfer.shown + ": interrupted");
      failed = transfer.delivered >= kProgressBytes ? 1 : failed + 1;
      if (failed >= options_.attempts)
        return fail(ErrorKind::io, fmt::format("{}: {} (after byte {}, {} attempts)",
                                               transfer.shown, why, delivered, failed));
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, std::chrono::milliseconds(30'000));
    }
  }

  // Why it is not complete.
  std::string perform(const std::string& name, Transfer& transfer) {
    const std::string url = url_ + name;
    const bool secure = url.starts_with("https:");
    curl::Handle handle = take_handle();
    if (handle == nullptr) {
      transfer.refuse(ErrorKind::io, "libcurl does not start");
      return {};
    }
    std::array<char, 512> text{};  // libcurl's own words, at least 256
    const auto set = [&](curl::Option option, auto value) {
      curl_.easy_setopt(handle, option, value);
    };
    set(curl::kUrl, url.c_str());
    set(curl::kErrorBuffer, text.data());
    set(curl::kWriteFunction, static_cast<curl::Write>(on_body));
    set(curl::kWriteData, static_cast<void*>(&transfer));
    set(curl::kHeaderFunction, static_cast<curl::Write>(on_header));
    set(curl::kHeaderData, static_cast<void*>(&transfer));
    set(curl::kXferInfoFunction, static_cast<curl::Progress>(on_progress));
    set(curl::kXferInfoData, static_cast<void*>(&transfer));
    set(curl::kNoProgress, 0L);
    set(curl::kNoSignal, 1L);
    set(curl::kHttpHeader, headers_);
    if (const char* certificates = curl::named_certificates()) set(curl::kCaInfo, certificates);
    set(curl::kUserAgent, "gpuready");
    set(curl::kFollowLocation, 1L);
    set(curl::kMaxRedirects, kMostRedirects);
    set(curl::kProtocols, curl::kHttp | curl::kHttps);
    set(curl::kRedirectProtocols, secure ? curl::kHttps : curl::kHttp | curl::kHttps);
    set(curl::kConnectTimeoutMs, static_cast<long>(options_.connect.count()));
    set(curl::kLowSpeedLimit, kSlowBytesPerSecond);
    set(curl::kLowSpeedTime, std::max(1L, static_cast<long>(options_.stall.count() / 1000)));
    std::string range;
    if (transfer.asked_range) {
      range = fmt::format("{}-{}", transfer.first, transfer.first + *transfer.length - 1);
      set(curl::kRange, range.c_str());
    }
    const int code = curl_.easy_perform(handle);
    give_back(handle);
    // An answer without a body was not looked at yet.
    if (code == curl::kOk && !transfer.checked && transfer.check({}) && !transfer.length)
      transfer.complete = true;
    if (code == curl::kOk && !transfer.length && !transfer.error &&
        !may_pass(transfer.answer.status))
      transfer.complete = true;
    if (transfer.complete || transfer.error) return {};
    if (may_pass(transfer.answer.status))
      return fmt::format("the server answers {}", transfer.answer.status);
    if (code == curl::kOk) return "the server ended before all was sent";
    std::string why = text[0] != 0 ? text.data() : curl_.easy_strerror(code);
    if (curl::is_final(code)) transfer.refuse(ErrorKind::io, why);
    return why;
  }

  curl::Handle take_handle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return curl_.easy_init();
    auto* handle = idle_.back();
    idle_.pop_back();
    return handle;
  }
  // Its connection is kept for the next request.
  void give_back(curl::Handle handle) {
    curl_.easy_reset(handle);
    const std::lock_guard lock(mutex_);
    idle_.push_back(handle);
  }

  const CurlLibrary& curl_;
  std::string url_;
  OriginOptions options_;
  curl::StringList* headers_ = nullptr;
  std::mutex mutex_;
  std::vector<curl::Handle> idle_;
  Versions versions_;
  std::atomic<bool> ignores_ranges_ = false;
};

}  // namespace

Result<std::unique_ptr<Origin>> open_http_origin(std::string url, const OriginOptions& options) {
  const auto* library = TRY(curl_library());
  if (url.find_first_of("?#") != url.npos)
    return fail(ErrorKind::bad_input, fmt::format("{}: the address of a folder has no '?' or '#'",
                                                  url_without_password(url)));
  return std::make_unique<HttpOrigin>(*library, std::move(url), options);
}

}  // namespace gpuready
