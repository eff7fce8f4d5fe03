#include "vm/initrd/initrd.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <zstd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/units.h"
#include "host/atomic_file.h"
#include "host/mapped_file.h"
#include "vm/drivers/open_bundle.h"
#include "vm/drivers/select.h"
#include "vm/initrd/newc.h"

namespace gpuready::vm {
namespace {

constexpr std::string_view kDigestName = ".gpuready-initrd";
constexpr std::string_view kFormat = "gpuready initrd 1";  // another one: other bytes of the same
// Initrds behind each other begin on multiples of four; tools like whole blocks.
constexpr std::size_t kBlockBytes = 512;
constexpr int kZstdLevel = 3;

std::string_view view(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What one write(2) takes. Writes of 8 MiB took up to ten times as long on Linux 6.18
// (docs/performance-history.md).
constexpr std::size_t kPieceBytes = 256 * KiB;

struct Content {
  std::uint32_t mode = 0;
  std::string from = {};   // a file; or
  std::string bytes = {};  // the text itself
  std::uint64_t size_bytes = 0;
  std::uint32_t device_major = 0, device_minor = 0;
};
using Contents = std::map<std::string, Content>;  // by name: sorted, and folders before files

void add_folders(Contents& contents, const std::string& name) {
  for (auto at = name.find('/'); at != name.npos; at = name.find('/', at + 1))
    contents.try_emplace(name.substr(0, at), Content{.mode = kNewcFolder | 0755});
}

class Sink {
 public:
  virtual ~Sink() = default;
  virtual Result<void> write(std::string_view bytes) = 0;
  virtual Result<void> finish() = 0;
};

// Small pieces are written together: headers and padding are two thirds of all.
class PlainSink final : public Sink {
 public:
  explicit PlainSink(AtomicFile& file) : file_(file) {}
  Result<void> write(std::string_view bytes) override {
    written += bytes.size();
    if (small_.size() + bytes.size() > kPieceBytes) TRY(finish());
    if (bytes.size() >= kPieceBytes) return file_.write(bytes);
    small_ += bytes;
    return {};
  }
  Result<void> finish() override {
    if (small_.empty()) return {};
    TRY(file_.write(small_));
    small_.clear();
    return {};
  }
  std::uint64_t written = 0;

 private:
  AtomicFile& file_;
  std::string small_;
};

class ZstdSink final : public Sink {
 public:
  explicit ZstdSink(Sink& out) : out_(out), context_(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kZstdLevel);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
    // Any number of threads from one on gives the same bytes; where there are none, it is an error
    // that changes nothing.
    ZSTD_CCtx_setParameter(context_, ZSTD_c_nbWorkers, 4);
  }
  ~ZstdSink() override { ZSTD_freeCCtx(context_); }
  ZstdSink(const ZstdSink&) = delete;

  Result<void> write(std::string_view bytes) override { return pack(bytes, ZSTD_e_continue); }
  Result<void> finish() override { return pack({}, ZSTD_e_end); }

 private:
  Result<void> pack(std::string_view bytes, ZSTD_EndDirective end) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (true) {
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      const auto left = ZSTD_compressStream2(context_, &out, &in, end);
      if (ZSTD_isError(left) != 0)
        return fail(ErrorKind::io, std::string("cannot compress: ") + ZSTD_getErrorName(left));
      TRY(out_.write({buffer_.data(), out.pos}));
      if (end == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
    }
  }

  Sink& out_;
  ZSTD_CCtx* context_;
  std::vector<char> buffer_ = std::vector<char>(MiB);
};

Result<void> pad(Sink& sink, std::size_t bytes) {
  return bytes == 0 ? Result<void>() : sink.write(std::string(bytes, '\0'));
}

// Pieces whose pages are mapped all at once: a fault for each page takes longer than the copy. What
// is hashed is a copy, so that it is what is written.
Result<void> write_mapped(Sink& sink, std::span<const std::uint8_t> bytes, Sha256Stream* hash) {
  std::string copy;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    (void)::madvise(const_cast<std::uint8_t*>(piece.data()), piece.size(), MADV_POPULATE_READ);
    if (hash != nullptr) hash->add(copy = view(piece));
    TRY(sink.write(hash != nullptr ? copy : view(piece)));
    bytes = bytes.subspan(piece.size());
  }
  return {};
}

class Builder {
 public:
  Builder(const InitrdOptions& options, Host& host) : options_(options), host_(host) {}

  Result<InitrdReport> run(const std::string& path, Storage& storage) {
    const auto bundle = TRY(open_bundle(host_, options_.bundle));
    TRY(choose_kernel(bundle));
    if (const auto wrong = inconsistencies(bundle); !wrong.empty())
      return fail(ErrorKind::bad_input, options_.bundle + ": " + wrong[0]);
    TRY(add_bundle(bundle));
    TRY(add_programs());
    const auto digest = TRY(digest_of_all());
    report_.driver_version = bundle.driver_version;
    report_.unchanged = is_unchanged(path, digest, storage);
    if (report_.unchanged) return report_;
    TRY(write(path, digest, storage));
    return report_;
  }

