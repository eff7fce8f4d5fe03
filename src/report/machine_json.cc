#include "report/json_parts.h"
#include "report/report.h"

namespace gpuready {

Json to_json(const Machine& machine) {
  Json doc = Json::object();
  put(doc, "source", machine.source);
  doc["full"] = machine.full;
  if (!machine.fakes.empty()) doc["faked"] = machine.fakes;
  doc["system"] = system_json(machine.system);
  put_part(doc, "container", container_json(machine.container));
  put_part(doc, "visibility", visibility_json(machine.visibility));
  // The GPUs are always told, so that "no GPU" is [] and cannot be mistaken for "not looked".
  doc["gpus"] = Json::array();
  for (const Gpu& gpu : machine.gpus) doc["gpus"].push_back(gpu_json(gpu));
  put_list(doc, "paths", machine.paths, path_json);
  put_list(doc, "pci", machine.pci, pci_device_json);
  doc["nvidia"] = nvidia_json(machine.nvidia);
  doc["amd"] = amd_json(machine.amd);
  doc["intel"] = intel_json(machine.intel);
  put_part(doc, "apple", apple_json(machine.apple));
  put_part(doc, "vulkan", vulkan_json(machine.vulkan));
  put_list(doc, "toolkits", machine.toolkits, toolkit_json);
  put_list(doc, "libraries", machine.libraries, library_json);
  put_list(doc, "nodes", machine.nodes, device_node_json);
  doc["kernel_log"] = kernel_log_json(machine.kernel_log);
  doc["unseen"] = Json::array();
  for (const Unseen& unseen : machine.unseen)
    doc["unseen"].push_back(Json{{"what", unseen.what}, {"why", unseen.why}});
  if (!machine.timings_ms.empty()) {
    Json& timings = doc["timings_ms"] = Json::object();
    for (const auto& [source, ms] : machine.timings_ms) put_finite(timings, source.c_str(), ms);
  }
  return doc;
}

}  // namespace gpuready
