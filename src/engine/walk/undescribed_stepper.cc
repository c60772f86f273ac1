#include "engine/walk/undescribed_stepper.h"

#include <algorithm>
#include <array>

#include "base/arch/call_site.h"

namespace mixstack::walk {
namespace {

bool contains(const std::vector<AddressRange>& ranges, Address a) {
  auto it = std::upper_bound(ranges.begin(), ranges.end(), a,
                             [](Address address, const AddressRange& r) { return address < r.begin; });
  return it != ranges.begin() && std::prev(it)->contains(a);
}

}  // namespace

UndescribedStepper::UndescribedStepper(std::vector<AddressRange> executable, const MemoryReader& code,
                                       std::function<bool(Frame&)> is_described, const images::ModuleMap* modules)
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
  // Whether a call ends there is not known. In native code the word may be any pointer, or the right one.
  if (caller.kind != FrameKind::managed) return Belief::unproved;
  Frame entry{.pc = CodeAddress::exact(return_address)};
  const bool begins_a_method = is_described_(entry) && entry.method_start == return_address;
  return begins_a_method ? Belief::not_an_address : Belief::caller;
}

StepOutcome UndescribedStepper::step(Cursor& cursor, const ThreadInput& thread) {
  if (!cursor.frame.is_interrupted || cursor.frame.kind == FrameKind::managed) return {};
  const Arch arch = cursor.registers.arch();
  const auto word = [&](Address at, std::uint64_t& value) { return thread.stack.word(at, value); };
  const auto caller = bare_caller(cursor.registers, cursor.frame.kind == FrameKind::runtime_stub, word,
                                  [&](Address value) { return look_at(arch, value); });
  if (caller) {
    cursor.registers.set_pc(caller->pc);
    cursor.registers.set_sp(caller->sp);
    if (caller->fp) cursor.registers.set_fp(*caller->fp);
    return {.status = StepStatus::caller, .stepper = StepperId::stub, .trust = Trust::inferred};
  }
  return {.status = StepStatus::failed,
          .error = {ErrorCode::no_unwind_info, 0, cursor.frame.pc.raw()},
          .stepper = StepperId::stub,
          .trust = Trust::inferred};
}

}  // namespace mixstack::walk