 private:
  Result<void> choose_kernel(const DriverBundle& bundle) {
    auto& release = report_.kernel_release;
    const auto& all = bundle.kernel_releases;
    release = options_.kernel_release;
    if (release.empty() && all.size() > 1)
      return fail(
          ErrorKind::bad_input,
          fmt::format("the bundle has modules for {}; choose with --kernel", fmt::join(all, ", ")));
    if (release.empty() && !all.empty()) release = all[0];
    if (!release.empty() && std::find(all.begin(), all.end(), release) == all.end())
      return fail(ErrorKind::bad_input,
                  fmt::format("the bundle has no modules for {}{}", release,
                              all.empty() ? "" : "; it has them for " + join(all, ", ")));
    return {};
  }

  Result<void> add_bundle(const DriverBundle& bundle) {
    DriverBundle inside = bundle;
    inside.files.clear();
    inside.nodes.clear();
    inside.warnings.clear();
    inside.source.clear();
    inside.created_utc.clear();
    inside.kernel_releases.clear();
    if (!report_.kernel_release.empty()) inside.kernel_releases = {report_.kernel_release};
    for (const auto* file : select_files(bundle, options_.capabilities)) {
      if (file->module && file->module->kernel_release != report_.kernel_release) continue;
      auto copy = *file;
      copy.source.clear();
      const std::string name(base_name(file->path));
      std::string place = "usr/lib/nvidia/";
      switch (file->kind) {
        case DriverFileKind::library:
          copy.path = name;
          place += copy.path;
          break;
        case DriverFileKind::program:
        case DriverFileKind::data:
          place += copy.path;
          break;
        case DriverFileKind::module:
          place = fmt::format("lib/modules/{}/kernel/drivers/gpu/{}", report_.kernel_release, name);
          break;
        case DriverFileKind::firmware:
          place = "lib/" + copy.path;
          break;
      }
      if (leads_out_of_bundle(host_, options_.bundle, file->path))
        return fail(ErrorKind::bad_input,
                    fmt::format("{}/{} leads out of the bundle; collect the bundle again",
                                options_.bundle, file->path));
      const bool runs = file->kind == DriverFileKind::program;
      TRY(add_file(place, options_.bundle + "/" + file->path, runs ? 0755 : 0644, file));
      inside.files.push_back(std::move(copy));
    }
    add("usr/lib/nvidia/" + std::string(kBundleFile),
        Content{.mode = kNewcFile | 0644, .bytes = dump(to_json(inside))});
    return {};
  }

  Result<void> add_programs() {
    const auto init = options_.segment ? "usr/lib/nvidia/gpuready-guest" : "init";
    TRY(add_program(init, options_.guest));
    if (!options_.gpuready.empty())
      TRY(add_program("usr/lib/nvidia/bin/gpuready", options_.gpuready));
    for (const auto& [name, from] : options_.extra)
      if (from.empty())
        add(name, Content{.mode = kNewcFolder | 0755});
      else
        TRY(add_file(name, from, 0755, nullptr));
    if (options_.segment) return {};
    for (const char* folder : {"dev", "proc", "sys", "run", "newroot"})
      add(folder, Content{.mode = kNewcFolder | 0755});
    // The kernel gives it to the init as its console.
    add("dev/console",
        Content{.mode = kNewcCharacterDevice | 0600, .device_major = 5, .device_minor = 1});
    return {};
  }

  void add(const std::string& name, Content content) {
    add_folders(contents_, name);
    if (!content.bytes.empty()) content.size_bytes = content.bytes.size();
    if ((content.mode & kNewcTypeMask) == kNewcFile) {
      ++report_.files;
      report_.content_bytes += content.size_bytes;
    }
    contents_[name] = std::move(content);
  }

  // `listed`: what the bundle's list says of it; absent: its bytes are part of the digest.
  Result<void> add_file(const std::string& name, const std::string& from, std::uint32_t mode,
                        const DriverFile* listed) {
    const auto file = TRY(MappedFile::open(from));
    const auto size = file.bytes().size();
    if (listed != nullptr && size != listed->size_bytes)
      return fail(ErrorKind::bad_input, fmt::format("{} has {} bytes; the bundle's list says {}",
                                                    from, size, listed->size_bytes));
    if (listed != nullptr && options_.verify && to_hex(sha256(file.bytes())) != listed->sha256)
      return fail(ErrorKind::bad_input, from + " has other bytes than when it was collected");
    digests_[name] = listed != nullptr ? listed->sha256 : to_hex(sha256(file.bytes()));
    add(name, Content{.mode = kNewcFile | mode, .from = from, .size_bytes = size});
    return {};
  }

