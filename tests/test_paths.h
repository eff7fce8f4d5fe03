// Where the sources and this build are. Not macros of the command line: objects are the same in
// every folder, so a cache of compilations serves all of them.
#pragma once

extern const char* const GPUREADY_SOURCE_DIR;
extern const char* const GPUREADY_BINARY_DIR;
extern const char* const GPUREADY_BINARY;
