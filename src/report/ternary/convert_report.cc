#include "report/ternary/convert_report.h"

#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

namespace gguf = ternary::gguf;

Json notes_json(const std::vector<gguf::TensorNote>& notes) {
  Json json = Json::array();
  for (const auto& note : notes)
    json.push_back({{"name", printable(note.name)}, {"reason", printable(note.text)}});
  return json;
}

}  // namespace

Json to_json(const ConvertPaths& paths, const gguf::ConvertReport& report,
             const Envelope& envelope) {
  Json json = begin_document("gpuready.ternary-convert", envelope);
  json["from"] = printable(paths.in);
  json["format"] = ternary::format(paths.to).name;
  if (envelope.exit == Exit::ok)
    json["written"] = {{"path", printable(paths.out)}, {"bytes", report.bytes}};
  json["converted"] = Json::array();
  for (const auto& name : report.converted) json["converted"].push_back(printable(name));
  json["kept"] = notes_json(report.kept);
  json["failed"] = notes_json(report.failed);
  json["notes"] = Json::array();
  for (const auto& note : report.notes) json["notes"].push_back(printable(note));
  return json;
}

}  // namespace gpuready
