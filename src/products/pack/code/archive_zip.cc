// Zip from front to back, by the headers before the members; the directory at the end must name the
// same ones. Source: PKWARE's APPNOTE.TXT 6.3.10.
#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "base/text.h"
#include "pack/code/archive.h"

namespace gpuready::pack {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50,
                        kEnd64 = 0x06064b50, kLocator64 = 0x07064b50, kDescriptor = 0x08074b50;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr std::size_t kMostHeader = 3 * 65535 + kCentralBytes;
constexpr std::size_t kMostMembers = 1u << 20;
constexpr std::uint16_t kEncrypted = 1, kSizesFollow = 8;
constexpr std::uint16_t kStored = 0, kDeflate = 8, kLzma = 14, kZstd = 93, kXz = 95;
constexpr std::size_t kStep = 256u << 10;

std::string method_name(std::uint16_t method) {
  static const std::map<std::uint16_t, std::string> kNames = {{1, "shrink"},    {6, "implode"},
                                                              {9, "Deflate64"}, {12, "bzip2"},
                                                              {98, "PPMd"},     {99, "encryption"}};
  const auto known = kNames.find(method);
  return known != kNames.end() ? known->second : fmt::format("method {}", method);
}

struct LocalHeader {
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0;
  bool zip64 = false;
  std::string name;
  std::size_t bytes = 0;  // of the header with its name
  bool sizes_follow() const { return (flags & kSizesFollow) != 0; }
};

std::optional<LocalHeader> read_local(Bytes bytes) {
  if (bytes.size() < kLocalBytes) return std::nullopt;
  LocalHeader header;
  header.flags = *load<std::uint16_t>(bytes, 6);
  header.method = *load<std::uint16_t>(bytes, 8);
  header.crc = *load<std::uint32_t>(bytes, 14);
  header.packed = *load<std::uint32_t>(bytes, 18);
  header.size = *load<std::uint32_t>(bytes, 22);
  const std::size_t name = *load<std::uint16_t>(bytes, 26), extra = *load<std::uint16_t>(bytes, 28);
  header.bytes = kLocalBytes + name + extra;
  if (bytes.size() < header.bytes) return std::nullopt;
  header.name = text_of(slice(bytes, kLocalBytes, name));
  const Bytes fields = slice(bytes, kLocalBytes + name, extra);
  for (std::size_t at = 0; at + 4 <= fields.size();) {
    const auto id = *load<std::uint16_t>(fields, at), size = *load<std::uint16_t>(fields, at + 2);
    if (id == 1) {
      header.zip64 = true;
      std::size_t value = at + 4;
      for (auto* field : {&header.size, &header.packed})
        if (*field == UINT32_MAX) {
          *field = load<std::uint64_t>(slice(fields, 0, at + 4 + size), value).value_or(UINT32_MAX);
          value += 8;
        }
    }
    at += 4 + std::size_t{size};
  }
  return header;
}

// What turns packed bytes into those of the file. Each step takes some and gives some.
class Unpacker {
 public:
  struct Step {
    std::size_t taken = 0, given = 0;
    bool end = false, damaged = false;
  };
  virtual ~Unpacker() = default;
  virtual Step step(Bytes packed, std::span<std::uint8_t> to) = 0;
};
class Copy final : public Unpacker {
 public:
  Step step(Bytes packed, std::span<std::uint8_t> to) override {
    const auto size = std::min(packed.size(), to.size());
    std::copy_n(packed.begin(), size, to.begin());
    return {size, size, false, false};
  }
};
class Inflate final : public Unpacker {
 public:
  Inflate() : ready_(inflateInit2(&stream_, -MAX_WBITS) == Z_OK) {}
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;
  ~Inflate() override {
    if (ready_) inflateEnd(&stream_);
  }
  Step step(Bytes packed, std::span<std::uint8_t> to) override {
    if (!ready_) return {.damaged = true};
    packed = slice(packed, 0, 1u << 30);
    to = to.first(std::min<std::size_t>(to.size(), 1u << 30));
    stream_.next_in = const_cast<std::uint8_t*>(packed.data());
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = to.data();
    stream_.avail_out = static_cast<uInt>(to.size());
    const int rc = inflate(&stream_, Z_NO_FLUSH);
    return {packed.size() - stream_.avail_in, to.size() - stream_.avail_out, rc == Z_STREAM_END,
            rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR};
  }

 private:
  z_stream stream_ = {};
  bool ready_;
};
class Unzstd final : public Unpacker {
 public:
  Step step(Bytes packed, std::span<std::uint8_t> to) override {
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    const auto rc = ZSTD_decompressStream(stream_.get(), &out, &in);
    return {in.pos, out.pos, rc == 0, ZSTD_isError(rc) != 0};
  }

