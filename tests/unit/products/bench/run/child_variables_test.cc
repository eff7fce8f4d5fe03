#include "bench/run/child_variables.h"

#include <gtest/gtest.h>

namespace gpuready::bench {
namespace {

TEST(ChildVariables, WhatChangesResultsIsRecorded) {
  for (const char* name :
       {"CUDA_LAUNCH_BLOCKING", "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_LOG_LEVEL",
        "NVIDIA_TF32_OVERRIDE", "TORCHINDUCTOR_MAX_AUTOTUNE", "PYTORCH_CUDA_ALLOC_CONF",
        "XLA_FLAGS", "JAX_ENABLE_X64", "TF_XLA_FLAGS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
        "TRITON_CACHE_DIR", "TVM_NUM_THREADS", "ORT_LOGGING_LEVEL", "LD_LIBRARY_PATH",
        "BENCH_TORCH_COMPILE_MODE", "GPUREADY_LIBCUBLASLT"})
    EXPECT_TRUE(is_recorded(name)) << name;
}

TEST(ChildVariables, SecretsAndTheContractAreNot) {
  for (const char* name :
       {"NVIDIA_API_KEY", "TF_AUTH", "TORCH_HUB_TOKEN", "JAX_PASSWORD", "HOME", "PATH",
        "MY_XLA_FLAGS", "TVM_BENCH_CMD", "BENCH_BATCH", "BENCH_DTYPE", "GPUREADY_HELPER", ""})
    EXPECT_FALSE(is_recorded(name)) << name;
}

TEST(ChildVariables, StacksGetWhatTheyNeedAndNothingElse) {
  for (const char* name : {"PATH", "HOME", "CUDA_LAUNCH_BLOCKING", "XLA_FLAGS", "BENCH_BATCH",
                           "GPUREADY_LIBCUDA", "OMP_NUM_THREADS", "PYTHONPATH", "CC"})
    EXPECT_TRUE(is_given_to_stacks(name)) << name;
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "NVIDIA_API_KEY", "LD_PRELOAD",
                           "GPUREADY_OCI_TOKEN", "SSH_AUTH_SOCK", "SUDO_USER", "TVM_BENCH_CMD"})
    EXPECT_FALSE(is_given_to_stacks(name)) << name;
}

TEST(ChildVariables, SecretsAreNamedInManyWays) {
  for (const char* name :
       {"TF_VAR_admin_pwd", "TF_CLI_ARGS", "TF_TOKEN_app_terraform_io", "TORCH_DB_PWD",
        "TORCH_pwd_OF_HUB", "JAX_PASS", "JAX_DBPASS", "my_token", "TVM_PASSPHRASE"}) {
    EXPECT_FALSE(is_recorded(name)) << name;
    EXPECT_TRUE(may_be_secret(name)) << name;
  }
  for (const char* name : {"TF_XLA_FLAGS", "TF_NUM_INTEROP_THREADS", "PWD", "OLDPWD", "X"})
    EXPECT_FALSE(may_be_secret(name)) << name;
}

TEST(ChildVariables, OfASecretAHashIsRecorded) {
  EXPECT_EQ(recorded_value("OMP_NUM_THREADS", "3"), "3");
  const auto hash = recorded_value("MY_TOKEN", "abc");
  EXPECT_EQ(hash, "sha256:ba7816bf8f01");  // FIPS 180-4's example
  EXPECT_NE(hash, recorded_value("MY_TOKEN", "abd"));
  EXPECT_EQ(recorded_idea("MY_TOKEN=abc"), "MY_TOKEN=" + hash);
  EXPECT_EQ(recorded_idea("MY_TOKEN"), "MY_TOKEN");
  EXPECT_EQ(recorded_idea("flags=a=b"), "flags=a=b");
}

TEST(ChildVariables, AreAsTheChildGetsThem) {
  const char* const environment[] = {"XLA_FLAGS=--a=b --c",
                                     "OMP_NUM_THREADS=3",
                                     "CUDA_VISIBLE_DEVICES=0,1",
                                     "HOME=/root",
                                     "MKL_X=\x1b[31m",
                                     "BROKEN",
                                     nullptr};
  const std::vector<std::pair<std::string, std::optional<std::string>>> changes = {
      {"CUDA_VISIBLE_DEVICES", "GPU-1"}, {"OMP_NUM_THREADS", std::nullopt}, {"NCCL_X", "0"}};
  const auto found = recorded_variables(environment, changes);
  EXPECT_EQ(found.size(), 4u);
  EXPECT_EQ(found.at("XLA_FLAGS"), "--a=b --c");
  EXPECT_EQ(found.at("CUDA_VISIBLE_DEVICES"), "GPU-1");
  EXPECT_EQ(found.at("NCCL_X"), "0");
  EXPECT_EQ(found.at("MKL_X").find('\x1b'), std::string::npos);
  EXPECT_TRUE(recorded_variables(nullptr, {}).empty());
}

TEST(ChildVariables, StacksSeeTheOneGpuAndWriteNothingBesideTheirSources) {
  const std::vector<VariableChange> always = {{"CUDA_MPS_PIPE_DIRECTORY", "/dev/null"},
                                              {"NCCL_NVLS_ENABLE", "0"},
                                              {"PYTHONUNBUFFERED", "1"},
                                              {"PYTHONDONTWRITEBYTECODE", "1"}};
  EXPECT_EQ(changes_for_stacks(""), always);
  auto with_gpu = always;
  with_gpu.emplace_back("CUDA_VISIBLE_DEVICES", "GPU-1");
  EXPECT_EQ(changes_for_stacks("GPU-1"), with_gpu);
}

TEST(ChildVariables, AnotherMachineGetsThoseOfStacksAndTheIdea) {
  using Variables = std::vector<std::pair<std::string, std::string>>;
  const char* const environment[] = {"BENCH_TORCH_COMPILE_MODE=a=b",
                                     "BENCH_EMPTY=",
                                     "BENCHMARK=1",
                                     "MY_BENCH_X=1",
                                     "TVM_BENCH_CMD=python3 'x y.py'",
                                     "_BENCH_CMD=y",
                                     "TVM_BENCH_CMDS=1",
                                     "POOL=1",
                                     "XLA_FLAGS=1",
                                     "HOME=/root",
                                     nullptr};
  const Variables stacks = {{"BENCH_TORCH_COMPILE_MODE", "a=b"},
                            {"BENCH_EMPTY", ""},
                            {"TVM_BENCH_CMD", "python3 'x y.py'"},
                            {"_BENCH_CMD", "y"}};
  EXPECT_EQ(variables_for_elsewhere(environment, ""), stacks);
  EXPECT_EQ(variables_for_elsewhere(environment, "commit"), stacks);
  auto with_idea = stacks;
  with_idea.emplace_back("POOL", "1");
  EXPECT_EQ(variables_for_elsewhere(environment, "POOL"), with_idea);
}

// What a shell refuses to export would end the whole command there.
TEST(ChildVariables, AnotherMachineGetsOnlyNamesOfAShell) {
  const char* const environment[] = {
      "=C:=C:",      "BENCH_A.B=1",    "BENCH_%=1",  "7Z_BENCH_CMD=7z",
      "BENCH_x()=1", "a-b_BENCH_CMD=", "BENCH_NONE", nullptr};
  for (const char* idea : {"", "7Z_BENCH_CMD", "BENCH_NONE"})
    EXPECT_TRUE(variables_for_elsewhere(environment, idea).empty()) << idea;
}

}  // namespace
}  // namespace gpuready::bench
