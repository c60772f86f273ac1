// Input: an ELF file with DWARF debug information, an address in it, and a frame (registers, memory, caller).
// Output: the variables of the function at the address, and the value of one of them.
// Algorithm: the unit around the address, its function, then all blocks of that function. A variable is found again by
// the offset of its entry. Its blocks must contain the pc, then its location expression is evaluated and each piece is
// read. If the expression needs a register at function entry, the call site in the caller's file gives it, but only if
// that call is to this function, because after a tail call the arguments are another function's.
// Bounds: kMaxBlockDepth, kMaxEntries and kMaxFunctions entries for one question, kMaxVariables, kMaxValue bytes,
// kMaxCallers callers; expressions by expression.cc.
#include "engine/dwarf/dwarf_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>

#include "engine/dwarf/expression.h"

namespace mixstack::symbols {
namespace {

constexpr unsigned kMaxBlockDepth = 64;
constexpr std::size_t kMaxVariables = 4096;
constexpr std::size_t kMaxValue = 1 << 20;
constexpr unsigned kMaxCallers = 8;             // through which arguments are followed
constexpr std::size_t kMaxEntries = 1 << 18;    // read for one question: damaged siblings lead to entries twice
constexpr std::size_t kMaxFunctions = 1 << 22;  // the same of functions

std::string name_of(Dwarf_Die& die) {
  const char* name = ::dwarf_diename(&die);
  return name != nullptr ? name : std::string();
}

/// The entry an attribute refers to, followed through abstract origins.
bool refer(Dwarf_Die& die, unsigned attribute, Dwarf_Die& out) {
  Dwarf_Attribute found;
  return ::dwarf_attr_integrate(&die, attribute, &found) != nullptr && ::dwarf_formref_die(&found, &out) != nullptr;
}

bool type_of(Dwarf_Die& variable, Dwarf_Die& type) { return refer(variable, DW_AT_type, type); }

std::uint64_t size_of(Dwarf_Die type) {
  Dwarf_Die peeled;
  if (::dwarf_peel_type(&type, &peeled) == 0) type = peeled;
  Dwarf_Word size = 0;
  return ::dwarf_aggregate_size(&type, &size) == 0 ? size : 0;
}

std::string type_name(Dwarf_Die type, unsigned depth = 0) {
  if (depth > 8) return {};
  const std::string own = name_of(type);
  if (!own.empty()) return own;
  Dwarf_Die target;
  const std::string inner = refer(type, DW_AT_type, target) ? type_name(target, depth + 1) : "void";
  switch (::dwarf_tag(&type)) {
    case DW_TAG_pointer_type:
      return inner + "*";
    case DW_TAG_reference_type:
      return inner + "&";
    case DW_TAG_const_type:
      return "const " + inner;
    case DW_TAG_volatile_type:
      return "volatile " + inner;
    case DW_TAG_array_type:
      return inner + "[]";
    default:
      return {};
  }
}

bool is_variable(int tag) { return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter; }
bool is_block(int tag) { return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine; }

/// Calls `visit` for each entry in a function's blocks that is no block, with the blocks around it; stops when it
/// answers false.
using Visit = std::function<bool(Dwarf_Die& entry, const std::vector<Dwarf_Die>& blocks)>;

class EntryVisit {
 public:
  explicit EntryVisit(Visit visit) : visit_(std::move(visit)) {}
  bool run(Dwarf_Die& block) {
    Dwarf_Die child;
    if (blocks_.size() > kMaxBlockDepth || ::dwarf_child(&block, &child) != 0) return true;
    do {
      if (left_-- == 0) return false;
      if (is_block(::dwarf_tag(&child))) {
        blocks_.push_back(child);
        const bool go_on = run(child);
        blocks_.pop_back();
        if (!go_on) return false;
      } else if (!visit_(child, blocks_)) {
        return false;
      }
    } while (::dwarf_siblingof(&child, &child) == 0);
    return true;
  }

