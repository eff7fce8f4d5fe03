// JSON documents out of one stream, as many programs wrote it: one after another, one a line, or
// with labels before each line, whose lines may interleave: "3: " of `srun -l`, "n07: " of clush
// and pdsh, "[pod/n07/check] " of kubectl. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuready {

struct StreamLimits {
  std::size_t document_bytes = 8u << 20;
  std::size_t documents = 100'000;
  std::vector<std::string_view> words = {};
};

struct StreamPart {
  std::string label;       // empty: the stream has none
  std::string text;        // of an object, from brace to brace; not parsed
  std::string fault = {};  // why the document is not whole; `text` is empty then
};

// A document that ends too early, as that of a killed job does, costs only itself: the next begins
// with a brace that begins a line. Lines between documents, such as messages of srun, are skipped;
// those with one of `words` are text of a document that was not understood: one fault.
class DocumentStream {
 public:
  DocumentStream(const StreamLimits& limits, std::function<void(StreamPart)> sink);
  ~DocumentStream();

  void feed(std::string_view bytes);  // pieces of any size
  // False: there were more documents than the limit, and the rest was left out.
  bool finish();

 private:
  class Splitter;
  void add_line(std::string_view line);

  StreamLimits limits_;
  std::function<void(StreamPart)> sink_;
  std::map<std::string, std::unique_ptr<Splitter>, std::less<>> programs_;
  std::string line_;  // its beginning, which the last piece had
  bool skipping_ = false, cut_ = false;
  std::size_t count_ = 0;
};

}  // namespace gpuready
