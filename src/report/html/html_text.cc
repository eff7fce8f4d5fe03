#include <fmt/format.h>

#include <algorithm>

#include "base/named.h"
#include "base/sha256.h"
#include "base/text.h"
#include "host/recording/base64.h"
#include "report/html/html_parts.h"
#include "report/text_layout.h"

namespace gpuready {

NAMES_OF(Tone, "good", "warn", "bad", "neutral");

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

std::string_view css_class(Tone tone) { return name_of(tone); }

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

// The policy forbids every request, every style and script but ours, which it names by their
// hashes: a style attribute has none, so widths are attributes of SVG.
std::string html_head(std::string_view title, std::string_view script) {
  const auto source = [](std::string_view kind, std::string_view text) {
    const Sha256 sum = sha256(text);
    return text.empty()
               ? std::string()
               : fmt::format(
                     "{}-src 'sha256-{}'; ", kind,
                     base64_encode({reinterpret_cast<const char*>(sum.data()), sum.size()}));
  };
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; {}{}"
      "base-uri 'none'; form-action 'none'\">\n<title>{}</title>\n<style>{}</style>\n</head>\n",
      source("style", kHtmlStyle), source("script", script), escape_html(title), kHtmlStyle);
}

std::string html_page(const Envelope& envelope, Tone tone, std::string_view body) {
  const auto conclusion = escape_html(envelope.conclusion.value_or(""));
  return html_head(
             fmt::format("gpuready {}: {}", envelope.command, envelope.conclusion.value_or(""))) +
         fmt::format(
             "<body>\n<div class=\"top\"><span class=\"brand\">gpu<i>ready</i></span>"
             "<span>{}</span><span class=\"meta\">{}</span></div>\n<main>\n"
             "<section class=\"card hero {}\">{}<div><h1>{}</h1></div></section>\n{}"
             "<footer>gpuready {}</footer>\n</main>\n</body>\n</html>\n",
             escape_html(envelope.command), escape_html(envelope.created_utc), css_class(tone),
             tone == Tone::neutral ? "" : html_icon(tone), conclusion, body,
             escape_html(envelope.tool_version));
}

std::string html_bar(const Bar& bar) {
  const double percent = 100 * std::clamp(bar.fraction, 0.0, 1.0);
  std::string mark;
  if (bar.mark && *bar.mark > 0 && *bar.mark < 1)
    mark = fmt::format(
        "<div class=\"limit\"><svg width=\"{:.1f}%\"></svg>"
        "<i class=\"mark\" title=\"the least that passes\"></i></div>",
        100 * *bar.mark);
  const std::string label = escape_html(bar.label), value = escape_html(bar.value);
  return fmt::format(
      "<div class=\"meter\"><div class=\"meter-text\"><span>{0}</span><b>{1}</b></div>"
      "<div class=\"bar\" role=\"meter\" aria-label=\"{0}\" aria-valuetext=\"{1}\" "
      "aria-valuemin=\"0\" aria-valuemax=\"100\" aria-valuenow=\"{2:.1f}\">"
      "<svg class=\"fill {3}\" width=\"{2:.1f}%\"></svg>{4}</div></div>\n",
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
