// What a release says of itself: its variants, what each holds and needs, and where each file lies
// in the archives. It is signed as a whole, and nothing that was not in it is ever installed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/text.h"
#include "pack/release/cuts.h"
#include "pack/release/probe.h"

namespace gpuready::pack {

// The least of each that a variant runs with. Absent: any.
struct Floors {
  std::optional<std::string> driver;  // of NVIDIA: "525.60.13"
  std::optional<std::string> cuda;    // that the driver has: "12.4"
  std::optional<std::string> cudnn;   // that the variant brings: "9.11"
  std::optional<std::string> glibc;   // "2.28"
  std::optional<std::string> cpu;     // "x86-64-v3", "aarch64"
  bool operator==(const Floors&) const = default;
};

struct PackedFile {
  std::string path;                 // within the package, '/' between names: "lib/libfoo.so.1"
  std::optional<std::string> link;  // a symbolic link, and its text; then nothing below is there
  std::uint64_t size_bytes = 0;
  std::optional<std::string> sha256;
  bool executable = false;
  // The zstd frame in the archive that holds the file: its tar header, then the file, then zeros.
  std::uint64_t offset_bytes = 0, frame_bytes = 0;
  bool operator==(const PackedFile&) const = default;

  bool is_cut() const { return !link && size_bytes >= kLeastCutFile; }
};

// One file of a published archive: all of it, or a piece, for hosts with a limit of size.
struct ArchivePart {
  std::string name;
  std::uint64_t size_bytes = 0;
  std::string sha256;
  bool operator==(const ArchivePart&) const = default;
};

// Pieces for updates, and their index at its end (cuts.h).
struct PieceFile {
  std::string name;
  std::uint64_t size_bytes = 0, index_bytes = 0;
  std::string index_sha256;
  bool operator==(const PieceFile&) const = default;

  // As an object of a store.
  PackedFile index() const { return {name, {}, index_bytes, index_sha256}; }
};

// Modules with the same builds: for a GPU, one of the targets has to load.
struct CodeOfModules {
  std::vector<std::string> targets;  // of code_text(): "sm_86", "compute_80@8.4", "gfx942"
  std::uint64_t count = 1;
  bool bare = false;  // in no container: the library itself chooses and unpacks
  bool operator==(const CodeOfModules&) const = default;
};
// Device code of one file, as FileCode (rules/explain.h) has it.
struct CodeOfFile {
  std::string path;
  std::vector<CodeOfModules> modules;
  std::optional<std::string> cuda;  // "12.8"
  bool operator==(const CodeOfFile&) const = default;
};

struct Variant {
  std::string name;
  // What its maker says that it runs on: "75", "86", "90a", and "90+PTX" for what comes later.
  // None: it is for the CPU.
  std::vector<std::string> architectures;
  std::vector<CodeOfFile> code;  // what the scanner found
  Floors floors;
  std::vector<PackedFile> files;       // by path
  std::vector<ArchivePart> archive;    // in order
  std::vector<PieceFile> pieces = {};  // none or one; of a set, one for each member
  std::vector<Probe> probes = {};      // kernels that the load test launches
  bool operator==(const Variant&) const = default;

  bool for_cpu() const { return architectures.empty(); }
  std::uint64_t content_bytes() const;
  std::uint64_t archive_bytes() const;
  const PackedFile* find(std::string_view path) const;
};

inline constexpr std::uint64_t kModelSeconds = 600, kMostModelSeconds = 24 * 3600;
// A model that the program chooses by the GPU's memory. The first that fits is taken.
struct Model {
  std::string name;
  std::uint64_t free_bytes = 0;  // of device memory; 0: it runs on the CPU
  // A program of the variant and its arguments, which ends with 0 when it has loaded the model.
  // None: that its memory is free is all that is asked.
  std::vector<std::string> load = {};
  std::uint64_t seconds = kModelSeconds;           // that it may take
  std::optional<std::uint64_t> memory_bytes = {};  // of the host; absent: what is free there
  bool operator==(const Model&) const = default;
};

// A machine on which a release is tried before it is published.
struct TestMachine {
  std::string name;
  std::vector<std::string> gpus;      // kinds: "8.6", "gfx942"; none: it has no GPU
  std::optional<std::string> driver;  // its branch, "550", or version; absent: any
  bool operator==(const TestMachine&) const = default;
};

struct Manifest {
  std::string name;     // letters, digits, '-', '_', '.'
  std::string version;  // digits and dots; each release has a higher one
  std::string created_utc, expires_utc;
  std::vector<Variant> variants;
  std::vector<Model> models;
  std::vector<TestMachine> machines = {};
  bool operator==(const Manifest&) const = default;

  // A variant, or a set of them ("modern+latest") for a machine that none serves alone: the files
  // of the first where they always are, those of each other below folder_of_member().
  std::optional<Variant> find(std::string_view variant) const;
};
inline constexpr char kSetSeparator = '+';
std::vector<std::string> members_of(std::string_view set);
std::string set_of(const std::vector<std::string>& members);
// "" of the first, "variants/latest" of others.
std::string folder_of_member(std::string_view set, std::string_view member);

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::string_view kSignatureName = "manifest.json.minisig";
inline constexpr std::size_t kMostManifestBytes = 16u << 20, kMostSignatureBytes = 16u << 10;

std::string manifest_text(const Manifest& manifest);
// Whatever the text holds, the manifest returned is safe to act on: names and paths stay within
// their folders, links too; sizes add up without overflow; frames lie within their archives.
Result<Manifest> parse_manifest(std::string_view text, std::string_view name);

// Whether a name or path may be in a manifest; else why not.
std::optional<std::string> wrong_with_name(std::string_view name);
std::optional<std::string> wrong_with_path(std::string_view path);
// Of a link at `path`: its text must lead to a place within the package.
std::optional<std::string> wrong_with_link(std::string_view path, std::string_view text);

}  // namespace gpuready::pack
