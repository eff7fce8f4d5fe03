#include "pack/release/scan.h"

#include <algorithm>
#include <set>

#include "host/mapped_file.h"
#include "pack/rules/releases.h"

namespace gpuready::pack {

constexpr std::string_view kPacked = " zstd", kUnknown = "?";

std::string code_text(const DeviceCode& code) {
  auto text = code.target();
  if (code.kind == CodeKind::ptx && code.ptx_isa) text += "@" + version_text(*code.ptx_isa);
  if (code.compression == Compression::zstd) text += kPacked;
  return text;
}

std::optional<DeviceCode> parse_code(std::string_view text) {
  DeviceCode code{.kind = CodeKind::cubin};
  if (text.ends_with(kPacked)) {
    code.compression = Compression::zstd;
    text.remove_suffix(kPacked.size());
  }
  const auto at = text.find('@');
  if (at != text.npos) {
    code.ptx_isa = parse_version(text.substr(at + 1));
    if (!code.ptx_isa) return std::nullopt;
    text = text.substr(0, at);
    code.kind = CodeKind::ptx;
  }
  if (text == kUnknown) return code;
  if (text.starts_with("gfx")) {
    code.kind = CodeKind::amd;
    code.gfx = parse_gfx_target(text);
    if (!code.gfx) return std::nullopt;
    return code;
  }
  const bool ptx = text.starts_with("compute_");
  if (!ptx && !text.starts_with("sm_")) return std::nullopt;
  if (ptx) code.kind = CodeKind::ptx;
  code.cuda = parse_cuda_target(text);
  if (!code.cuda) return std::nullopt;
  return code;
}

CodeOfFile written(const FileCode& code) {
  CodeOfFile out{code.path, {}, {}};
  if (code.cuda) out.cuda = version_text(*code.cuda);
  for (const Modules& modules : code.modules) {
    std::set<std::string> targets;
    for (const auto& each : modules.codes)
      if (loadable(each)) targets.insert(code_text(each));
    out.modules.push_back({{targets.begin(), targets.end()}, modules.count, !modules.in_container});
  }
  return out;
}

FileCode judged(const CodeOfFile& code) {
  FileCode out{code.path,
               {},
               code.cuda ? parse_version(*code.cuda) : std::nullopt,
               cudnn_of_part(code.path)};
  for (const CodeOfModules& modules : code.modules) {
    auto& made = out.modules.emplace_back(Modules{{}, modules.count, !modules.bare});
    for (const auto& text : modules.targets)
      if (auto each = parse_code(text)) made.codes.push_back(std::move(*each));
  }
  return out;
}

std::vector<FileCode> judged_files(const Variant& variant) {
  std::vector<FileCode> files;
  std::ranges::transform(variant.code, std::back_inserter(files), judged);
  std::vector<std::string> names;
  std::ranges::transform(variant.files, std::back_inserter(names), &PackedFile::path);
  const auto& floor = variant.floors.cudnn;
  set_cudnn(files, names, floor ? parse_version(*floor) : std::nullopt);
  return files;
}

Result<Inspection> scan_entries(const std::vector<ArchiveEntry>& entries) {
  Inspection found;
  found.kind = "folder";
  for (const auto& entry : entries) {
    found.names.push_back(entry.path);
    if (entry.link) {
      found.links.push_back({entry.path, *entry.link});
      continue;
    }
    const auto file = TRY(MappedFile::open(entry.source));
    ++found.files_read;
    found.bytes_read += file.bytes().size();
    auto report = inspect_bytes(entry.path, file.bytes(), true);
    if (report.elf || report.has_code()) found.files.push_back(std::move(report));
  }
  return found;
}

std::vector<CodeOfFile> written(const Inspection& inspection) {
  std::vector<CodeOfFile> found;
  for (const auto& file : code_of(inspection))
    if (!file.modules.empty()) found.push_back(written(file));
  return found;
}

}  // namespace gpuready::pack
