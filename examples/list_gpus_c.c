/* The same as list_gpus.cc, through the C interface. */
#include <stdio.h>

#include "gpuready/gpuready.h"

int main(void) {
  gpuready_gpu_info info = {.size = sizeof info};
  char text[GPUREADY_ERROR_MAX];
  if (gpuready_get_gpu_info(&info) != GPUREADY_OK ||
      gpuready_summary(&info, text, sizeof text) != GPUREADY_OK) {
    printf("%s\n", gpuready_last_error());
    return 1;
  }
  printf("%s\n", text);
  if (gpuready_preflight_check() != GPUREADY_OK) {
    printf("%s\n", gpuready_last_error());
    return 1;
  }
  gpuready_cuda_device devices[16];
  for (size_t i = 0; i < 16; ++i) devices[i].size = sizeof devices[i];
  size_t count = 0;
  if (gpuready_list_cuda_devices(devices, 16, &count) != GPUREADY_OK) {
    printf("%s\n", gpuready_last_error());
    return 1;
  }
  for (size_t i = 0; i < count && i < 16; ++i)
    printf("CUDA device %d: %s, %d multiprocessors\n", (int)devices[i].device_id, devices[i].name,
           (int)devices[i].multiprocessor_count);
  return 0;
}
