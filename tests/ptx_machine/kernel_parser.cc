#include "kernel_parser.h"

#include "order.h"

namespace ptx {

KernelParser::Register* KernelParser::find_register(std::string_view name) {
  for (std::size_t s = scopes_.size(); s-- > 0;) {
    Scope& scope = scopes_[s];
    if (auto found = scope.registers.find(name); found != scope.registers.end())
      return &found->second;
    const auto digits = name.find_last_not_of("0123456789");
    if (digits == name.npos || digits + 1 == name.size()) continue;
    const auto range = scope.ranges.find(name.substr(0, digits + 1));
    if (range == scope.ranges.end() || number<u32>(name.substr(digits + 1)) >= range->second.count)
      continue;
    return &(scope.registers[name] = range->second.kind);
  }
  return nullptr;
}

u32 KernelParser::constant(u64 value, u32 bytes) {
  const auto [found, is_new] = constants_.try_emplace({value, bytes}, 0);
  if (is_new) {
    const auto at = kernel_.initial.size();
    kernel_.initial.resize(at + bytes * kLanes);
    for (u32 lane = 0; lane < kLanes; ++lane)
      std::memcpy(kernel_.initial.data() + at + lane * bytes, &value, bytes);
    kernel_.initial.resize((kernel_.initial.size() + 63) / 64 * 64);
    found->second = static_cast<u32>(at) | kConstant;
  }
  return found->second;
}

u32 KernelParser::special(const std::string& name, u32 bytes) {
  const auto [found, is_new] = specials_.try_emplace(name + "/" + std::to_string(bytes), 0);
  if (is_new) {
    const auto at = static_cast<u32>(kernel_.initial.size());
    kernel_.initial.resize(at + bytes * kLanes);
    kernel_.specials.push_back({name, at, bytes});
    found->second = at | kConstant;
  }
  return found->second;
}

// The address of a variable: an offset for shared memory.
u32 KernelParser::symbol(std::string_view name, u32 bytes) {
  if (parameters_.contains(name)) return special("parameters", 8);
  if (!local_.empty() && name == local_) return special("local", 8);
  auto variable = own_.find(name);
  if (variable == own_.end()) {
    const auto global = globals_.find(name);
    if (global == globals_.end()) throw Fault("unknown name " + std::string(name));
    if (global->second.dynamic) return special("dynamic", bytes);
    variable = own_.insert(*global).first;
  }
  const auto [offset, is_new] = shared_offsets_.try_emplace(name, 0);
  if (is_new) {
    const u32 align = variable->second.align;
    offset->second = (kernel_.shared_bytes + align - 1) / align * align;
    kernel_.shared_bytes = offset->second + variable->second.bytes;
  }
  return constant(offset->second, bytes);
}

u32 KernelParser::place(const Operand& operand, u32 bytes) {
  const std::string_view name = operand.text;
  if (name == "_") return sink();
  if (Register* r = find_register(name)) {
    if (r->is_predicate) throw Fault("a predicate where a value is wanted: " + std::string(name));
    if (r->bytes != bytes)
      throw Fault(std::string(name) + " has " + std::to_string(r->bytes) + " bytes, not " +
                  std::to_string(bytes));
    if (r->place == kNone) r->place = new_register(bytes);
    return r->place;
  }
  if (name.front() == '%') return special(std::string(name), bytes);
  if (name.front() == '-' || (name.front() >= '0' && name.front() <= '9'))
    return constant(bytes == 8 ? immediate(name) : immediate(name) & ((u64{1} << bytes * 8) - 1),
                    bytes);
  if (const auto parameter = parameters_.find(name);
      parameter != parameters_.end() && parameter->second != 0 && !operand.is_address)
    throw Fault("the address of a parameter that is not the first: " + std::string(name));
  return symbol(name, bytes);
}

u32 KernelParser::predicate(const Operand& operand) {
  if (operand.text == "_") return new_register(4);
  if (Register* r = find_register(operand.text)) {
    if (!r->is_predicate) throw Fault("no predicate: " + std::string(operand.text));
    if (r->place == kNone) r->place = new_register(0);
    return r->place;
  }
  return constant(immediate(operand.text) ? kAllLanes : 0, 4);
}

u32 KernelParser::address(const Operand& operand, Instruction& instruction) {
  if (!operand.is_address) throw Fault("no address: " + std::string(operand.text));
  const auto parameter = parameters_.find(operand.text);
  instruction.displacements.push_back(operand.displacement +
                                      (parameter == parameters_.end() ? 0 : parameter->second));
  return place(operand, address_bytes(operand));
}

void KernelParser::declare(std::string_view type, std::string_view names) {
  Register kind;
  kind.is_predicate = type == "pred";
  kind.bytes = kind.is_predicate ? 0 : bytes_of(type);
  for (auto name : split(names, ',')) {
    const auto open = name.find('<');
    if (open == name.npos)
      scopes_.back().registers[name] = kind;
    else
      scopes_.back().ranges[name.substr(0, open)] = {
          number<u32>(name.substr(open + 1, name.find('>') - open - 1)), kind};
  }
}

void KernelParser::directive(std::string_view text) {
  if (text.starts_with(".reg")) {
    text = trim(text.substr(4));
    const auto end = text.find_first_of(" \t");
    declare(text.substr(1, end - 1), trim(text.substr(end)));
  } else if (text.starts_with(".shared")) {
    own_.insert(variable(text));
  } else if (text.starts_with(".local")) {
    const auto [name, v] = variable(text);
    if (!local_.empty()) throw Fault("more than one local variable: " + kernel_.name);
    local_ = name;
    kernel_.local_bytes = (v.bytes + 15) / 16 * 16;
  } else if (!text.starts_with(".pragma")) {
    throw Fault("unknown directive " + std::string(text));
  }
}

// "a, {b, c}, [d+4], e|f", flattened.
std::vector<Operand> operands_of(std::string_view text) {
  std::vector<Operand> operands;
  while (!(text = trim(text)).empty()) {
    if (text.front() == ',' || text.front() == '{' || text.front() == '}' || text.front() == '|') {
      text.remove_prefix(1);
      continue;
    }
    Operand operand;
    if (text.front() == '[') {
      const auto end = text.find(']');
      auto inside = text.substr(1, end - 1);
      text.remove_prefix(end + 1);
      operand.is_address = true;
      if (const auto plus = inside.find('+'); plus != inside.npos) {
        operand.displacement = static_cast<i64>(immediate(trim(inside.substr(plus + 1))));
        inside = inside.substr(0, plus);
      }
      operand.text = trim(inside);
    } else {
      const auto end = text.find_first_of(",{}| \t\n");
      operand.text = text.substr(0, end);
      text.remove_prefix(operand.text.size());
    }
    operands.push_back(operand);
  }
  return operands;
}

void KernelParser::statement(std::string_view text, u32 line) {
  if (text.front() == '.') return directive(text);
  Instruction instruction;
  instruction.line = line;
  if (text.front() == '@') {
    text.remove_prefix(1);
    instruction.guard_not = text.front() == '!';
    if (instruction.guard_not) text.remove_prefix(1);
    const auto end = text.find_first_of(" \t\n");
    instruction.guard = predicate({text.substr(0, end)});
    text = trim(text.substr(end));
  }
  const auto end = text.find_first_of(" \t\n");
  Statement s{split(text.substr(0, end), '.'), {}};
  const auto rest = end == text.npos ? std::string_view{} : trim(text.substr(end));
  const auto op = s.opcode[0];
  instruction.of_whole_warps = s.has("aligned");
  if (op == "bra") {
    instruction.run = branch_instruction(line).run;
    instruction.flow = Flow::branch;
    scopes_.back().branches.emplace_back(kernel_.code.size(), rest);
  } else if (op == "ret" || op == "exit") {
    instruction.run = [](Warp&, const Instruction&) { return After::leave; };
    instruction.flow = Flow::leave;
  } else {
    s.operands = operands_of(rest);
    using Maker = bool (*)(Builder&, const Statement&, Instruction&);
    constexpr Maker kMakers[] = {make_bits,  make_arithmetic, make_convert, make_memory,
                                 make_async, make_warp,       make_matrix};
    if (std::ranges::none_of(kMakers, [&](Maker make) { return make(*this, s, instruction); }))
      throw Fault("unknown instruction");
  }
  kernel_.code.push_back(std::move(instruction));
}

void KernelParser::close() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (const auto& [at, name] : scope.branches) {
    if (const auto found = scope.labels.find(name); found != scope.labels.end())
      kernel_.code[at].target = found->second;
    else if (scopes_.empty())
      throw Fault("unknown label " + std::string(name));
    else
      scopes_.back().branches.emplace_back(at, name);
  }
}

// Constants first, then the registers.
Kernel KernelParser::finish() {
  while (!scopes_.empty()) close();
  order_blocks(kernel_.code);
  kernel_.initial.resize((kernel_.initial.size() + 63) / 64 * 64);
  const auto first = static_cast<u32>(kernel_.initial.size());
  const auto fix = [&](u32& place) {
    if (place != kNone) place = place & kConstant ? place & ~kConstant : place + first;
  };
  for (Instruction& i : kernel_.code) {
    for (u32& place : i.operands) fix(place);
    fix(i.guard);
  }
  kernel_.register_bytes = first + register_bytes_;
  return std::move(kernel_);
}

}  // namespace ptx
