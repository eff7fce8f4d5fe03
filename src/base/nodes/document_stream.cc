#include "base/nodes/document_stream.h"

#include <map>
#include <utility>

namespace gpuready {
namespace {

constexpr std::size_t kMostLabelDigits = 7;

// The number before ": ", padded on the left, and the rest of the line. No line of a document
// begins so.
std::pair<std::string_view, std::string_view> label_of(std::string_view line) {
  const std::size_t start = line.find_first_not_of(' ');
  if (start == line.npos) return {"", line};
  const std::size_t end = line.find_first_not_of("0123456789", start);
  if (end == line.npos || end == start || end - start > kMostLabelDigits || line[end] != ':')
    return {"", line};
  const std::size_t rest = end + 1 + (line.substr(end + 1).starts_with(' ') ? 1 : 0);
  return {line.substr(start, end - start), line.substr(rest)};
}

// Splits what one program wrote, line by line.
class Splitter {
 public:
  // `count` is of the documents of all programs.
  Splitter(const StreamLimits& limits, std::size_t& count, std::string label)
      : limits_(limits), count_(count), label_(std::move(label)) {}

  void add(std::string_view line) {
    if (depth_ > 0 && line.starts_with('{')) end("it ends too early");
    std::size_t from = 0;  // of what belongs to the document
    for (std::size_t at = 0; at < line.size(); ++at) {
      const char c = line[at];
      if (depth_ == 0) {
        if (c != '{') {
          if (c != ' ' && c != '\t') return;  // a message to its end
          continue;
        }
        from = at;
      }
      if (in_string_) {
        if (c == '\\')
          ++at;
        else if (c == '"')
          in_string_ = false;
      } else if (c == '"') {
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
  }

  std::vector<StreamPart> parts;

 private:
  void keep(std::string_view text) {
    too_long_ |= text.size() > limits_.document_bytes - text_.size();
    if (!too_long_) text_ += text;
  }
  void end(std::string fault) {
    if (too_long_) fault = "it is longer than " + std::to_string(limits_.document_bytes) + " bytes";
    if (!fault.empty()) text_.clear();
    if (++count_ <= limits_.documents)
      parts.push_back({label_, std::move(text_), std::move(fault)});
    text_ = {};
    depth_ = 0;
    in_string_ = too_long_ = false;
  }

  const StreamLimits& limits_;
  std::size_t& count_;
  std::string label_, text_;
  std::size_t depth_ = 0;
  bool in_string_ = false, too_long_ = false;
};

}  // namespace

StreamParts split_documents(std::string_view stream, const StreamLimits& limits) {
  std::map<std::string, Splitter, std::less<>> programs;
  StreamParts all;
  std::size_t count = 0;
  while (!stream.empty()) {
    const std::size_t end = stream.find('\n');
    const auto [label, line] = label_of(stream.substr(0, end));
    stream.remove_prefix(end == stream.npos ? stream.size() : end + 1);
    auto program = programs.find(label);
    if (program == programs.end()) {
      all.cut |= programs.size() >= limits.documents;
      if (all.cut) continue;
      program = programs.try_emplace(std::string(label), limits, count, std::string(label)).first;
    }
    program->second.add(line);
  }
  for (auto& [label, program] : programs) {
    program.finish();
    for (StreamPart& part : program.parts) all.parts.push_back(std::move(part));
  }
  all.cut |= count > limits.documents;
  return all;
}

}  // namespace gpuready
