/* What a VM manager asks: the devices, what is attached, and what attaching one would take.
 * Usage: vm_manager DEVICE NAME */
#include <stdio.h>
#include <string.h>

#include "gpuready/vm_c.h"

/* Prints the document, or why there is none; 1 where its exit code is 0. */
static int show(gpuready_status status, char* document) {
  if (status != GPUREADY_OK) {
    fprintf(stderr, "%s: %s\n", gpuready_status_text(status), gpuready_last_error());
    return 0;
  }
  printf("%s\n", document);
  const int good = strstr(document, "\"exit_code\": 0") != NULL;
  gpuready_free(document);
  return good;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  char* document = NULL;
  gpuready_status status = gpuready_vm_list_json(&document);
  if (!show(status, document)) return 1;
  status = gpuready_vm_status_json(&document);
  show(status, document);
  status = gpuready_vm_plan_json(argv[1], argv[2], 0, &document);
  if (!show(status, document)) return 3; /* gpuready_vm_attach_json() would be refused */
  return 0;
}
