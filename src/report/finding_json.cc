#include "report/json_parts.h"
#include "report/report.h"

namespace gpuready {
namespace {

// Deeper nesting than a diagnosis ever makes: keeps a document within what every JSON reader takes.
constexpr int kMaxDepth = 8;

Json finding_json(const Finding& finding, int depth) {
  Json doc = Json::object();
  doc["id"] = finding.id;
  doc["severity"] = to_string(finding.severity);
  doc["title"] = finding.title;
  put(doc, "explanation", finding.explanation);
  put_list(doc, "gpus", finding.gpus, [](int gpu) { return gpu; });
  put_list(doc, "pci", finding.pci, [](const PciAddress& address) { return address.text(); });
  put_list(doc, "evidence", finding.evidence, [](const Evidence& evidence) {
    return Json{{"source", evidence.source}, {"quote", evidence.quote}};
  });
  put(doc, "cure", finding.cure);
  put(doc, "command", finding.command);
  if (depth < kMaxDepth)
    put_list(doc, "explains", finding.explains,
             [depth](const Finding& inner) { return finding_json(inner, depth + 1); });
  return doc;
}

}  // namespace

Json to_json(const Finding& finding) { return finding_json(finding, 0); }

}  // namespace gpuready
