#include "report/envelope.h"

namespace gpuready {

std::string_view exit_meaning(Exit exit) {
  switch (exit) {
    case Exit::ok:
      return "all that was asked holds";
    case Exit::unhealthy:
      return "something is unhealthy, or a GPU is on the bus but unusable";
    case Exit::usage:
      return "wrong usage or bad input";
    case Exit::required_absent:
      return "what was required is absent";
    case Exit::unknown:
      return "undetermined";
    case Exit::interrupted:
      return "it was interrupted";
  }
  return "undetermined";
}

Json begin_document(std::string_view schema, const Envelope& envelope) {
  Json doc = Json::object();
  doc["schema"] = schema;
  doc["schema_version"] = 1;
  doc["tool"] = Json{{"name", "gpuready"}};
  put(doc["tool"], "version", envelope.tool_version);
  put(doc, "command", envelope.command);
  put(doc, "created_utc", envelope.created_utc);
  put(doc, "machine_id", envelope.machine_id);
  put(doc, "boot_id", envelope.boot_id);
  put(doc, "conclusion", envelope.conclusion);
  doc["exit_code"] = static_cast<int>(envelope.exit);
  doc["exit_meaning"] = exit_meaning(envelope.exit);
  if (!envelope.notes.empty()) doc["notes"] = envelope.notes;
  if (const auto ms = number(envelope.duration_ms)) doc["duration_ms"] = *ms;
  return doc;
}

}  // namespace gpuready