  Result<void> add_program(const std::string& name, const std::string& from) {
    const auto file = TRY(MappedFile::open(from));
    const std::string_view start(reinterpret_cast<const char*>(file.bytes().data()),
                                 std::min<std::size_t>(file.bytes().size(), 4));
    if (!start.starts_with("\x7f"
                           "ELF") &&
        !start.starts_with("#!"))
      return fail(ErrorKind::bad_input,
                  printable(from) + " is not a program: neither an ELF file nor a script (#!)");
    return add_file(name, from, 0755, nullptr);
  }

  Result<std::string> digest_of_all() {
    Sha256Stream stream;
    stream.add(kFormat);
    stream.add(options_.zstd ? " zstd\n" : " plain\n");
    for (const auto& [name, content] : contents_)
      stream.add(fmt::format("{} {:o} {} {}\n", name, content.mode, content.bytes, digests_[name]));
    return to_hex(stream.finish());
  }

  // The first archive: the digest of all that follows, and how many bytes that is.
  Result<std::string> head(const std::string& digest, std::uint64_t rest) const {
    const auto text = fmt::format("{}\n{}\n{:020}\n", kFormat, digest, rest);
    std::string out =
        TRY(newc_header({std::string(kDigestName), kNewcFile | 0444, text.size(), 0, 0}, 1));
    out += text;
    out.append(newc_padding(text.size()), '\0');
    out += newc_end();
    out.append((kBlockBytes - out.size() % kBlockBytes) % kBlockBytes, '\0');
    return out;
  }

  // Sizes too, so that one that was cut short is written again.
  bool is_unchanged(const std::string& path, const std::string& digest, Storage& storage) {
    const auto status = storage.status(path);
    const auto file = MappedFile::open(path);
    const auto wanted = head(digest, 0);
    if (!status || !file || !wanted || file->bytes().size() < wanted->size()) return false;
    const auto rest = file->bytes().size() - wanted->size();
    const auto with_size = head(digest, rest);
    report_.written_bytes = file->bytes().size();
    return with_size && view(file->bytes()).starts_with(*with_size);
  }

  Result<void> write_contents(Sink& sink) {
    std::uint32_t inode = 1;
    for (const auto& [name, content] : contents_) {
      TRY(sink.write(TRY(newc_header(
          {name, content.mode, content.size_bytes, content.device_major, content.device_minor},
          ++inode))));
      if (content.from.empty()) {
        TRY(sink.write(content.bytes));
      } else {
        const auto file = TRY(MappedFile::open(content.from));
        Sha256Stream hash;
        const bool has_its_size = file.bytes().size() == content.size_bytes;
        if (has_its_size) TRY(write_mapped(sink, file.bytes(), options_.verify ? &hash : nullptr));
        if (!has_its_size || (options_.verify && to_hex(hash.finish()) != digests_[name]))
          return fail(ErrorKind::io, content.from + " changed while it was read");
      }
      TRY(pad(sink, newc_padding(content.size_bytes)));
    }
    TRY(sink.write(newc_end()));
    return sink.finish();
  }

  // The head holds the size of what follows. Plain, it is known before; packed, it is made first.
  Result<void> write(const std::string& path, const std::string& digest, Storage& storage) {
    auto file = TRY(AtomicFile::create(path, {}, storage));
    PlainSink plain(file);
    if (!options_.zstd) {
      TRY(plain.write(TRY(head(digest, plain_bytes()))));
      TRY(write_contents(plain));
    } else {
      std::string packed;
      struct Memory final : Sink {
        explicit Memory(std::string& into) : text(into) {}
        Result<void> write(std::string_view bytes) override {
          text += bytes;
          return {};
        }
        Result<void> finish() override { return {}; }
        std::string& text;
      } memory(packed);
      ZstdSink sink(memory);
      TRY(write_contents(sink));
      packed.append(newc_padding(packed.size()), '\0');
      TRY(plain.write(TRY(head(digest, packed.size()))));
      TRY(plain.write(packed));
      TRY(plain.finish());
    }
    report_.written_bytes = plain.written;
    return file.commit();
  }

  std::uint64_t plain_bytes() const {
    std::uint64_t sum = newc_end().size();
    for (const auto& [name, content] : contents_)
      sum += newc_header({name, 0, 0, 0, 0}, 0)->size() + content.size_bytes +
             newc_padding(content.size_bytes);
    return sum;
  }

  const InitrdOptions& options_;
  Host& host_;
  Contents contents_;
  std::map<std::string, std::string> digests_;
  InitrdReport report_;
};

}  // namespace

std::string guest_beside(std::string_view program) {
  return gpuready::folder_of(program) + "/gpuready-guest";
}

Result<InitrdReport> write_initrd(const InitrdOptions& options, const std::string& path, Host& host,
                                  Storage& storage) {
  return Builder(options, host).run(path, storage);
}

}  // namespace gpuready::vm
