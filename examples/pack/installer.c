/* An installer of its own: installs a release for this machine and says what came of it.
 * Usage: installer RELEASE PUBLIC_KEY FOLDER */
#include <stdio.h>
#include <string.h>

#include "gpuready/pack_c.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  char* document = NULL;
  if (gpuready_pack_install_json(argv[1], argv[2], argv[3], &document) != GPUREADY_OK) {
    fprintf(stderr, "%s\n", gpuready_last_error());
    return 1;
  }
  printf("%s\n", document);
  const int installed = strstr(document, "\"result\": \"installed\"") != NULL ||
                        strstr(document, "\"result\": \"unchanged\"") != NULL;
  const int nothing = strstr(document, "\"result\": \"nothing\"") != NULL; /* for this machine */
  gpuready_free(document);
  if (nothing) return 0;
  if (!installed) return 1;
  if (gpuready_pack_verify_json(NULL, argv[3], &document) != GPUREADY_OK) return 1;
  const int whole = strstr(document, "\"exit_code\": 0") != NULL;
  gpuready_free(document);
  return whole ? 0 : 1;
}
