// What an installation proved on one machine, as a document that `pack install --report` writes and
// `pack publish --require-proof` believes once a reporting key has signed it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/storage.h"
#include "pack/release/minisign.h"
#include "pack/store/install.h"
#include "pack/store/select.h"

namespace gpuready::pack {

struct ReportedGpu {
  std::string name, uuid;
  std::string target;  // "9.0", "gfx942"
};

// Device code of one file that a driver took.
struct LoadedCode {
  std::string path;
  std::uint64_t pieces = 0;
  // Its modules by the rules: a driver does not say which build of a container it takes.
  std::uint64_t by_cubin = 0, by_jit = 0;
};

struct ReportedLoad {
  std::string device;  // UUID of the GPU, or "cpu"
  std::string variant;
  std::vector<std::string> libraries;  // that were opened, by path within the package
  std::vector<LoadedCode> code;
  std::optional<std::string> failure;
  std::vector<std::string> kernels = {};  // that were launched and wrote what they must
};

struct LoadReport {
  std::string name, version;   // of the package
  std::string variant;         // that was installed, or should have been
  std::string content_sha256;  // content_digest() of it
  std::string created_utc, gpuready;
  std::optional<std::string> driver, cuda, glibc, cpu;  // of the machine
  std::vector<ReportedGpu> gpus;
  std::vector<ReportedLoad> loads;
};
inline constexpr std::size_t kMostLoadReportBytes = 8u << 20;

// The bytes that a variant installs, whatever the archives and the manifest around them: paths,
// links, contents and which files are executable.
std::string content_digest(const Variant& variant);

// `tried`: the load tests of one installation, of which the first is of the variant that was
// chosen.
LoadReport load_report(const Manifest& manifest, const SelectMachine& machine,
                       std::span<const TriedLoad> tried, std::int64_t now_unix_seconds);
std::string load_report_text(const LoadReport& report);
Result<LoadReport> parse_load_report(std::string_view text, std::string_view name);

// A report as it was handed in. `signature`: of FILE.minisig, where there is one.
struct HandedReport {
  std::string name, text;
  std::optional<std::string> signature;
};
// The report that is named, or every FILE.json of a folder, by name.
Result<std::vector<HandedReport>> read_reports(Host& host, const std::string& path);

// Before an installation: whether a report, and its signature where `is_signed`, can be written.
// Nothing of them is left.
Result<void> check_report_place(const std::string& path, bool is_signed,
                                Storage& storage = live_storage());
// After it: writes the report, and its signature where there is a key. Says what became of it.
Result<std::string> write_report(const std::string& path, const std::optional<LoadReport>& report,
                                 const std::optional<SecretKey>& key,
                                 const std::string& gpuready_version,
                                 Storage& storage = live_storage());

// Why the reports do not prove that the release loads on each of its machines; empty: they do. Each
// report has to hold: signed by one of the keys, of this version and these bytes, of what the
// release gives that machine, and without a failure.
std::vector<std::string> missing_proof(const Manifest& manifest,
                                       std::span<const PublicKey> report_keys,
                                       std::span<const HandedReport> reports);

}  // namespace gpuready::pack
