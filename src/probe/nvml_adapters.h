// How each kind of NVML device query is called and its answer rendered. One adapter a signature.
#pragma once

#include "host/probe_document.h"
#include "probe/nvml_types.h"

namespace gpuready::nvml {

// char* and its length
int text(void* function, Device device, int, Json& value);
// char* of a size that the reference gives (GSP firmware: 64)
int text_of_known_size(void* function, Device device, int, Json& value);
int number(void* function, Device device, int, Json& value);    // unsigned int*
int number64(void* function, Device device, int, Json& value);  // unsigned long long*
// unsigned int*, nvmlProcessInfo_t*: only how many there are, not their list
int process_count(void* function, Device device, int, Json& value);
int number_of(void* function, Device device, int parameter, Json& value);  // enum, unsigned int*
int nothing(void* function, Device device, int, Json& value);              // the code is the answer
int current_and_pending(void* function, Device device, int, Json& value);

int pci_info(void* function, Device device, int, Json& value);
int compute_capability(void* function, Device device, int, Json& value);
int memory(void* function, Device device, int, Json& value);
int memory_v2(void* function, Device device, int, Json& value);
int bar1_memory(void* function, Device device, int, Json& value);
int power_constraints(void* function, Device device, int, Json& value);
int temperature_v1(void* function, Device device, int, Json& value);
int utilization(void* function, Device device, int, Json& value);
int sram_errors(void* function, Device device, int, Json& value);
int remapped_rows(void* function, Device device, int, Json& value);
int row_remapper_histogram(void* function, Device device, int, Json& value);
int retired_pages(void* function, Device device, int cause, Json& value);
int retired_pages_v2(void* function, Device device, int cause, Json& value);
int fabric_info(void* function, Device device, int, Json& value);
int fabric_info_v2(void* function, Device device, int, Json& value);
int fabric_info_v3(void* function, Device device, int, Json& value);
int cpu_affinity(void* function, Device device, int, Json& value);     // "0-15,32-47"
int memory_affinity(void* function, Device device, int, Json& value);  // NUMA nodes, "0"
int attributes(void* function, Device device, int, Json& value);

constexpr int ecc_counter(int error_type, int counter) { return error_type << 8 | counter; }
int ecc_total(void* function, Device device, int counter, Json& value);

// {"bus_id","device_id","subsystem_id"}; also for NVLink's remote ends.
Json render(const PciInfo& pci);
// A char array that a library filled, whether or not it ended it.
template <std::size_t N>
std::string bounded(const char (&buffer)[N]) {
  std::size_t size = 0;
  while (size < N && buffer[size] != 0) ++size;
  return std::string(buffer, size);
}

}  // namespace gpuready::nvml
