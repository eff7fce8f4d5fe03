// Every reader of recordings on any bytes. The first byte chooses the reader. What is accepted must
// survive being replayed, redacted, and written and read again without a difference.
#include <zstd.h>

#include <cstdlib>

#include "base/text.h"
#include "host/kernel_log.h"
#include "host/recording/recording.h"
#include "host/recording/recording_archive.h"

namespace {

using namespace gpuready;

void require(bool condition) {
  if (!condition) std::abort();
}

// Asks what a reader of a machine would ask.
void replay(const Recording& recording) {
  auto host = make_recorded_host(recording);
  for (const auto& [path, content] : recording.files) {
    host->read_text(path);
    host->status(path);
    host->real_path(path);
    host->list_directory(path + "/..");
    host->read_link(path);
  }
  for (const auto& [path, target] : recording.links) {
    host->read_link(path);
    host->read_file(path + "/vendor");
    host->real_path(path);
  }
  for (const auto& [path, names] : recording.directories) host->list_directory(path);
  for (const auto& [path, status] : recording.statuses) host->may_open(path);
  for (const auto& [path, failure] : recording.opens) host->may_open(path);
  for (const char* path : {"", "/", "//", "/..", "relative", "/sys/../sys/./bus"})
    host->list_directory(path);
  host->identity();
  host->kernel_log();
}

void check(const Result<Recording>& recording) {
  if (!recording) {
    require(!recording.error().message.empty());
    return;
  }
  replay(*recording);
  replay(redact(*recording, {}));
  const auto packed = recording_to_archive(*recording);
  if (!packed) return;
  const auto again = recording_from_archive(*packed, "again");
  require(again.has_value());
  const auto twice = recording_to_archive(*again);
  require(twice.has_value() && *twice == *packed);
}

// A tar that the fuzzer can change is worth more than one behind compression.
std::string packed(std::string_view tar) {
  std::string out(ZSTD_compressBound(tar.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), tar.data(), tar.size(), 1));
  return out;
}

void check_probe(std::string_view text) {
  const auto document = probe_document_from_lines(text, "nvml");
  const auto stored = to_json(document);
  const auto again = probe_document_from_json(stored, "again");
  require(again.has_value());
  require(dump_line(to_json(*again)) == dump_line(stored));
}

void check_log(std::string_view text) {
  std::string log;
  append_kmsg_record(text, log);
  const auto with = [&](std::size_t records) {
    return kernel_log_from_syslog(text, [&](std::size_t offset) { return offset + records; });
  };
  with(0);
  with(1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'Z':
      check(recording_from_archive(text, "fuzz.tar.zst"));
      break;
    case 'T':
      check(recording_from_archive(packed(text), "fuzz.tar.zst"));
      break;
    case 'J':
      check(recording_from_script(text, "fuzz.json", "/nonexistent"));
      break;
    case 'P':
      check_probe(text);
      break;
    case 'K':
      check_log(text);
      break;
    default:
      break;
  }
  return 0;
}
