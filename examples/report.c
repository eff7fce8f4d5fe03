/* This machine as a JSON document, and what is wrong with it: `report` or `report diagnose`.
 * cc report.c $(pkg-config --cflags --libs gpuready) */
#include <stdio.h>

#include "gpuready/gpuready.h"

int main(int argc, char** argv) {
  char* json = NULL;
  (void)argv;
  const gpuready_status status =
      argc > 1 ? gpuready_diagnose_json(&json) : gpuready_inspect_json(&json);
  if (status != GPUREADY_OK) {
    printf("%s: %s\n", gpuready_status_text(status), gpuready_last_error());
    return 1;
  }
  fputs(json, stdout);
  gpuready_free(json);
  return 0;
}
