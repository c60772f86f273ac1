#include "process/kernel/register_set.h"

#include <array>

#include "base/arch/per_cpu.h"
#include "base/arch/restarted_call.h"
#include "base/arch/system_call_site.h"

namespace mixstack::process {
namespace {

struct RegisterSetFormat {
  std::size_t size = 0;
  Result<RegisterSet> (*decode)(std::span<const std::byte>) = nullptr;
  std::vector<std::byte> (*encode)(const RegisterSet&) = nullptr;
};
constexpr arch::PerCpu<RegisterSetFormat> kFormats{
    .x86_64 = {x86_64::kRegisterSetSize, x86_64::decode_register_set, x86_64::encode_register_set},
    .aarch64 = {aarch64::kRegisterSetSize, aarch64::decode_register_set, aarch64::encode_register_set}};

}  // namespace

std::size_t register_set_size(Arch arch) { return kFormats[arch].size; }

Result<RegisterSet> decode_register_set(Arch arch, std::span<const std::byte> bytes) {
  const auto decode = kFormats[arch].decode;
  if (decode == nullptr) return fail(ErrorCode::unsupported_cpu, static_cast<std::uint64_t>(arch));
  return decode(bytes);
}

std::vector<std::byte> encode_register_set(const RegisterSet& set) {
  const auto encode = kFormats[set.registers.arch()].encode;
  return encode != nullptr ? encode(set) : std::vector<std::byte>{};
}

namespace {

[[nodiscard]] std::int64_t told_number(const RegisterSet& set, const MemoryReader& code) {
  const Address pc = set.registers.pc();
  const bool is_told = arch::cpu(set.registers.arch()).system_call.instruction.empty();
  if (set.syscall >= 0 || is_told || pc < arch::kSystemCallCode) return set.syscall;
  std::array<std::byte, 2 * arch::kSystemCallCode> around;
  if (!code.read_exact(pc - arch::kSystemCallCode, around)) return -1;
  return arch::system_call_at(set.registers, around);
}

}  // namespace

std::int64_t system_call_number(const RegisterSet& set, const MemoryReader& code) {
  const std::int64_t number = told_number(set, code);
  const Address pc = set.registers.pc();
  if (!arch::is_restart(set.registers.arch(), number) || pc < arch::kRestartedCode) return number;
  std::array<std::byte, arch::kRestartedCode> before;
  if (!code.read_exact(pc - before.size(), before)) return number;
  return arch::restarted_call(set.registers.arch(), number, before);
}

char state_at_stop(const RegisterSet& set, std::int64_t call, char before) {
  if (before == 'S' && call < 0) return 'R';
  if (before == 'R' && set.was_waiting) return 'S';
  return before;
}

}  // namespace mixstack::process
