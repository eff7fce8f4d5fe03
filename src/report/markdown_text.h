// Text of machines, stacks and runs escaped for Markdown.
#pragma once

#include <string>
#include <string_view>

#include "report/text_layout.h"

namespace gpuready {

// One line in which nothing is markup, neither Markdown's nor HTML's.
inline std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (std::string_view("\\`*_[]|~#!").contains(c))
      out += {'\\', c};
    else
      out += c;
  }
  return out;
}

}  // namespace gpuready
