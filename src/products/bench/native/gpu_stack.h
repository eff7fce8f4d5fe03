// What the stacks on a GPU share, by CUDA or by Vulkan: tensors, samples by events of the device,
// and one iteration as a recorded graph.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bench/native/native_stack.h"
#include "bench/run/inputs.h"
#include "device/device.h"

namespace gpuready::bench {

class GpuStack : public NativeStack {
 public:
  GpuStack(const GpuStack&) = delete;
  GpuStack& operator=(const GpuStack&) = delete;
  ~GpuStack() override;

  // The first piece fills the queue and is not a sample.
  Result<std::vector<double>> block(std::uint64_t iterations, std::uint64_t count) final;
  Result<double> cold_sample_ms() final;

 protected:
  GpuStack(const Request& request, std::unique_ptr<Device> device);
  Result<void> start();          // before all that follows
  Result<void> reserve_flush();  // after what the stack itself holds, which is then its peak

  // Gives the stream one iteration of the workload.
  virtual Result<void> iterate() = 0;

  StreamId stream() const { return stream_->id(); }
  Result<DeviceAddress> allocate(std::uint64_t bytes);
  Result<DeviceAddress> place(std::span<const unsigned char> bytes);
  Result<DeviceAddress> place(const Input& input);  // in the request's dtype
  Result<Output> read(DeviceAddress address, std::uint64_t rows, std::uint64_t columns,
                      Dtype dtype);

  // The shortest of three times of an iteration of the whole workload, as it is set up now, and all
  // three.
  Result<double> trial_ms(double least_ms);
  Result<std::vector<double>> trials_ms(double least_ms);
  // A graph spares the host; a stream has shorter gaps between iterations.
  Result<void> choose_graph();

  const Request r_;
  std::unique_ptr<Device> device_;

 private:
  Result<void> repeat(std::uint64_t iterations);

  std::optional<DeviceStream> stream_;
  std::vector<DeviceBuffer> buffers_;
  std::optional<DeviceBuffer> flush_;
  std::uint64_t flush_bytes_ = 0, allocated_ = 0;
  std::optional<GraphId> graph_;
  std::vector<EventId> events_;
};

// The GPU that the request's device means: the driver's first one, and a Vulkan device that is
// software only where there is no other.
Result<std::unique_ptr<Device>> open_gpu(const Request& request);

}  // namespace gpuready::bench