 private:
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_{ZSTD_createDStream(),
                                                                        ZSTD_freeDStream};
};
// xz as it is; LZMA behind a header of zip's own: a version, the size of the properties, these.
class Unlzma final : public Unpacker {
 public:
  explicit Unlzma(bool with_header) : begun_(!with_header) {
    if (!with_header) ready_ = lzma_stream_decoder(&stream_, kMostMemory, 0) == LZMA_OK;
  }
  Unlzma(const Unlzma&) = delete;
  Unlzma& operator=(const Unlzma&) = delete;
  ~Unlzma() override { lzma_end(&stream_); }
  Step step(Bytes packed, std::span<std::uint8_t> to) override {
    std::size_t before = 0;
    if (!begun_) {
      if (packed.size() < kHeaderBytes) return {};  // of such a member nothing can be unpacked
      if (!begin(packed)) return {.damaged = true};
      before = kHeaderBytes;
      packed = packed.subspan(before);
    }
    if (!ready_) return {.damaged = true};
    stream_.next_in = packed.data();
    stream_.avail_in = packed.size();
    stream_.next_out = to.data();
    stream_.avail_out = to.size();
    const auto rc = lzma_code(&stream_, LZMA_RUN);
    return {before + packed.size() - stream_.avail_in, to.size() - stream_.avail_out,
            rc == LZMA_STREAM_END, rc != LZMA_OK && rc != LZMA_STREAM_END && rc != LZMA_BUF_ERROR};
  }

 private:
  static constexpr std::size_t kPropertyBytes = 5, kHeaderBytes = 4 + kPropertyBytes;
  static constexpr std::uint64_t kMostMemory = 256u << 20;  // of a window: level 9 has 64 MiB

  bool begin(Bytes packed) {
    begun_ = true;
    if (load<std::uint16_t>(packed, 2) != kPropertyBytes) return false;
    lzma_filter filters[] = {{LZMA_FILTER_LZMA1, nullptr}, {LZMA_VLI_UNKNOWN, nullptr}};
    if (lzma_properties_decode(filters, nullptr, packed.data() + 4, kPropertyBytes) != LZMA_OK)
      return false;
    const auto* options = static_cast<const lzma_options_lzma*>(filters[0].options);
    ready_ = options->dict_size <= kMostMemory && lzma_raw_decoder(&stream_, filters) == LZMA_OK;
    std::free(filters[0].options);
    return ready_;
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool begun_, ready_ = false;
};
std::unique_ptr<Unpacker> unpacker_of(std::uint16_t method) {
  if (method == kStored) return std::make_unique<Copy>();
  if (method == kDeflate) return std::make_unique<Inflate>();
  if (method == kZstd) return std::make_unique<Unzstd>();
  if (method == kLzma || method == kXz) return std::make_unique<Unlzma>(method == kLzma);
  return nullptr;
}

class MemberBytes {
 public:
  MemberBytes(Source& source, const LocalHeader& header)
      : source_(source), header_(header), unpacker_(unpacker_of(header.method)) {
    if (!header.sizes_follow()) left_ = header.packed;
  }
  bool readable() const { return unpacker_ != nullptr; }

  Result<std::size_t> read(std::span<std::uint8_t> to) {
    if (done_ || to.empty()) return 0;
    while (true) {
      const Bytes window = source_.peek(kStep);
      const Bytes packed = left_ ? slice(window, 0, *left_) : window;
      const auto step = unpacker_->step(packed, to);
      source_.skip(step.taken);
      if (left_) *left_ -= step.taken;
      taken_ += step.taken;
      given_ += step.given;
      crc_ = crc32_z(crc_, to.data(), step.given);
      if (step.damaged) return wrong("its packed bytes are damaged");
      if (!header_.sizes_follow() && given_ > header_.size)
        return wrong("it holds more bytes than the archive says");
      // LZMA may end without saying so.
      const bool ended = step.end || (header_.method == kStored && left_ == 0) ||
                         (header_.method == kLzma && left_ == 0 && given_ == header_.size);
      if (ended) return finish(step.given);
      if (step.given > 0) return step.given;
      if (step.taken == 0)
        return wrong(source_.error()         ? source_.error()->message
                     : left_.value_or(1) > 0 ? "the archive is cut short"
                                             : "its packed bytes end too early");
    }
  }
  // To the member that follows. False: no one knows where that is.
  bool leave() {
    if (!left_) return done_ && !failed_;
    source_.skip(*left_);
    return true;
  }

 private:
  Result<std::size_t> wrong(std::string_view what) {
    done_ = failed_ = true;
    return fail(ErrorKind::bad_input, std::string(what));
  }
  Result<std::size_t> finish(std::size_t given) {
    done_ = true;
    std::uint32_t crc = header_.crc;
    std::uint64_t size = header_.size;
    if (header_.sizes_follow()) {
      const Bytes bytes = source_.peek(24);
      const std::size_t sum_at = load<std::uint32_t>(bytes, 0) == kDescriptor ? 4 : 0;
      const auto sum = load<std::uint32_t>(bytes, sum_at);
      const bool small = load<std::uint32_t>(bytes, sum_at + 4) == taken_ &&
                         load<std::uint32_t>(bytes, sum_at + 8) == given_ && !header_.zip64;
      const auto large = load<std::uint64_t>(bytes, sum_at + 12);
      if (!sum || (!small && !large)) return wrong("the archive is cut short");
      crc = *sum;
      size = small ? given_ : *large;
      source_.skip(sum_at + 4 + (small ? 8 : 16));
    }
    if (size != given_) return wrong("its size is not the one that the archive says");
    if (crc != crc_) return wrong("its checksum is not the one that the archive says");
    return given;
  }

