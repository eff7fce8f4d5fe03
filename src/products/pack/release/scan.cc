#include "pack/release/scan.h"

#include <algorithm>
#include <set>

#include "host/mapped_file.h"
#include "pack/rules/releases.h"

namespace gpuready::pack {

std::string code_text(const DeviceCode& code) {
  auto text = code.target();
  if (code.kind == CodeKind::ptx && code.ptx_isa) {
    std::vector<std::string> parts;
    for (const int part : code.ptx_isa->parts) parts.push_back(std::to_string(part));
    text += "@" + join(parts, ".");
  }
  return text;
}

std::optional<DeviceCode> parse_code(std::string_view text) {
  DeviceCode code;
  const auto at = text.find('@');
  if (at != text.npos) {
    code.ptx_isa = parse_version(text.substr(at + 1));
    if (!code.ptx_isa) return std::nullopt;
    text = text.substr(0, at);
  }
  if (text.starts_with("gfx")) {
    code.kind = CodeKind::amd;
    code.gfx = parse_gfx_target(text);
    if (!code.gfx) return std::nullopt;
    return code;
  }
  const bool ptx = text.starts_with("compute_");
  if (!ptx && !text.starts_with("sm_")) return std::nullopt;
  code.kind = ptx ? CodeKind::ptx : CodeKind::cubin;
  code.cuda = parse_cuda_target(text);
  if (!code.cuda) return std::nullopt;
  return code;
}

FileLoads best_answer(const CodeOfFile& file, const TargetGpu& gpu, const Driver& driver) {
  FileLoads best{{How::no, Obstacle::none, "it holds no code that is known"}, {}};
  int distance = 0;  // of the code whose reason is kept
  for (const auto& text : file.targets) {
    auto code = parse_code(text);
    if (!code) continue;
    if (file.compressed) code->compression = Compression::zstd;
    auto answer = can_load(*code, gpu, driver);
    const bool loads = answer.how != How::no;
    const int its = distance_of(*code, gpu);
    // The rules name their obstacles from the farthest to the nearest. Of code for other GPUs the
    // nearest tells most.
    const bool is_nearer = is_of_target(answer.obstacle) && is_of_target(best.obstacle)
                               ? its < distance
                               : answer.obstacle > best.obstacle;
    if (answer.how < best.how || (loads && answer.how == best.how && code->cuda > best.target) ||
        (!loads && best.how == How::no && is_nearer)) {
      best = {std::move(answer), loads ? code->cuda : std::nullopt};
      distance = its;
    }
  }
  return best;
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

std::optional<Version> cudnn_of(const Variant& variant) {
  if (variant.floors.cudnn) return parse_version(*variant.floors.cudnn);
  for (const auto& file : variant.files)
    if (const auto version = cudnn_of_path(file.path)) return version;
  return std::nullopt;
}

std::vector<CodeOfFile> code_of(const Inspection& inspection) {
  std::vector<CodeOfFile> found;
  for (const auto& report : inspection.files) {
    std::set<std::string> targets;
    bool plain = false, compressed = false;
    for (const auto& group : report.groups)
      for (const auto& code : group.codes) {
        if (!loadable(code) || (!code.cuda && !code.gfx)) continue;
        targets.insert(code_text(code));
        (code.compression == Compression::zstd ? compressed : plain) = true;
      }
    if (!targets.empty())
      found.push_back({report.path, {targets.begin(), targets.end()}, compressed && !plain});
  }
  return found;
}

}  // namespace gpuready::pack
