// Registers, architectures and locations in the API's terms.
#include <limits>
#include <sstream>

#include "base/arch/cpu.h"
#include "frontends/stackwalker/access.h"

namespace Dyninst {
namespace {

constexpr std::int32_t kNumber = 0x00ffffff;
constexpr mixstack::arch::PerCpu<Architecture> kArchitectures{.x86_64 = Arch_x86_64, .aarch64 = Arch_aarch64};

/// The API's number of a register is one more than its DWARF number.
MachRegister make(Architecture arch, unsigned dwarf_number) {
  return MachRegister(static_cast<std::int32_t>(static_cast<unsigned>(arch) + dwarf_number + 1));
}

const mixstack::arch::Cpu& cpu_of(Architecture arch) { return mixstack::arch::cpu(Stackwalker::engine_arch(arch)); }

MachRegister one_of_three(Architecture arch, unsigned mixstack::ArchRegisters::*which) {
  return cpu_of(arch).is_walked ? make(arch, cpu_of(arch).registers.*which) : MachRegister();
}

}  // namespace

MachRegister MachRegister::getPC(Architecture arch) { return one_of_three(arch, &mixstack::ArchRegisters::pc); }
MachRegister MachRegister::getStackPointer(Architecture arch) {
  return one_of_three(arch, &mixstack::ArchRegisters::sp);
}
MachRegister MachRegister::getFramePointer(Architecture arch) {
  return one_of_three(arch, &mixstack::ArchRegisters::fp);
}
MachRegister MachRegister::getReturnAddress(Architecture arch) {
  return cpu_of(arch).has_link_register() ? make(arch, cpu_of(arch).link_register) : MachRegister();
}

std::string MachRegister::name() const {
  const mixstack::arch::Cpu& cpu = cpu_of(getArchitecture());
  const auto number = static_cast<unsigned>(number_ & kNumber) - 1;
  if (!cpu.is_walked || number > cpu.registers.pc) return "InvalidReg";  // the pc is the API's last register
  return std::string(cpu.name) + "::" + std::string(cpu.register_names[number]);
}

namespace Stackwalker {

mixstack::Arch engine_arch(Architecture arch) { return kArchitectures.find(arch); }

Architecture public_arch(mixstack::Arch arch) { return kArchitectures[arch]; }

MachRegister public_register(mixstack::Arch arch, unsigned dwarf_number) {
  const Architecture own = public_arch(arch);
  if (own == Arch_none || dwarf_number >= mixstack::arch_registers(arch).count) return {};
  return make(own, dwarf_number);
}

std::optional<unsigned> engine_register(mixstack::Arch arch, MachRegister reg) {
  if (!reg.isValid() || reg.getArchitecture() != public_arch(arch)) return std::nullopt;
  const auto number = static_cast<unsigned>(reg.val() & kNumber) - 1;
  if (number >= mixstack::arch_registers(arch).count) return std::nullopt;
  return number;
}

location_t public_location(mixstack::Arch arch, const mixstack::stackwalker::Location& location) {
  using Kind = mixstack::stackwalker::Location::Kind;
  location_t result;
  if (location.kind == Kind::memory) {
    result.location = loc_address;
    result.val.addr = location.address;
  } else if (location.kind == Kind::in_register) {
    // On x86-64 the return address column has the same number as the pc: it is no register.
    result.val.reg = public_register(arch, location.reg);
    result.location = result.val.reg.isValid() ? loc_register : loc_unknown;
  }
  return result;
}

mixstack::stackwalker::Location engine_location(mixstack::Arch arch, const location_t& location) {
  using Kind = mixstack::stackwalker::Location::Kind;
  if (location.location == loc_address) return {Kind::memory, location.val.addr, 0};
  const auto number = engine_register(arch, location.val.reg);
  if (location.location == loc_register && number) return {Kind::in_register, 0, *number};
  return {};
}

std::optional<mixstack::ThreadId> engine_thread(THR_ID thread) {
  if (thread < 0 || thread > std::numeric_limits<mixstack::ThreadId>::max()) return std::nullopt;
  return static_cast<mixstack::ThreadId>(thread);
}

std::string location_t::format() const {
  std::ostringstream text;
  switch (location) {
    case loc_address:
      text << "<loc: addr " << std::hex << val.addr << ">";
      break;
    case loc_register:
      text << "<loc: reg " << val.reg.name() << ">";
      break;
    case loc_unknown:
      text << "<loc: unknown>";
      break;
  }
  return text.str();
}

}  // namespace Stackwalker
}  // namespace Dyninst
