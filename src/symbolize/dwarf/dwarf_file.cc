#include "symbolize/dwarf/dwarf_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>

#include <array>
#include <functional>

#include "symbolize/dwarf/expression.h"

namespace mixstack::symbolize {
namespace {

constexpr unsigned kMaxBlockDepth = 64;
constexpr std::size_t kMaxVariables = 4096;
constexpr std::size_t kMaxValue = 1 << 20;
constexpr std::size_t kMaxEntries = 1 << 18;    // looked at for one question: a lying sibling leads to entries twice
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

/// Calls `visit` for each variable of a function's blocks, with the blocks around it; false from it ends the visit.
using Visit = std::function<bool(Dwarf_Die& variable, const std::vector<Dwarf_Die>& blocks)>;

class VariableVisit {
 public:
  explicit VariableVisit(Visit visit) : visit_(std::move(visit)) {}
  bool run(Dwarf_Die& block) {
    Dwarf_Die child;
    if (blocks_.size() > kMaxBlockDepth || ::dwarf_child(&block, &child) != 0) return true;
    do {
      if (left_-- == 0) return false;
      const int tag = ::dwarf_tag(&child);
      if (is_variable(tag)) {
        if (!visit_(child, blocks_)) return false;
      } else if (tag == DW_TAG_lexical_block) {
        blocks_.push_back(child);
        const bool go_on = run(child);
        blocks_.pop_back();
        if (!go_on) return false;
      }
    } while (::dwarf_siblingof(&child, &child) == 0);
    return true;
  }

 private:
  Visit visit_;
  std::vector<Dwarf_Die> blocks_;
  std::size_t left_ = kMaxEntries;
};

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

/// The expression of an attribute that holds at a pc. Nothing: there is none there.
std::optional<std::span<const Dwarf_Op>> expression_at(Dwarf_Die& die, unsigned attribute, std::uint64_t pc) {
  Dwarf_Attribute found;
  if (::dwarf_attr_integrate(&die, attribute, &found) == nullptr) return std::nullopt;
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (::dwarf_getlocation_addr(&found, pc, &ops, &count, 1) != 1) return std::nullopt;
  return std::span<const Dwarf_Op>(ops, count);
}

/// An address, or the content of the register it names.
std::optional<std::uint64_t> frame_base(Dwarf_Die& function, const DwarfFrame& frame) {
  const auto ops = expression_at(function, DW_AT_frame_base, frame.pc);
  if (!ops) return std::nullopt;
  const auto place = evaluate(*ops, frame, std::nullopt);
  if (!place) return std::nullopt;
  if (place->kind == ValuePlace::Kind::in_register) return frame.registers->get(static_cast<unsigned>(place->value));
  return place->value;
}

bool fetch(const ValuePlace& place, const DwarfFrame& frame, std::size_t size, std::vector<std::byte>& out) {
  out.resize(size);
  if (place.kind == ValuePlace::Kind::memory) return frame.memory->read_exact(place.value, out).has_value();
  std::uint64_t value = place.value;
  if (place.kind == ValuePlace::Kind::in_register) {
    const auto known = frame.registers->get(static_cast<unsigned>(place.value));
    if (!known) return false;
    value = *known;
  }
  if (size > sizeof(value)) return false;
  const auto bytes = std::as_bytes(std::span(&value, 1));
  std::copy_n(bytes.begin(), size, out.begin());
  return true;
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
  std::vector<DwarfVariable> list;
  auto function = handles_->function_at(address);
  if (!function) return list;
  VariableVisit([&](Dwarf_Die& die, const std::vector<Dwarf_Die>&) {
    list.push_back(describe(die));
    return list.size() < kMaxVariables;
  }).run(*function);
  return list;
}

VariableStatus DwarfFile::value(std::uint64_t entry, const DwarfFrame& frame, std::size_t default_size,
                                std::vector<std::byte>& out) {
  auto function = handles_->function_at(frame.pc);
  if (!function) return VariableStatus::unknown_variable;
  VariableStatus status = VariableStatus::unknown_variable;
  VariableVisit([&](Dwarf_Die& die, const std::vector<Dwarf_Die>& around) {
    if (::dwarf_dieoffset(&die) != entry) return true;
    status = VariableStatus::out_of_scope;
    for (Dwarf_Die block : around)
      if (::dwarf_haspc(&block, frame.pc) == 0) return false;
    const auto ops = expression_at(die, DW_AT_location, frame.pc);
    if (!ops) {
      // Without any location it never has a place; with a list, not here.
      status = ::dwarf_hasattr_integrate(&die, DW_AT_location) != 0 ? VariableStatus::out_of_scope
                                                                    : VariableStatus::unavailable;
      return false;
    }
    status = VariableStatus::unavailable;
    Dwarf_Die type;
    const std::uint64_t known = type_of(die, type) ? size_of(type) : 0;
    const std::size_t size = known != 0 ? known : default_size;
    const auto place = evaluate(*ops, frame, frame_base(*function, frame));
    if (place && size <= kMaxValue && fetch(*place, frame, size, out)) status = VariableStatus::found;
    return false;
  }).run(*function);
  return status;
}

}  // namespace mixstack::symbolize
