#include <cmath>

#include "report/json_parts.h"

namespace gpuready {
namespace {

// Samples are read every 100 ms: more digits say nothing, and thousands of them make a document
// large.
double rounded(double value) { return std::round(value * 1000) / 1000; }

Json series_json(const SampleSeries& series) {
  Json doc = Json::object();
  put(doc, "gpu", series.gpu);
  put(doc, "uuid", series.uuid);
  doc["name"] = series.name;
  doc["unit"] = series.unit;
  doc["taken"] = series.taken;
  for (const auto& [key, value] : {std::pair{"min", series.min},
                                   {"mean", series.mean},
                                   {"max", series.max},
                                   {"last", series.last}})
    put(doc, key, number(rounded(value)));
  Json t_ms = Json::array(), value = Json::array();
  for (std::size_t i = 0; i < series.value.size() && i < series.t_ms.size(); ++i) {
    if (!std::isfinite(series.t_ms[i]) || !std::isfinite(series.value[i])) continue;
    t_ms.push_back(rounded(series.t_ms[i]));
    value.push_back(rounded(series.value[i]));
  }
  doc["t_ms"] = std::move(t_ms);
  doc["value"] = std::move(value);
  return doc;
}

Json xid_json(const SampledXid& xid) {
  Json doc = Json::object();
  put(doc, "gpu", xid.gpu);
  put(doc, "at_ms", number(xid.at_ms));
  doc["xid"] = xid.xid;
  return doc;
}

}  // namespace

Json samples_json(const Samples& samples) {
  Json doc = Json::object();
  put(doc, "interval_ms", number(samples.interval_ms));
  put_list(doc, "absent", samples.absent, [](const std::string& text) { return text; });
  doc["series"] = Json::array();
  for (const SampleSeries& series : samples.series) doc["series"].push_back(series_json(series));
  put_list(doc, "sampled_xids", samples.sampled_xids, xid_json);
  return doc;
}

}  // namespace gpuready
