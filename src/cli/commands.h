// One function a command: declares its options on `app` and says what to run. main.cc has the list.
#pragma once

#include <CLI/App.hpp>

namespace gpuready::cli {

// Each sets app.callback() to run the command and to put its exit code into `exit_code`.
void add_check(CLI::App& app, int& exit_code);
void add_test(CLI::App& app, int& exit_code);
void add_selftest(CLI::App& app, int& exit_code);
void add_detect(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_record(CLI::App& app, int& exit_code);
void add_gpu_test(CLI::App& app, int& exit_code);
void add_ternary(CLI::App& app, int& exit_code);

}  // namespace gpuready::cli
