// The probe mode of the program, alone.
#include <span>
#include <string>
#include <vector>

#include "probe/probe.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (args.empty() || args.front() != "__probe") return 2;
  return gpuready::run_probe(std::span(args).subspan(1));
}
