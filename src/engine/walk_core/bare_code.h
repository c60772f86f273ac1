// Finds the caller of interrupted code without a frame or a description: precode, dispatch stubs, thunks, copies of
// helpers.
#pragma once

#include <cstdint>
#include <optional>

#include "base/arch/cpu.h"
#include "mixstack/registers.h"

namespace mixstack::walk {

/// Whether a word is the return address of such code.
enum class ReturnBelief : std::uint8_t {
  not_an_address,
  caller,    ///< a call ends there, in code with a description
  unproved,  ///< not decidable: the search ends
};

struct BareCaller {
  Address pc = 0, sp = 0;
  std::optional<std::uint64_t> fp;  ///< as the code had saved it
};

/// Such code has the return address in the link register, or where a call pushed it: at [sp], at [sp+8] if the code
/// saved one register, and with `may_have_pushed_two` at [sp+16] (the delay-load thunks of precompiled code push the
/// numbers of a section and a module). The frame pointer is never followed: it is the caller's, and would skip the very
/// method that called. `word(address, value)` reads the stack, `look_at(address)` returns ReturnBelief. Signal-safe if
/// these are.
template <class Word, class LookAt>
[[nodiscard]] std::optional<BareCaller> bare_caller(const Registers& registers, bool may_have_pushed_two, Word word,
                                                    LookAt look_at) {
  const arch::Cpu& cpu = arch::cpu(registers.arch());
  const Address sp = registers.sp();
  if (cpu.has_link_register()) {
    const auto lr = registers.get(cpu.link_register);
    return lr && look_at(*lr) == ReturnBelief::caller ? std::optional(BareCaller{*lr, sp, {}}) : std::nullopt;
  }
  if (!cpu.is_walked) return std::nullopt;
  const unsigned most = may_have_pushed_two ? 3 : 2;
  for (unsigned i = 0; i < most; i++) {
    const Address slot = sp + Address{8} * i;
    std::uint64_t value = 0;
    const ReturnBelief belief = word(slot, value) ? look_at(value) : ReturnBelief::not_an_address;
    if (belief == ReturnBelief::unproved) break;
    if (belief != ReturnBelief::caller) continue;
    BareCaller found{value, slot + 8, {}};
    // `push %rbp; mov %rsp,%rbp`: what was saved is the frame pointer.
    std::uint64_t saved = 0;
    if (slot == sp + 8 && registers.get(cpu.registers.fp) == sp && word(sp, saved)) found.fp = saved;
    return found;
  }
  return std::nullopt;
}

}  // namespace mixstack::walk
