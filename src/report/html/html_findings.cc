#include <fmt/format.h>

#include "report/html/html_parts.h"
#include "value/action.h"
#include "value/names.h"

namespace gpuready {
namespace {

constexpr int kMaxDepth = 8;

std::string evidence_list(const Finding& finding) {
  std::string out;
  for (const Evidence& evidence : finding.evidence)
    out += fmt::format(
        "<figure><figcaption>{}</figcaption><blockquote><pre>{}</pre></blockquote></figure>\n",
        escape_html(evidence.source), escape_html_lines(evidence.quote));
  return out;
}

std::string finding_body(const Finding& finding) {
  std::string out;
  if (!finding.explanation.empty())
    out += fmt::format("<p>{}</p>\n", escape_html(finding.explanation));
  out += evidence_list(finding);
  if (finding.logged)
    out += fmt::format("<p><b>Logged.</b> {}</p>\n", escape_html(logged_text(*finding.logged)));
  if (finding.cure) out += fmt::format("<p><b>Cure.</b> {}</p>\n", escape_html(*finding.cure));
  if (finding.command)
    out += fmt::format("<div class=\"command\"><pre><code>{}</code></pre></div>\n",
                       escape_html_lines(*finding.command));
  if (finding.terms) out += fmt::format("<p><b>Risk.</b> {}</p>\n", words_of(*finding.terms));
  if (finding.action != Action::none)
    out += fmt::format("<p><b>Action.</b> {}</p>\n", words_of(finding.action));
  return out;
}

std::string explained(const Finding& finding, int depth) {
  if (finding.explains.empty() || depth > kMaxDepth) return {};
  std::string out =
      fmt::format("<details class=\"explains\"><summary>It explains {} more</summary>\n",
                  finding.explains.size());
  for (const Finding& inner : finding.explains)
    out += fmt::format("<div class=\"inner\"><h4>{}</h4>\n{}{}</div>\n", escape_html(inner.title),
                       finding_body(inner), explained(inner, depth + 1));
  return out + "</details>\n";
}

}  // namespace

std::string html_findings(const Report& report) {
  if (!report.findings) return {};
  std::string out = "<section><h2>Findings</h2>\n";
  if (report.findings->empty())
    return out +
           fmt::format("<p class=\"card quiet\">{}<span>None: looked at {}.</span></p></section>\n",
                       html_icon(Tone::good), escape_html(looked_at(report.machine)));
  for (const Finding& finding : *report.findings) {
    const Tone tone = tone_of(finding.severity);
    const std::string concerned = concerned_text(finding);
    out += fmt::format(
        "<article class=\"card finding {}\"><header>{}<div><h3>{}</h3><p "
        "class=\"id\">{}{}{}</p></div>"
        "{}</header>\n{}{}</article>\n",
        css_class(tone), html_icon(tone), escape_html(finding.title), escape_html(finding.id),
        concerned.empty() ? "" : " \u00b7 ", escape_html(concerned),
        html_pill(tone, to_string(finding.severity)), finding_body(finding), explained(finding, 0));
  }
  return out + "</section>\n";
}

}  // namespace gpuready
