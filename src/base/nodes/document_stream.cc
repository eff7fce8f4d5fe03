#include "base/nodes/document_stream.h"

#include <utility>

#include "base/characters.h"
#include "base/text.h"

namespace gpuready {
namespace {

constexpr std::size_t kMostLabel = 253;  // RFC 1035: of a host name
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBetween = " \t[],";  // also the elements of a list

// The label before a line, and the rest of the line. No line of a document begins so.
std::pair<std::string_view, std::string_view> label_of(std::string_view line) {
  const auto after = [&](std::size_t end) {
    const std::string_view rest = line.substr(end);
    return rest.starts_with(' ') ? rest.substr(1) : rest;
  };
  if (line.starts_with("[pod/")) {
    const std::size_t end = line.find("] ");
    if (end != line.npos && end < kMostLabel) return {line.substr(1, end - 1), after(end + 1)};
  }
  const std::size_t start = line.find_first_not_of(' ');
  if (start == line.npos) return {"", line};
  std::size_t end = start;
  while (end < line.size() && (is_letter_or_digit(line[end]) || line[end] == '.' ||
                               line[end] == '-' || line[end] == '_'))
    ++end;
  if (end == start || end == line.size() || end - start > kMostLabel || line[end] != ':')
    return {"", line};
  return {line.substr(start, end - start), after(end + 1)};
}

}  // namespace

// Splits what one program wrote, line by line.
class DocumentStream::Splitter {
 public:
  Splitter(DocumentStream& stream, std::string label) : stream_(stream), label_(std::move(label)) {}

  void add(std::string_view line) {
    if (depth_ > 0 && line.starts_with('{')) end("it ends too early");
    if (depth_ == 0 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    std::size_t from = 0;  // of what belongs to the document
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (in_string_) {
        while (at < line.size() && line[at] != '"' && line[at] != '\\') ++at;
        if (at == line.size()) break;
        if (line[at] == '\\')
          ++at;
        else
          in_string_ = false;
        continue;
      }
      const char c = line[at];
      if (depth_ == 0) {
        if (c != '{') {
          if (kBetween.find(c) == kBetween.npos) return skip(line.substr(at));
          continue;
        }
        tell_skipped();
        from = at;
      }
      if (c == '"') {
        in_string_ = true;
      } else if (c == '{') {
        ++depth_;
      } else if (c == '}' && --depth_ == 0) {
        keep(line.substr(from, at + 1 - from));
        end("");
      }
    }
    if (depth_ > 0) {
      keep(line.substr(from));
      keep("\n");
    }
  }
  void finish() {
    if (depth_ > 0) end("it ends too early");
    tell_skipped();
  }

 private:
  void keep(std::string_view text) {
    too_long_ |= text.size() > stream_.limits_.document_bytes - text_.size();
    if (!too_long_) text_ += text;
  }
  void skip(std::string_view message) {
    for (const std::string_view word : stream_.limits_.words) skipped_ |= contains(message, word);
  }
  void tell_skipped() {
    if (!std::exchange(skipped_, false)) return;
    end("its beginning is missing, or a prefix that is not known stands before it");
  }
  void end(std::string fault) {
    if (too_long_)
      fault = "it is longer than " + std::to_string(stream_.limits_.document_bytes) + " bytes";
    if (!fault.empty()) text_.clear();
    if (++stream_.count_ <= stream_.limits_.documents)
      stream_.sink_({label_, std::move(text_), std::move(fault)});
    text_ = {};
    depth_ = 0;
    in_string_ = too_long_ = false;
  }

  DocumentStream& stream_;
  std::string label_, text_;
  std::size_t depth_ = 0;
  bool in_string_ = false, too_long_ = false, skipped_ = false;
};

DocumentStream::DocumentStream(const StreamLimits& limits, std::function<void(StreamPart)> sink)
    : limits_(limits), sink_(std::move(sink)) {}
DocumentStream::~DocumentStream() = default;

void DocumentStream::add_line(std::string_view line) {
  const auto [label, rest] = label_of(line);
  auto program = programs_.find(label);
  if (program == programs_.end()) {
    cut_ |= programs_.size() > limits_.documents;
    if (cut_) return;
    program =
        programs_.emplace(std::string(label), std::make_unique<Splitter>(*this, std::string(label)))
            .first;
  }
  program->second->add(rest);
}

void DocumentStream::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (!skipping_ && line_.empty() && end != bytes.npos) {
      add_line(bytes.substr(0, end));
    } else {
      if (!skipping_) line_ += bytes.substr(0, end);
      // A line without end: its document is too long, and the rest is not kept.
      const bool too_long = line_.size() > limits_.document_bytes + kMostLabel;
      if (too_long || (end != bytes.npos && !skipping_)) {
        add_line(line_);
        line_.clear();
      }
      skipping_ = end == bytes.npos && (skipping_ || too_long);
    }
    if (end == bytes.npos) return;
    bytes.remove_prefix(end + 1);
  }
}

bool DocumentStream::finish() {
  if (!line_.empty()) add_line(line_);
  line_.clear();
  for (auto& [label, program] : programs_) program->finish();
  return !cut_ && count_ <= limits_.documents;
}

}  // namespace gpuready
