#include "dotnet/code/variables.h"

#include "base/arch/cpu.h"
#include "base/arch/per_cpu.h"
#include "dotnet/code/frames/aarch64/debug_registers.h"
#include "dotnet/code/frames/x86_64/debug_registers.h"
#include "dotnet/code/nibbles.h"

namespace mixstack::dotnet {
namespace {

// ICorDebugInfo::MAX_ILNUM is where stored numbers start. Since .NET 11 a call's result has a number, too, and the IL
// offset of the call instead of a length.
constexpr std::int32_t kLowestNumber = -4, kLowestNumberOf11 = -6, kReturnedByCall = -5;
constexpr std::uint32_t kMostCode = 1 << 28;

// ICorDebugInfo::VarLocType.
enum class Stored : std::uint32_t {
  reg,
  reg_by_ref,
  reg_fp,
  stack,
  stack_by_ref,
  reg_reg,
  reg_stack,
  stack_reg,
  stack_two,
  fp_stack,
  fixed_va
};

/// psABI numbers by those that debug information has.
constexpr arch::PerCpu<std::span<const unsigned>> kDebugRegisters{.x86_64 = frames::x86_64::kDebugRegisters,
                                                                  .aarch64 = frames::aarch64::kDebugRegisters};

std::optional<unsigned> psabi_register(std::uint32_t number, Arch arch) {
  const auto registers = kDebugRegisters[arch];
  return number < registers.size() ? std::optional<unsigned>(registers[number]) : std::nullopt;
}

/// Reads places. A variable in a register that is not a general one is `elsewhere`.
class Places {
 public:
  Places(Nibbles& in, Arch arch) : in_(in), arch_(arch) {}

  VariablePlace next() {
    is_general_ = true;
    const VariablePlace place = read();
    return is_general_ ? place : VariablePlace{};
  }
  [[nodiscard]] bool ok() const { return ok_ && in_.ok(); }

 private:
  VariablePlace read() {
    using Kind = VariablePlace::Kind;
    VariablePlace place;
    switch (static_cast<Stored>(in_.number())) {
      case Stored::reg:
        return one(Kind::in_register);
      case Stored::reg_by_ref:
        return one(Kind::by_register);
      case Stored::stack:
        return based(Kind::on_stack);
      case Stored::stack_by_ref:
        return based(Kind::by_stack);
      case Stored::reg_reg:
        place.kind = Kind::in_registers;
        place.first = reg();
        place.second = reg();
        return place;
      case Stored::reg_fp:
        (void)in_.number();  // numbered otherwise than the others
        return place;
      case Stored::reg_stack:
        place.kind = Kind::split;
        (void)in_.number();
        (void)in_.number();
        (void)in_.signed_number();
        return place;
      case Stored::stack_reg:
        place.kind = Kind::split;
        (void)in_.signed_number();
        (void)in_.number();
        (void)in_.number();
        return place;
      case Stored::stack_two:
        place = based(Kind::split);
        return place;
      case Stored::fp_stack:
      case Stored::fixed_va:
        (void)in_.number();
        return place;
    }
    ok_ = false;
    return place;
  }
  unsigned reg() {
    const auto number = psabi_register(in_.number(), arch_);
    if (!number) is_general_ = false;
    return number.value_or(0);
  }
  VariablePlace one(VariablePlace::Kind kind) {
    VariablePlace place;
    place.kind = kind;
    place.first = reg();
    return place;
  }
  VariablePlace based(VariablePlace::Kind kind) {
    VariablePlace place = one(kind);
    place.offset = in_.signed_number();
    return place;
  }

  Nibbles& in_;
  Arch arch_;
  bool ok_ = true, is_general_ = true;
};

std::int32_t next_number(Nibbles& in, std::int32_t lowest) {
  return static_cast<std::int32_t>(in.number() + static_cast<std::uint32_t>(lowest));
}

/// Reads all but the place. Answers the end of the code that the row is for.
std::uint64_t next_row(Nibbles& in, DebugInfoForm form, VariableHome& home) {
  if (form != DebugInfoForm::headers) {
    home.begin = in.number();
    const std::uint64_t end = std::uint64_t{home.begin} + in.number();
    home.number = next_number(in, kLowestNumber);
    return end;
  }
  home.number = next_number(in, kLowestNumberOf11);
  home.begin = in.number();
  const std::uint32_t length_or_call = in.number();
  return std::uint64_t{home.begin} + (home.number == kReturnedByCall ? 1 : length_or_call);
}

}  // namespace

Result<std::vector<VariableHome>> decode_variables(std::span<const std::byte> bytes, Arch arch, DebugInfoForm form) {
  if (kDebugRegisters[arch].empty()) return fail(ErrorCode::unsupported_cpu);
  Nibbles in(bytes);
  const std::uint32_t count = in.number();
  if (!in.ok()) return fail(ErrorCode::truncated);
  if (count > kMostVariableHomes) return fail(ErrorCode::limit_exceeded, count);
  constexpr std::size_t kFewestNibbles = 5;  // of one: begin, length, number, kind, a register
  if (count > 2 * bytes.size() / kFewestNibbles) return fail(ErrorCode::truncated, count);
  Places places(in, arch);
  std::vector<VariableHome> homes;
  homes.reserve(count);
  for (std::uint32_t i = 0; i < count; i++) {
    VariableHome home;
    const std::uint64_t end = next_row(in, form, home);
    home.place = places.next();
    if (!in.ok()) return fail(ErrorCode::truncated, i);
    if (!places.ok() || end > kMostCode) return fail(ErrorCode::malformed, i);
    home.end = static_cast<std::uint32_t>(end);
    homes.push_back(home);
  }
  return homes;
}

Result<std::vector<VariableHome>> read_variables(const MemoryReader& memory, Address blob, DebugInfoWriter writer,
                                                 DebugInfoForm form, Arch arch) {
  const auto parts = find_debug_info_parts(memory, blob, writer, form);
  if (!parts) return fail(parts.error());
  std::vector<std::byte> bytes(parts->variables.bytes);
  if (bytes.empty()) return std::vector<VariableHome>{};
  if (const auto read = memory.read_exact(parts->variables.begin, bytes); !read) return fail(read.error());
  return decode_variables(bytes, arch, form);
}

bool is_kept_across_calls(Arch arch, unsigned reg) {
  return reg < Registers::kMax && (arch::cpu(arch).preserved_with_sp() >> reg & 1) != 0;
}

std::optional<VariablePlace> place_of(std::span<const VariableHome> homes, std::int32_t number, std::uint32_t native) {
  std::optional<VariablePlace> found;
  for (const VariableHome& home : homes) {
    if (home.number != number || native < home.begin || native >= home.end) continue;
    if (found && *found != home.place) return std::nullopt;
    found = home.place;
  }
  return found;
}

}  // namespace mixstack::dotnet
