#include "pack/release/scan.h"

#include <algorithm>
#include <set>

#include "host/mapped_file.h"
#include "pack/code/file_report.h"

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
  for (const auto& text : file.targets) {
    auto code = parse_code(text);
    if (!code) continue;
    if (file.compressed) code->compression = Compression::zstd;
    auto answer = can_load(*code, gpu, driver);
    const bool loads = answer.how != How::no;
    // The rules name their obstacles from the farthest to the nearest.
    if (answer.how < best.how || (loads && answer.how == best.how && code->cuda > best.target) ||
        (!loads && best.how == How::no && answer.obstacle > best.obstacle))
      best = {std::move(answer), loads ? code->cuda : std::nullopt};
  }
  return best;
}

Result<std::vector<CodeOfFile>> scan_entries(const std::vector<ArchiveEntry>& entries) {
  std::vector<CodeOfFile> found;
  for (const auto& entry : entries) {
    if (entry.link) continue;
    const auto file = TRY(MappedFile::open(entry.source));
    const auto report = inspect_bytes(entry.path, file.bytes(), true);
    std::set<std::string> targets;
    bool plain = false, compressed = false;
    for (const auto& group : report.groups)
      for (const auto& code : group.codes) {
        if (!loadable(code) || (!code.cuda && !code.gfx)) continue;
        targets.insert(code_text(code));
        (code.compression == Compression::zstd ? compressed : plain) = true;
      }
    if (!targets.empty())
      found.push_back({entry.path, {targets.begin(), targets.end()}, compressed && !plain});
  }
  return found;
}

}  // namespace gpuready::pack
