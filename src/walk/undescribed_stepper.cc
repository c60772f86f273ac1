#include "walk/undescribed_stepper.h"

#include <algorithm>
#include <array>

#include "arch/call_site.h"
#include "arch/cpu.h"

namespace mixstack::walk {
namespace {

bool contains(const std::vector<AddressRange>& ranges, Address a) {
  auto it = std::upper_bound(ranges.begin(), ranges.end(), a,
                             [](Address address, const AddressRange& r) { return address < r.begin; });
  return it != ranges.begin() && std::prev(it)->contains(a);
}

StepOutcome found(Cursor& cursor, Address return_address, Address sp) {
  cursor.registers.set_pc(return_address);
  cursor.registers.set_sp(sp);
  return {.status = StepStatus::caller, .stepper = StepperId::stub, .trust = Trust::inferred};
}

}  // namespace

UndescribedStepper::UndescribedStepper(std::vector<AddressRange> executable, const MemoryReader& code,
                                       std::function<bool(Frame&)> is_described, const object::ModuleMap* modules)
    : executable_(std::move(executable)), code_(code), is_described_(std::move(is_described)), modules_(modules) {}

bool UndescribedStepper::claim(Frame& frame) {
  if (!contains(executable_, frame.pc.lookup())) return false;
  frame.kind = FrameKind::undescribed;
  const ModuleIndex index = modules_ == nullptr ? kNoModule : modules_->find(frame.pc.lookup());
  if (index != kNoModule && modules_->modules()[index].has_file) {
    frame.module = index;
    frame.module_offset = frame.pc.lookup() - modules_->modules()[index].load_bias;
  }
  return true;
}

UndescribedStepper::Belief UndescribedStepper::look_at(Arch arch, Address return_address) const {
  std::array<std::byte, arch::kMaxCallLength> before;
  if (return_address < before.size()) return Belief::not_an_address;
  Frame caller{.pc = CodeAddress::after_call(return_address)};
  if (code_.read_exact(return_address - before.size(), before)) {
    const bool is_caller = arch::call_before(arch, before, return_address).has_value() && is_described_(caller);
    return is_caller ? Belief::caller : Belief::not_an_address;
  }
  if (!is_described_(caller)) return Belief::not_an_address;
  // Whether a call ends there nobody can tell. In native code it may be any pointer, or the true one.
  if (caller.kind != FrameKind::managed) return Belief::unproved;
  Frame entry{.pc = CodeAddress::exact(return_address)};
  const bool begins_a_method = is_described_(entry) && entry.method_start == return_address;
  return begins_a_method ? Belief::not_an_address : Belief::caller;
}

StepOutcome UndescribedStepper::step(Cursor& cursor, const ThreadInput& thread) {
  if (!cursor.frame.is_interrupted || cursor.frame.kind == FrameKind::managed) return {};
  const Arch arch = cursor.registers.arch();
  const Address sp = cursor.registers.sp();
  const arch::Cpu& cpu = arch::cpu(arch);
  if (cpu.has_link_register()) {
    const auto lr = cursor.registers.get(cpu.link_register);
    if (lr && look_at(arch, *lr) == Belief::caller) return found(cursor, *lr, sp);
  } else if (cpu.is_walked) {
    // The delay-load thunks of precompiled code push the number of a section and a module: push $n; push m(%rip); jmp.
    const Address highest = cursor.frame.kind == FrameKind::runtime_stub ? sp + 16 : sp + 8;
    for (Address slot = sp; slot <= highest; slot += 8) {
      std::uint64_t value = 0;
      const Belief belief = thread.stack.word(slot, value) ? look_at(arch, value) : Belief::not_an_address;
      if (belief == Belief::unproved) break;
      if (belief != Belief::caller) continue;
      // `push %rbp; mov %rsp,%rbp`: what was saved is the frame pointer.
      std::uint64_t saved = 0;
      if (slot == sp + 8 && cursor.registers.get(cpu.registers.fp) == sp && thread.stack.word(sp, saved))
        cursor.registers.set_fp(saved);
      return found(cursor, value, slot + 8);
    }
  }
  return {.status = StepStatus::failed,
          .error = {ErrorCode::no_unwind_info, 0, cursor.frame.pc.raw()},
          .stepper = StepperId::stub,
          .trust = Trust::inferred};
}

}  // namespace mixstack::walk
