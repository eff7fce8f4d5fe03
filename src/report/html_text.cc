#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/html_parts.h"
#include "report/text_layout.h"

namespace gpuready {

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_html_lines(std::string_view text) {
  std::string out;
  for (const auto line : lines(text)) out += (out.empty() ? "" : "\n") + escape_html(line);
  return out;
}

std::string_view css_class(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "good";
    case Tone::warn:
      return "warn";
    case Tone::bad:
      return "bad";
    case Tone::neutral:
      return "neutral";
  }
  return "neutral";
}

std::string html_pill(Tone tone, std::string_view text) {
  return fmt::format("<span class=\"pill {}\">{}</span>", css_class(tone), escape_html(text));
}

// Shapes differ, so that they are distinguishable without colour.
std::string html_icon(Tone tone) {
  std::string_view shape;
  switch (tone) {
    case Tone::good:
      shape = "<path d=\"M7 12.5l3.5 3.5L17 9\"/>";
      break;
    case Tone::warn:
      shape = "<path d=\"M12 7v6.5M12 16.9v.2\"/>";
      break;
    case Tone::bad:
      shape = "<path d=\"M8.5 8.5l7 7M15.5 8.5l-7 7\"/>";
      break;
    case Tone::neutral:
      shape = "<path d=\"M12 7v.2M12 11v6\"/>";
      break;
  }
  return fmt::format(
      "<svg class=\"icon {}\" viewBox=\"0 0 24 24\" aria-hidden=\"true\">"
      "<circle cx=\"12\" cy=\"12\" r=\"11\"/>{}</svg>",
      css_class(tone), shape);
}

std::string html_bar(const Bar& bar) {
  const double percent = 100 * std::clamp(bar.fraction, 0.0, 1.0);
  std::string mark;
  if (bar.mark && *bar.mark > 0 && *bar.mark < 1)
    mark =
        fmt::format("<i class=\"mark\" style=\"left:{:.1f}%\" title=\"the least that passes\"></i>",
                    100 * *bar.mark);
  const std::string label = escape_html(bar.label), value = escape_html(bar.value);
  return fmt::format(
      "<div class=\"meter\"><div class=\"meter-text\"><span>{0}</span><b>{1}</b></div>"
      "<div class=\"bar\" role=\"meter\" aria-label=\"{0}\" aria-valuetext=\"{1}\" "
      "aria-valuemin=\"0\" aria-valuemax=\"100\" aria-valuenow=\"{2:.1f}\">"
      "<div class=\"fill {3}\" style=\"width:{2:.1f}%\"></div>{4}</div></div>\n",
      label, value, percent, css_class(bar.tone), mark);
}

std::string html_facts(const std::vector<FactGroup>& groups) {
  std::string out = "<div class=\"facts\">\n";
  for (const FactGroup& group : groups) {
    if (group.facts.empty()) continue;
    out += fmt::format("<section><h4>{}</h4><dl>", escape_html(group.title));
    for (const Fact& fact : group.facts)
      out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape_html(fact.label),
                         escape_html(fact.value));
    out += "</dl></section>\n";
  }
  return out + "</div>\n";
}

}  // namespace gpuready
