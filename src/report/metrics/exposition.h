// The text formats of Prometheus: metric families with HELP and TYPE, in version 0.0.4 of its own
// format, and in OpenMetrics 1.0.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuready {

using Labels = std::vector<std::pair<std::string_view, std::string>>;
Labels with(Labels labels, std::string_view key, std::string value);

enum class MetricsFormat { prometheus, openmetrics };

// Collects families in the order in which they first appear; samples of one family stand together,
// as the format demands, and two with the same labels become their sum.
class Exposition {
 public:
  // `type`: "gauge" or "counter". Values that are not numbers are left out.
  void add(std::string_view name, std::string_view type, std::string_view help, Labels labels,
           double value);
  std::string text(MetricsFormat format = MetricsFormat::prometheus) const;

 private:
  struct Sample {
    Labels labels;
    double value = 0;
  };
  struct Family {
    std::string name, type, help;
    std::vector<Sample> samples;
  };
  std::vector<Family> families_;
};

}  // namespace gpuready
