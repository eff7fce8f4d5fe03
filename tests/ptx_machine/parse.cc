// From PTX text to instructions with places for their operands.
#include "kernel_parser.h"

namespace ptx {
namespace {

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : text_(text) {}
  Module parse();

 private:
  void skip() {  // white space and comments
    for (;; advance(1)) {
      if (text_.starts_with("//")) advance(std::min(text_.find('\n'), text_.size()));
      if (text_.empty() || !is_space(text_.front())) return;
    }
  }
  void advance(std::size_t n) {
    for (char c : text_.substr(0, n)) line_ += c == '\n';
    text_.remove_prefix(std::min(n, text_.size()));
  }
  std::string_view take_until(std::string_view stops) {
    const auto taken = text_.substr(0, text_.find_first_of(stops));
    advance(taken.size());
    return trim(taken);
  }
  void entry();
  void body(KernelParser& kernel);

  std::string_view text_;
  u32 line_ = 1;
  Variables globals_;
  Module module_;
};

void ModuleParser::body(KernelParser& kernel) {
  for (int depth = 0;;) {
    skip();
    if (text_.empty()) throw Fault("ends within a kernel");
    const char c = text_.front();
    if (c == '{') {
      if (depth++ > 0) kernel.open();
      advance(1);
    } else if (c == '}') {
      advance(1);
      if (--depth == 0) return;
      kernel.close();
    } else if (c == ';') {
      advance(1);
    } else {
      const auto word = text_.substr(0, text_.find_first_of(" \t\n;:"));
      if (text_.substr(word.size()).starts_with(":") &&
          !text_.substr(word.size()).starts_with("::")) {
        kernel.label(word);
        advance(word.size() + 1);
        continue;
      }
      const u32 line = line_;
      const auto statement = take_until(";");
      try {
        kernel.statement(statement, line);
      } catch (const Fault& fault) {
        throw Fault("line " + std::to_string(line) + ", " + std::string(statement) + ": " +
                    fault.what());
      }
    }
  }
}

void ModuleParser::entry() {
  const auto head = take_until("(");
  KernelParser kernel(globals_, std::string(head.substr(head.find_last_of(" \t") + 1)));
  advance(1);
  const auto parameters = take_until(")");
  if (!parameters.empty())
    for (const auto parameter : split(parameters, ',')) {
      const auto [name, v] = variable(parameter);
      kernel.parameter(name, v);
    }
  advance(1);
  take_until("{");
  body(kernel);
  Kernel done = kernel.finish();
  std::string name = done.name;
  module_.kernels.emplace(std::move(name), std::move(done));
}

Module ModuleParser::parse() {
  for (skip(); !text_.empty(); skip()) {
    if (text_.starts_with(".visible .entry")) {
      entry();
    } else if (text_.starts_with(".shared") || text_.starts_with(".weak .shared") ||
               text_.starts_with(".extern .shared")) {
      globals_.insert(variable(take_until(";")));
      advance(1);
    } else {
      const auto line = take_until("\n");
      if (!line.starts_with(".target") && !line.starts_with(".version") &&
          !line.starts_with(".address_size"))
        throw Fault("line " + std::to_string(line_) + ": unknown directive " + std::string(line));
    }
  }
  return std::move(module_);
}

}  // namespace

Module parse(std::string_view text) { return ModuleParser(text).parse(); }

}  // namespace ptx
