// Everything of gpuready's C++ interface. It needs C++20: g++ 12, clang 15, or newer.
#pragma once

#include "gpuready/cuda_pool.h"
#include "gpuready/finding.h"
#include "gpuready/gpu_info.h"
#include "gpuready/machine.h"
#include "gpuready/obligation.h"
#include "gpuready/result.h"
#include "gpuready/samples.h"
#include "gpuready/ternary.h"
#include "gpuready/ternary_cuda.h"
#include "gpuready/ternary_device.h"
#include "gpuready/ternary_gguf.h"
#include "gpuready/verdict.h"
