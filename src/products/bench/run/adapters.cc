#include "bench/run/adapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/characters.h"
#include "base/text.h"
#include "bench/embedded_adapters.h"

namespace gpuready::bench {
namespace {

constexpr AdapterEntry kAdapters[] = {
    {"gpuready", "gpuready (own kernels, reference)", "GPUREADY_BENCH_CMD", nullptr,
     "run gpuready doctor, which says why no GPU is there", true},
    {"gpuready_cublaslt", "gpuready (cuBLASLt, CUDA graph)", "GPUREADY_CUBLASLT_BENCH_CMD", nullptr,
     "install NVIDIA's cuBLAS (the package nvidia-cublas of the Python registry, or a CUDA "
     "toolkit), or name its library in GPUREADY_LIBCUBLASLT",
     true},
    {"torch_eager", "PyTorch (eager)", "TORCH_EAGER_BENCH_CMD", "torch_eager.py",
     "pip install torch"},
    {"torch_compile", "PyTorch (torch.compile)", "TORCH_COMPILE_BENCH_CMD", "torch_compile.py",
     "pip install torch"},
    {"torch_compile_graphs", "PyTorch (torch.compile, CUDA graphs)",
     "TORCH_COMPILE_GRAPHS_BENCH_CMD", "torch_compile.py", "pip install torch", false,
     "BENCH_TORCH_COMPILE_MODE=reduce-overhead"},
    {"xla", "XLA (JAX)", "XLA_BENCH_CMD", "xla.py", "pip install jax, or jax[cuda13] for a GPU"},
    {"tvm", "TVM", "TVM_BENCH_CMD", "tvm_stack.py", "pip install apache-tvm"},
    {"tensorrt", "TensorRT", "TENSORRT_BENCH_CMD", "tensorrt_stack.py",
     "pip install tensorrt onnx cuda-python"},
    {"onnxruntime", "ONNX Runtime", "ONNXRUNTIME_BENCH_CMD", "onnxruntime_stack.py",
     "pip install onnx onnxruntime, or onnxruntime-gpu for a GPU"},
    {"triton", "Triton", "TRITON_BENCH_CMD", "triton_stack.py", "pip install torch triton"},
    {"pyc", "PyC", "PYC_GPU_BENCH_CMD", nullptr,
     "set PYC_GPU_BENCH_CMD to the command of PyC's benchmark"},
    {"glow", "Glow", "GLOW_BENCH_CMD", nullptr, "set GLOW_BENCH_CMD to a command for it"},
    {"cutlass", "CUTLASS", "CUTLASS_BENCH_CMD", nullptr,
     "set CUTLASS_BENCH_CMD to a command for it"},
};

// Of a stack that is not in the table.
std::string variable_of(std::string_view id) {
  std::string name;
  for (const char c : to_upper(id)) name += is_letter_or_digit(c) ? c : '_';
  return name + "_BENCH_CMD";
}

}  // namespace

std::span<const AdapterEntry> known_adapters() { return kAdapters; }
std::span<const AdapterFile> adapter_files() {
  static const AdapterFile files[] = {GPUREADY_ADAPTER_FILES};
  return files;
}

Result<std::vector<std::string>> shell_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool any = false;  // of this word: quotes make one without letters
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool last = i + 1 == text.size();
    if (quote == '\'') {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\\' &&
               (quote == 0 || last ||
                std::string_view("$`\"\\\n").find(text[i + 1]) != std::string_view::npos)) {
      if (last) return fail(ErrorKind::bad_input, "it ends with a backslash");
      if (text[++i] != '\n') word += text[i];  // a line that goes on
      any = true;
    } else if (quote == '"') {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      any = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (any || !word.empty()) words.push_back(std::move(word));
      word.clear();
      any = false;
    } else {
      word += c;
    }
  }
  if (quote != 0) return fail(ErrorKind::bad_input, fmt::format("it has no closing {}", quote));
  if (any || !word.empty()) words.push_back(std::move(word));
  return words;
}

Result<std::vector<StackCommand>> stack_commands(std::span<const std::string> ids,
                                                 const GetVariable& get, const std::string& program,
                                                 const std::string& scripts) {
  std::vector<std::string> chosen(ids.begin(), ids.end());
  if (chosen.empty())
    for (const AdapterEntry& entry : kAdapters) chosen.emplace_back(entry.id);
  const auto python = get("BENCH_PYTHON");
  std::vector<StackCommand> commands;
  for (const std::string& id : chosen) {
    const auto known =
        std::ranges::find_if(kAdapters, [&](const AdapterEntry& entry) { return entry.id == id; });
    const bool in_table = known != std::end(kAdapters);
    const std::string variable = in_table ? known->variable : variable_of(id);
    if (std::ranges::any_of(commands, [&](const StackCommand& other) { return other.id == id; }))
      return fail(ErrorKind::bad_input, fmt::format("the stack {} is named twice", printable(id)));
    StackCommand command{.id = id,
                         .display_name = in_table ? known->display_name : id,
                         .cure = in_table ? known->cure : "",
                         .command = {},
                         .environment = {},
                         .reason = {},
                         .variable = {},
                         .has_gate = false};
    if (const auto text = get(variable); text && !trim(*text).empty()) {
      auto words = shell_words(*text);
      if (!words)
        return fail(ErrorKind::bad_input,
                    fmt::format("{}: {}: {}", variable, printable(*text), words.error().message));
      command.command = std::move(*words);
      command.variable = variable;
    } else if (!in_table) {
      std::vector<std::string> names;
      for (const AdapterEntry& entry : kAdapters) names.emplace_back(entry.id);
      return fail(ErrorKind::bad_input,
                  fmt::format("no stack is called {}: known are {}; a command in {} adds one",
                              printable(id), join(names, ", "), variable));
    } else if (known->is_gpuready) {
      command.command = {program, "bench", "adapter", "--stack", id};
    } else if (known->script != nullptr) {
      // Isolated: neither the current folder nor variables nor the user's own packages say what
      // `import` finds. Packages of a virtual environment are found by its python3.
      command.command = {python.value_or("python3"), "-I", "-B", "-u",
                         scripts + "/" + known->script};
      command.has_gate = true;
      if (python) command.variable = "BENCH_PYTHON";
      if (known->environment != nullptr) {
        const std::string_view pair = known->environment;
        command.environment.emplace_back(pair.substr(0, pair.find('=')),
                                         pair.substr(pair.find('=') + 1));
      }
    } else {
      command.reason = fmt::format("no command is known for it: {} is not set", variable);
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

namespace {

// As a word of shell_words(), and of a shell.
std::string word_of(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_letter_or_digit(c) || std::string_view("_@%+=:,./-").contains(c);
  });
  return plain ? text : shell_quoted(text);
}

}  // namespace

std::string exports_of(std::span<const StackCommand> all) {
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const StackCommand& stack = all[i];
    const char* variable = kAdapters[i].variable;
    if (stack.command.empty()) {
      out += fmt::format("# export {}='...'  # {}\n", variable, stack.cure);
      continue;
    }
    std::vector<std::string> words;
    for (const auto& [name, value] : stack.environment)
      words.insert(words.end(), {"env", name + "=" + value});
    for (const std::string& word : stack.command) words.push_back(word_of(word));
    out += fmt::format("export {}={}\n", variable, shell_quoted(join(words, " ")));
  }
  return out;
}

}  // namespace gpuready::bench
