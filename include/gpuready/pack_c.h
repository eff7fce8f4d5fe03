/* Packages of GPU code from C: what `gpuready pack select`, `install` and `verify` do
 * (docs/pack-release.md). A program's installer calls these where it does not run the command.
 *
 * Each gives a JSON document in the form of schema/pack-select, pack-install or pack-list, which
 * gpuready_free() frees; its `exit_code` says how it ended, as the command's does, and GPUREADY_OK
 * says only that there is a document. `from` is a folder, a manifest.json, or an http(s) URL. `key`
 * is the maker's public key, as a file or as its line of base64; NULL: the one that the package's
 * folder remembers. `to` is the package's folder; NULL: ~/.local/share/NAME/gpu-libs. They may take
 * minutes, and one at a time installs into a folder. */
#ifndef GPUREADY_PACK_C_H
#define GPUREADY_PACK_C_H

#include "gpuready/gpuready.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which variant this machine gets, and why. Nothing is installed. */
GPUREADY_API gpuready_status gpuready_pack_select_json(const char* from, const char* key,
                                                       const char* to, char** json);
/* Chooses, fetches, verifies and tries it, then switches to it. The helper executable opens the
 * libraries. */
GPUREADY_API gpuready_status gpuready_pack_install_json(const char* from, const char* key,
                                                        const char* to, char** json);
/* Hashes every installed file and checks the signature. `name` may be NULL where `to` is given. */
GPUREADY_API gpuready_status gpuready_pack_verify_json(const char* name, const char* to,
                                                       char** json);

#ifdef __cplusplus
}
#endif

#endif
