#include "probe/thinned_series.h"

#include <algorithm>

namespace gpuready {

ThinnedSeries::Point ThinnedSeries::merged(const Point& a, double weight_a, const Point& b,
                                           double weight_b) const {
  if (merge_ == Merge::last) return b;
  const double sum = weight_a + weight_b;
  return {(a.t_ms * weight_a + b.t_ms * weight_b) / sum,
          (a.value * weight_a + b.value * weight_b) / sum};
}

void ThinnedSeries::halve() {
  std::vector<Point> half;
  half.reserve(most_points_);
  for (std::size_t i = 0; i + 1 < points_.size(); i += 2)
    half.push_back(merged(points_[i], 1, points_[i + 1], 1));
  // A point without a neighbour goes on as the beginning of the next.
  if (points_.size() % 2 == 1) {
    pending_ = points_.back();
    pending_count_ = stride_;
  }
  points_ = std::move(half);
  stride_ *= 2;
}

void ThinnedSeries::add(double t_ms, double value) {
  min_ = taken_ == 0 ? value : std::min(min_, value);
  max_ = taken_ == 0 ? value : std::max(max_, value);
  sum_ += value;
  last_ = value;
  ++taken_;
  const Point sample{t_ms, value};
  pending_ = pending_count_ == 0 ? sample
                                 : merged(pending_, static_cast<double>(pending_count_), sample, 1);
  if (++pending_count_ < stride_) return;
  points_.push_back(pending_);
  pending_count_ = 0;
  if (points_.size() >= most_points_) halve();
}

std::vector<ThinnedSeries::Point> ThinnedSeries::points() const {
  std::vector<Point> out = points_;
  if (pending_count_ > 0) out.push_back(pending_);
  return out;
}

}  // namespace gpuready
