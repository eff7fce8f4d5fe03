// A series of samples that never grows beyond a fixed number of points, however long it is taken:
// when it is full, neighbours are merged, and from then on twice as many samples make one point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuready {

class ThinnedSeries {
 public:
  enum class Merge { mean, last };  // what a point of several samples holds; last: of a counter
  static constexpr std::size_t kMostPoints = 2000;

  explicit ThinnedSeries(Merge merge = Merge::mean, std::size_t most_points = kMostPoints)
      : merge_(merge), most_points_(most_points < 2 ? 2 : most_points) {}

  void add(double t_ms, double value);

  struct Point {
    double t_ms = 0, value = 0;
  };
  std::vector<Point> points() const;  // in order of time, at most `most_points` and one

  // Over every sample, whatever was merged.
  std::uint64_t taken() const { return taken_; }
  double min() const { return min_; }
  double mean() const { return taken_ == 0 ? 0 : sum_ / static_cast<double>(taken_); }
  double max() const { return max_; }
  double last() const { return last_; }

 private:
  Point merged(const Point& a, double weight_a, const Point& b, double weight_b) const;
  void halve();
  Merge merge_;
  std::size_t most_points_;
  std::uint64_t stride_ = 1;         // samples a point
  std::uint64_t pending_count_ = 0;  // samples in `pending_`, fewer than stride_
  Point pending_;
  std::vector<Point> points_;
  std::uint64_t taken_ = 0;
  double min_ = 0, max_ = 0, sum_ = 0, last_ = 0;
};

}  // namespace gpuready