 private:
  Visit visit_;
  std::vector<Dwarf_Die> blocks_;
  std::size_t left_ = kMaxEntries;
};

bool is_inlined(const std::vector<Dwarf_Die>& blocks) {
  return std::any_of(blocks.begin(), blocks.end(),
                     [](Dwarf_Die b) { return ::dwarf_tag(&b) == DW_TAG_inlined_subroutine; });
}

DwarfVariable describe(Dwarf_Die& die) {
  DwarfVariable v;
  v.name = name_of(die);
  v.entry = ::dwarf_dieoffset(&die);
  v.is_parameter = ::dwarf_tag(&die) == DW_TAG_formal_parameter;
  int line = 0;
  if (::dwarf_decl_line(&die, &line) == 0) v.line = line;
  if (const char* file = ::dwarf_decl_file(&die)) v.file = file;
  Dwarf_Die type;
  if (type_of(die, type)) {
    v.type_name = type_name(type);
    v.size = size_of(type);
  }
  return v;
}

struct Expression {
  Dwarf_Attribute attribute;
  std::span<const Dwarf_Op> ops;
};

/// The expression of an attribute at a pc. Nothing: there is none there.
std::optional<Expression> expression_at(Dwarf_Die& die, unsigned attribute, std::uint64_t pc) {
  Expression found{};
  if (::dwarf_attr_integrate(&die, attribute, &found.attribute) == nullptr) return std::nullopt;
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (::dwarf_getlocation_addr(&found.attribute, pc, &ops, &count, 1) != 1) return std::nullopt;
  found.ops = {ops, count};
  return found;
}

/// The number that an expression stands for: an address in memory, a computed value, or the content of a register.
std::optional<std::uint64_t> number_of(Expression& expression, ExpressionInput input) {
  input.attribute = &expression.attribute;
  const auto places = evaluate(expression.ops, input);
  if (!places || places->size() != 1 || places->front().size != 0) return std::nullopt;
  const ValuePlace& place = places->front();
  if (place.kind == ValuePlace::Kind::in_register)
    return input.frame.registers->get(static_cast<unsigned>(place.value));
  if (place.kind == ValuePlace::Kind::memory || place.kind == ValuePlace::Kind::computed) return place.value;
  return std::nullopt;
}

std::optional<std::uint64_t> frame_base(Dwarf_Die& function, const DwarfFrame& frame) {
  auto found = expression_at(function, DW_AT_frame_base, frame.pc);
  return found ? number_of(*found, {frame, std::nullopt, nullptr, {}}) : std::nullopt;
}

std::string linkage_name(Dwarf_Die& function) {
  Dwarf_Attribute found;
  for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (::dwarf_attr_integrate(&function, attribute, &found) != nullptr)
      if (const char* name = ::dwarf_formstring(&found)) return name;
  return name_of(function);
}

CalledFunction called(Dwarf_Die& function, std::uint64_t load_bias) {
  CalledFunction callee{0, linkage_name(function)};
  Dwarf_Addr entry = 0;
  if (::dwarf_entrypc(&function, &entry) == 0) callee.entry = entry + load_bias;
  return callee;
}

/// The facts of a frame's function that expressions of its variables need.
ExpressionInput input_for(Dwarf_Die& function, const DwarfFrame& frame, unsigned depth) {
  ExpressionInput input{frame, frame_base(function, frame), nullptr, {}};
  if (frame.caller == nullptr || frame.caller_file == nullptr || depth >= kMaxCallers) return input;
  input.entry_value = [&frame, depth, callee = called(function, frame.load_bias)](std::uint64_t reg) {
    return frame.caller_file->argument_of_call(*frame.caller, reg, callee, depth + 1);
  };
  return input;
}

bool is_call_site(Dwarf_Die& die, std::uint64_t return_address) {
  const int tag = ::dwarf_tag(&die);
  if (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site) return false;
  Dwarf_Attribute found;
  Dwarf_Addr address = 0;
  for (const unsigned attribute : {DW_AT_call_return_pc, DW_AT_low_pc})
    if (::dwarf_attr(&die, attribute, &found) != nullptr && ::dwarf_formaddr(&found, &address) == 0)
      return address == return_address;
  return false;
}

/// After a tail call (jump), the arguments at the call site are those of the function between, so the names must agree.
bool calls(Dwarf_Die& site, const CalledFunction& callee, const ExpressionInput& input) {
  Dwarf_Attribute found;
  Dwarf_Die origin;
  for (const unsigned attribute : {DW_AT_call_origin, DW_AT_abstract_origin}) {
    if (::dwarf_attr(&site, attribute, &found) == nullptr || ::dwarf_formref_die(&found, &origin) == nullptr) continue;
    const std::string name = linkage_name(origin);
    return !name.empty() && name == callee.name;
  }
  for (const unsigned attribute : {DW_AT_call_target, DW_AT_GNU_call_site_target})
    if (auto target = expression_at(site, attribute, input.frame.pc))
      return callee.entry != 0 && number_of(*target, input) == callee.entry;
  return false;
}

bool is_of_register(Dwarf_Die& parameter, std::uint64_t reg) {
  const int tag = ::dwarf_tag(&parameter);
  if (tag != DW_TAG_call_site_parameter && tag != DW_TAG_GNU_call_site_parameter) return false;
  Dwarf_Attribute found;
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (::dwarf_attr(&parameter, DW_AT_location, &found) == nullptr || ::dwarf_getlocation(&found, &ops, &count) != 0 ||
      count != 1)
    return false;
  if (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)
    return static_cast<std::uint64_t>(ops->atom - DW_OP_reg0) == reg;
  return ops->atom == DW_OP_regx && ops->number == reg;
}

std::optional<std::uint64_t> argument_at(Dwarf_Die& site, std::uint64_t reg, const ExpressionInput& input) {
  Dwarf_Die parameter;
  if (::dwarf_child(&site, &parameter) != 0) return std::nullopt;
  std::size_t left = kMaxVariables;
  do {
    if (!is_of_register(parameter, reg)) continue;
    for (const unsigned attribute : {DW_AT_call_value, DW_AT_GNU_call_site_value})
      if (auto value = expression_at(parameter, attribute, input.frame.pc)) return number_of(*value, input);
    return std::nullopt;
  } while (--left != 0 && ::dwarf_siblingof(&parameter, &parameter) == 0);
  return std::nullopt;
}

/// Reads a value that is the same at all addresses.
bool constant_value(Dwarf_Die& die, std::size_t size, std::vector<std::byte>& out) {
  Dwarf_Attribute found;
  if (size > kMaxValue || ::dwarf_attr_integrate(&die, DW_AT_const_value, &found) == nullptr) return false;
  out.resize(size);
  Dwarf_Block block;
  Dwarf_Sword with_sign = 0;
  Dwarf_Word value = 0;
  if (::dwarf_formblock(&found, &block) == 0) {
    if (block.length < size) return false;
    std::memcpy(out.data(), block.data, size);
    return true;
  }
  if (const char* text = ::dwarf_formstring(&found)) {
    if (std::strlen(text) + 1 < size) return false;
    std::memcpy(out.data(), text, size);
    return true;
  }
  if (::dwarf_formsdata(&found, &with_sign) == 0) {
    value = static_cast<Dwarf_Word>(with_sign);
  } else if (::dwarf_formudata(&found, &value) != 0) {
    return false;
  }
  if (size > sizeof value) return false;
  std::memcpy(out.data(), &value, size);
  return true;
}

bool fetch(const ValuePlace& place, const DwarfFrame& frame, std::span<std::byte> out) {
  switch (place.kind) {
    case ValuePlace::Kind::memory:
      return frame.memory->read_exact(place.value, out).has_value();
    case ValuePlace::Kind::in_register: {
      const std::vector<std::byte> known = register_bytes(frame, place.value, out.size());
      std::copy(known.begin(), known.end(), out.begin());
      return known.size() == out.size();
    }
    case ValuePlace::Kind::computed:
      if (out.size() > sizeof place.value) return false;
      std::memcpy(out.data(), &place.value, out.size());
      return true;
    case ValuePlace::Kind::constant:
      if (place.bytes.size() < out.size()) return false;
      std::copy_n(place.bytes.begin(), out.size(), out.begin());
      return true;
    case ValuePlace::Kind::nowhere:
      break;
  }
  return false;
}

/// All or nothing: if a piece is missing, there is no value.
bool fetch(const std::vector<ValuePlace>& places, const DwarfFrame& frame, std::size_t size,
           std::vector<std::byte>& out) {
  out.resize(size);
  std::size_t done = 0;
  for (const ValuePlace& place : places) {
    const std::size_t part = place.size == 0 ? size : place.size;
    if (part > size - done || !fetch(place, frame, std::span(out).subspan(done, part))) return false;
    done += part;
  }
  return done == size;
}

}  // namespace

struct DwarfFile::Handles {
  std::shared_ptr<const FileBytes> file;
  Elf* elf = nullptr;
  Dwarf* dwarf = nullptr;
  ~Handles() {
    if (dwarf != nullptr) ::dwarf_end(dwarf);
    if (elf != nullptr) ::elf_end(elf);
  }
  /// The entry of the function around an address.
  [[nodiscard]] std::optional<Dwarf_Die> function_at(std::uint64_t address) const;
};

std::optional<Dwarf_Die> DwarfFile::Handles::function_at(std::uint64_t address) const {
  struct Search {
    std::uint64_t address;
    std::optional<Dwarf_Die> found;
    std::size_t left;
  } search{address, std::nullopt, kMaxFunctions};
  const auto check = [](Dwarf_Die* die, void* argument) -> int {
    auto& s = *static_cast<Search*>(argument);
    if (s.left-- == 0) return DWARF_CB_ABORT;
    if (::dwarf_haspc(die, s.address) != 1) return DWARF_CB_OK;
    s.found = *die;
    return DWARF_CB_ABORT;
  };
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (::dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    if (::dwarf_tag(&die) != DW_TAG_compile_unit || ::dwarf_haspc(&die, address) == 0) continue;
    if (::dwarf_getfuncs(&die, check, &search, 0) > 0) return search.found;
  }
  return std::nullopt;
}

DwarfFile::DwarfFile(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}
DwarfFile::~DwarfFile() = default;

Result<std::shared_ptr<DwarfFile>> DwarfFile::open(std::shared_ptr<const FileBytes> file) {
  ::elf_version(EV_CURRENT);
  auto handles = std::make_unique<Handles>();
  handles->file = std::move(file);
  const auto bytes = handles->file->bytes();
  // libelf's signature lacks a const; with ELF_C_READ it only reads.
  auto* start = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  handles->elf = bytes.empty() ? nullptr : ::elf_memory(start, bytes.size());
  if (handles->elf == nullptr) return fail(ErrorCode::malformed);
  handles->dwarf = ::dwarf_begin_elf(handles->elf, DWARF_C_READ, nullptr);
  if (handles->dwarf == nullptr) return fail(ErrorCode::not_found);
  return std::shared_ptr<DwarfFile>(new DwarfFile(std::move(handles)));
}

std::vector<DwarfVariable> DwarfFile::variables(std::uint64_t address) {
  std::vector<DwarfVariable> list, inlined;
  auto function = handles_->function_at(address);
  if (!function) return list;
  EntryVisit([&](Dwarf_Die& die, const std::vector<Dwarf_Die>& around) {
    if (!is_variable(::dwarf_tag(&die))) return true;
    const bool is_of_another = is_inlined(around);
    auto& where = is_of_another ? inlined : list;
    where.push_back(describe(die));
    if (is_of_another) where.back().is_parameter = false;
    return list.size() + inlined.size() < kMaxVariables;
  }).run(*function);
  list.insert(list.end(), std::make_move_iterator(inlined.begin()), std::make_move_iterator(inlined.end()));
  return list;
}

VariableStatus DwarfFile::value(std::uint64_t entry, const DwarfFrame& frame, std::size_t default_size,
                                std::vector<std::byte>& out) {
  auto function = handles_->function_at(frame.pc);
  if (!function) return VariableStatus::unknown_variable;
  VariableStatus status = VariableStatus::unknown_variable;
  EntryVisit([&](Dwarf_Die& die, const std::vector<Dwarf_Die>& around) {
    if (::dwarf_dieoffset(&die) != entry || !is_variable(::dwarf_tag(&die))) return true;
    status = VariableStatus::out_of_scope;
    for (Dwarf_Die block : around)
      if (::dwarf_haspc(&block, frame.pc) == 0) return false;
    Dwarf_Die type;
    const std::uint64_t known = type_of(die, type) ? size_of(type) : 0;
    const std::size_t size = known != 0 ? known : default_size;
    auto location = expression_at(die, DW_AT_location, frame.pc);
    if (!location) {
      // Without a location attribute it has a constant value or none; with a list it just has no place here.
      const bool has_places = ::dwarf_hasattr_integrate(&die, DW_AT_location) != 0;
      if (!has_places) status = constant_value(die, size, out) ? VariableStatus::found : VariableStatus::unavailable;
      return false;
    }
    status = VariableStatus::unavailable;
    ExpressionInput input = input_for(*function, frame, 0);
    input.attribute = &location->attribute;
    const auto places = evaluate(location->ops, input);
    if (places && size <= kMaxValue && fetch(*places, frame, size, out)) status = VariableStatus::found;
    return false;
  }).run(*function);
  return status;
}

std::optional<std::uint64_t> DwarfFile::argument_of_call(const DwarfFrame& frame, std::uint64_t reg,
                                                         const CalledFunction& callee, unsigned depth) {
  auto function = frame.return_address == 0 ? std::nullopt : handles_->function_at(frame.pc);
  if (!function) return std::nullopt;
  std::optional<std::uint64_t> value;
  EntryVisit([&](Dwarf_Die& die, const std::vector<Dwarf_Die>&) {
    if (!is_call_site(die, frame.return_address)) return true;
    const ExpressionInput input = input_for(*function, frame, depth);
    if (calls(die, callee, input)) value = argument_at(die, reg, input);
    return false;
  }).run(*function);
  return value;
}

}  // namespace mixstack::symbols
