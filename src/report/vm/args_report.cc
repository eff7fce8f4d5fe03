#include "report/vm/args_report.h"

#include "base/text.h"

namespace gpuready {

Json to_json(const vm::GuestArgs& args, const std::string& hypervisor, const Envelope& envelope) {
  Json json = begin_document("gpuready.vm-args", envelope);
  json["hypervisor"] = hypervisor;
  json["arguments"] = args.arguments;
  if (!args.xml.empty()) json["xml"] = args.xml;
  json["hints"] = args.notes;
  return json;
}

std::string render_args(const vm::GuestArgs& args) {
  std::string text;
  for (const auto& note : args.notes)
    text += args.xml.empty() ? "# " + note + "\n" : "<!-- " + note + " -->\n";
  text += args.xml;
  if (!args.arguments.empty()) text += join(args.arguments, " ") + "\n";
  return text;
}

}  // namespace gpuready
