// One kernel's statements, as they come.
#pragma once

#include "text.h"

namespace ptx {

// Places of constants, told from those of registers until both are known.
inline constexpr u32 kConstant = u32{1} << 31;

class KernelParser final : public Builder {
 public:
  KernelParser(const Variables& globals, std::string name) : globals_(globals) {
    kernel_.name = std::move(name);
    scopes_.emplace_back();
  }

  void parameter(std::string_view name, const Variable& v) {
    const u32 offset = (kernel_.parameter_bytes + v.align - 1) / v.align * v.align;
    parameters_[name] = offset;
    kernel_.parameter_bytes = offset + v.bytes;
  }

  // One statement without its ';'.
  void statement(std::string_view text, u32 line);
  void open() { scopes_.emplace_back(); }
  void close();
  void label(std::string_view name) {
    scopes_.back().labels[name] = static_cast<u32>(kernel_.code.size());
  }
  Kernel finish();

  u32 place(const Operand& operand, u32 bytes) override;
  u32 predicate(const Operand& operand) override;
  u32 register_bytes(const Operand& operand) const override {
    const Register* r = find(operand.text);
    return r ? r->bytes : 0;
  }
  u32 sink() override { return new_register(8); }
  u32 address(const Operand& operand, Instruction& instruction) override;

 private:
  struct Register {
    u32 bytes = 0;
    u32 place = kNone;  // kNone until it is used
    bool is_predicate = false;
  };
  struct Range {  // "%r<12>"
    u32 count = 0;
    Register kind;
  };
  struct Scope {
    std::map<std::string_view, Register> registers;
    std::map<std::string_view, Range> ranges;
    std::map<std::string_view, u32> labels;
    std::vector<std::pair<std::size_t, std::string_view>> branches;  // whose labels are awaited
  };

  void directive(std::string_view text);
  void declare(std::string_view type, std::string_view names);
  const Register* find(std::string_view name) const {
    return const_cast<KernelParser*>(this)->find_register(name);
  }
  Register* find_register(std::string_view name);
  u32 new_register(u32 bytes) {
    const u32 at = register_bytes_;
    register_bytes_ += (std::max(bytes * kLanes, u32{4}) + 63) / 64 * 64;
    return at;
  }
  u32 constant(u64 value, u32 bytes);
  u32 special(const std::string& name, u32 bytes);
  u32 symbol(std::string_view name, u32 bytes);

  const Variables& globals_;
  Variables own_;
  std::map<std::string_view, u32> shared_offsets_;
  std::map<std::string_view, u32> parameters_;  // and where each begins
  std::string_view local_;
  std::vector<Scope> scopes_;
  std::map<std::pair<u64, u32>, u32> constants_;
  std::map<std::string, u32> specials_;
  u32 register_bytes_ = 0;
  Kernel kernel_;
};

}  // namespace ptx
