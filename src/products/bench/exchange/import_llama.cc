#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "bench/exchange/import_formats.h"

namespace gpuready::bench {
namespace {

// In every id, so that files of other tests have the same ids for the same test.
constexpr const char* kAlwaysSet[] = {"n_prompt", "n_gen",     "n_depth",      "n_batch",
                                      "n_ubatch", "n_threads", "n_gpu_layers", "type_k",
                                      "type_v",   "flash_attn"};

// What was measured and when: no part of what was asked for.
bool is_result(std::string_view field, const Json& value) {
  return field == "test_time" || field.starts_with("avg_") || field.starts_with("stddev_") ||
         field.starts_with("samples_") || value.is_number_float();
}

// Told of the whole run; in an id only where nothing else tells tests apart.
bool is_of_the_run(std::string_view field) {
  return field == "cpu_info" || field == "gpu_info" || field == "backends" ||
         field.starts_with("build_");
}

std::string model_of(const Json& item) {
  if (const auto type = get_string(item, "model_type"); type && !type->empty()) return *type;
  return std::string(base_name(get_string(item, "model_filename").value_or("")));
}

void append(std::string& id, std::string_view field, const Json& value) {
  if (!value.is_null()) id += fmt::format("{}{}={}", id.empty() ? "" : " ", field, text_of(value));
}

// Whether the field tells tests apart that have one id so far.
bool tells_apart(const Json& doc, const std::vector<std::string>& ids, const std::string& field) {
  std::map<std::string, Json> first;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Json& value = member(doc[i], field);
    if (first.try_emplace(ids[i], value).first->second != value) return true;
  }
  return false;
}

std::vector<std::string> ids_of(const Json& doc) {
  std::vector<std::string> ids, fields;
  for (const Json& item : doc) {
    std::string& id = ids.emplace_back(model_of(item));
    for (const char* field : kAlwaysSet) append(id, field, member(item, field));
    for (const auto& [field, value] : item.items())
      if (!is_result(field, value) && std::ranges::find(fields, field) == fields.end())
        fields.push_back(field);
  }
  std::ranges::stable_partition(fields, [](const auto& field) { return !is_of_the_run(field); });
  for (const auto& field : fields) {
    if (!tells_apart(doc, ids, field)) continue;
    for (std::size_t i = 0; i < ids.size(); ++i) append(ids[i], field, member(doc[i], field));
  }
  return ids;
}

// Each text once, in the order of the file.
template <class TextOf>
std::vector<std::string> all_texts(const Json& doc, TextOf text_of_item) {
  std::vector<std::string> texts;
  for (const Json& item : doc)
    if (auto text = text_of_item(item);
        !text.empty() && std::ranges::find(texts, text) == texts.end())
      texts.push_back(std::move(text));
  return texts;
}
std::vector<std::string> all_of(const Json& doc, const char* field) {
  return all_texts(doc, [&](const Json& item) { return get_string(item, field).value_or(""); });
}

}  // namespace

bool is_llama_bench(const Json& doc) {
  return doc.is_array() && !doc.empty() && member(doc[0], "samples_ns").is_array() &&
         member(doc[0], "n_prompt").is_number();
}

Result<RunRecord> from_llama_bench(const Json& doc, std::string_view name) {
  for (const Json& item : doc)
    if (!item.is_object())
      return fail(ErrorKind::bad_input, fmt::format("{}: a test is not an object", name));
  RunRecord run;
  run.protocol.origin = "llama-bench";
  run.started_utc = utc_of(get_string(doc[0], "test_time").value_or(""));
  run.git_commit = join(all_of(doc, "build_commit"), ", ");
  run.environment.cpu_model = join(all_of(doc, "cpu_info"), ", ");
  run.workload.name = join(all_texts(doc, model_of), ", ");
  run.workload.device = to_lower(join(all_of(doc, "backends"), ", "));
  for (const auto& gpu : all_of(doc, "gpu_info")) run.environment.gpus.push_back({gpu, ""});
  const auto ids = ids_of(doc);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Repeat repeat;
    for (const Json& sample : member(doc[i], "samples_ns"))
      if (const auto ns = positive(number_in(sample))) repeat.samples_ns.push_back(*ns);
    if (repeat.samples_ns.empty())
      fail_repeat(repeat, "it has no sample greater than 0", StackStatus::no_valid_samples);
    add_only_repeat(run, ids[i], std::move(repeat));
  }
  return run;
}

}  // namespace gpuready::bench