  Source& source_;
  const LocalHeader& header_;
  std::unique_ptr<Unpacker> unpacker_;
  std::optional<std::uint64_t> left_ = {};  // packed bytes, where they are known
  std::uint64_t taken_ = 0, given_ = 0;
  uLong crc_ = 0;
  bool done_ = false, failed_ = false;
};

class ZipReader {
 public:
  ZipReader(Source& source, const ArchiveReading& reading) : source_(source), reading_(reading) {}

  Result<void> read() {
    while (true) {
      const auto magic = load<std::uint32_t>(source_.peek(4), 0);
      if (source_.error()) return std::unexpected(*source_.error());
      if (!magic) return cut();
      if (*magic == kLocal) {
        TRY(read_member());
      } else if (*magic == kCentral) {
        TRY(read_listed());
      } else if (*magic == kEnd64 || *magic == kLocator64) {
        source_.skip(*magic == kEnd64 ? kEnd64Bytes : kLocator64Bytes);
      } else if (*magic == kEnd) {
        check_directory();
        return {};
      } else {
        reading_.on_fault("",
                          fmt::format("bytes from {} on belong to no member", source_.position()));
        if (!find_next()) return cut();
      }
    }
  }

 private:
  static Result<void> cut() {
    return fail(ErrorKind::truncated, "the archive is cut short: its directory is missing");
  }

  Result<void> read_member() {
    const auto header = read_local(source_.peek(kMostHeader));
    if (!header) return cut();
    source_.skip(header->bytes);
    if (names_.size() == kMostMembers)
      return fail(ErrorKind::too_large, fmt::format("it has more than {} members", kMostMembers));
    names_.insert(header->name);
    MemberBytes bytes(source_, *header);
    Member member{.name = header->name};
    if (header->name.ends_with('/')) member.kind = Member::Kind::folder;
    if (!header->sizes_follow()) member.size = header->size;
    const auto refuse = [&](std::string_view why) {
      reading_.on_fault(header->name, std::string(why));
      if (!bytes.leave()) (void)find_next();
    };
    if ((header->flags & kEncrypted) != 0) {
      refuse("it is encrypted");
    } else if (!bytes.readable()) {
      refuse(fmt::format("it is packed by {}, which is not read", method_name(header->method)));
    } else if (header->method == kStored && header->sizes_follow()) {
      refuse("the archive does not declare its size before its bytes: pack it again");
    } else {
      TRY(reading_.on_member(member, [&](std::span<std::uint8_t> to) { return bytes.read(to); }));
      if (member.kind == Member::Kind::folder)  // of which no one read
        while (true) {
          std::uint8_t byte = 0;
          const auto got = bytes.read({&byte, 1});
          if (!got || *got == 0) break;
        }
      if (!bytes.leave()) (void)find_next();
    }
    return {};
  }

  Result<void> read_listed() {
    const Bytes bytes = source_.peek(kMostHeader);
    const auto name = load<std::uint16_t>(bytes, 28), extra = load<std::uint16_t>(bytes, 30),
               comment = load<std::uint16_t>(bytes, 32);
    if (!comment || bytes.size() < kCentralBytes + *name) return cut();
    const std::string listed(text_of(slice(bytes, kCentralBytes, *name)));
    if (!names_.contains(listed))
      reading_.on_fault(listed, "the archive's directory names it, but it is missing");
    listed_.insert(listed);
    if (listed_.size() > kMostMembers)
      return fail(ErrorKind::too_large, "its directory is too long");
    source_.skip(kCentralBytes + *name + *extra + *comment);
    return {};
  }

  void check_directory() {
    for (const std::string& name : names_)
      if (!listed_.contains(name))
        reading_.on_fault(name, "the archive's directory does not name it: programs do not see it");
  }

  // The next header, where bytes before it could not be understood.
  bool find_next() {
    while (true) {
      const auto text = text_of(source_.peek(kStep));
      if (text.size() < 4) return false;
      std::size_t at = std::min(text.find("PK\3\4"), text.find("PK\1\2"));
      at = std::min(at, text.find("PK\5\6"));
      if (at != text.npos) {
        source_.skip(at);
        return true;
      }
      source_.skip(text.size() - 3);
    }
  }

  Source& source_;
  const ArchiveReading& reading_;
  std::set<std::string> names_, listed_;
};

}  // namespace

Result<void> read_zip(Source& source, const ArchiveReading& reading) {
  return ZipReader(source, reading).read();
}

}  // namespace gpuready::pack
