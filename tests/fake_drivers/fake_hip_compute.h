/* The compute test's kernel of the fake HIP runtime. */
#ifndef FAKE_HIP_COMPUTE_H
#define FAKE_HIP_COMPUTE_H

#ifdef __cplusplus
extern "C"
#endif
    void
    fake_hip_compute(const void* params, unsigned blocks, unsigned shared_bytes);

#endif
