#include "fleet/read_reports.h"

#include <fmt/format.h>

#include "base/characters.h"
#include "base/parallel.h"
#include "base/text.h"
#include "host/mapped_file.h"

namespace gpuready::fleet {
namespace {

constexpr std::size_t kPiece = 1u << 20, kMostWaitingBytes = 16u << 20;
constexpr unsigned kMostThreads = 16;
constexpr int kDeepest = 4;  // folders below the one that was named

// What some write instead of UTF-8.
struct OtherForm {
  std::string_view start, what;
};
constexpr OtherForm kOtherForms[] = {
    {"\x1f\x8b", "is compressed: unpack it, such as by zcat"},
    {"\x28\xb5\x2f\xfd", "is compressed: unpack it, such as by zstdcat"},
    {"PK\x03\x04", "is a zip archive: unpack it"},
    {"\xff\xfe", "is UTF-16, not UTF-8: convert it, such as by iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff", "is UTF-16, not UTF-8: convert it, such as by iconv -f UTF-16 -t UTF-8"}};

// A label that is a node's name. Slurm's are numbers of tasks, and kubectl's name pods.
std::string node_of(const std::string& label) {
  const bool number = label.find_first_not_of("0123456789") == label.npos;
  return number || label.starts_with("pod/") ? "" : label;
}

Result<void> read_folder(Host& host, const std::string& folder, int depth, ReportReader& reader) {
  for (const std::string& name : TRY(host.list_directory(folder))) {
    const std::string path = folder + (folder.ends_with('/') ? "" : "/") + name;
    const auto status = host.status(path);
    const bool named = to_lower(name).ends_with(".json");
    Result<void> done;
    if (status && status->kind == FileKind::directory && depth == kDeepest)
      done = fail(ErrorKind::bad_input, path + " is too deep: name this folder as well");
    else if (status && status->kind == FileKind::directory)
      done = read_folder(host, path, depth + 1, reader);
    else if (named)
      done = status ? read_reports(host, path, reader) : std::unexpected(status.error());
    if (!done) reader.note(done.error().message + ".");
  }
  return {};
}

}  // namespace

void ReportReader::take(StreamPart part, const std::string& source) {
  ++taken_;
  std::string name = part.label.empty() ? source : source + ", " + printable(part.label);
  if (!part.fault.empty())
    return note(fmt::format("{}: a report is broken: {}.{}", name, part.fault,
                            part.label.empty() ? " srun mixes reports unless it has -l." : ""));
  waiting_bytes_ += part.text.size();
  waiting_.push_back({std::move(part.text), std::move(name), node_of(part.label), ""});
  if (waiting_bytes_ >= kMostWaitingBytes) finish();
}

void ReportReader::note(std::string fault) {
  waiting_.push_back({.text = "", .source = "", .node = "", .fault = std::move(fault)});
}

void ReportReader::finish() {
  std::vector<Result<NodeReport>> parsed(waiting_.size());
  in_parallel(waiting_.size(), kMostThreads, [&](std::size_t i) {
    if (const Waiting& one = waiting_[i]; one.fault.empty())
      parsed[i] = parse_node_report(one.text, one.source, one.node);
  });
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (!waiting_[i].fault.empty())
      faults.push_back(std::move(waiting_[i].fault));
    else if (parsed[i])
      reports.push_back(*std::move(parsed[i]));
    else
      faults.push_back(parsed[i].error().message + ".");
  }
  waiting_.clear();
  waiting_bytes_ = 0;
}

Result<void> read_stream(const std::function<Result<std::string_view>()>& next,
                         const std::string& source, ReportReader& reader) {
  DocumentStream stream({.document_bytes = kMostReportBytes, .words = {"exit_code", "gpu_status"}},
                        [&](StreamPart part) { reader.take(std::move(part), source); });
  const std::size_t before = reader.taken();
  for (bool first = true;; first = false) {
    const std::string_view piece = TRY(next());
    if (piece.empty()) break;
    for (const auto& [start, what] : kOtherForms)
      if (first && piece.starts_with(start)) {
        reader.note(fmt::format("{} {}.", source, what));
        return {};
      }
    stream.feed(piece);
  }
  if (!stream.finish())
    reader.note(source + " has more than 100,000 reports; the rest was left out.");
  if (reader.taken() == before) reader.note(source + " has no report.");
  return {};
}

Result<void> read_reports(Host& host, const std::string& path, ReportReader& reader) {
  const auto status = TRY(host.status(path));
  if (status.kind == FileKind::directory) return read_folder(host, path, 0, reader);
  const auto file = TRY(MappedFile::open(path));
  std::string_view rest(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return read_stream(
      [&]() -> Result<std::string_view> {
        const std::string_view piece = rest.substr(0, kPiece);
        rest.remove_prefix(piece.size());
        return piece;
      },
      path, reader);
}

}  // namespace gpuready::fleet
