// Follows docs/design/datacontracts/StackWalk.md and StackWalk_1.cs of dotnet/runtime.
#include "dotnet/code/stack_walk.h"

#include "base/arch/context.h"
#include "dotnet/code/frames/frame_chain.h"
#include "dotnet/code/generic_context.h"
#include "dotnet/code/method_check.h"
#include "engine/unwind/apply.h"
#include "engine/walk_core/caller_check.h"

namespace mixstack::dotnet {

StackWalkContract::Walk::Walk(StackWalkContract& owner, const ManagedThread& thread, const Registers& context,
                              const StackView& stack)
    : owner_(&owner), bounds_(thread.stack), stack_(stack) {
  hijacked_slot_ = thread.hijacked_slot;
  hijacked_return_ = thread.hijacked_return;
  stack_.fallback = &owner.memory_.reader();
  at_.context = context;
  at_.frame.address = thread.frame;
}

CodeAddress StackWalkContract::Walk::pc() const { return code_address(at_); }

bool StackWalkContract::Walk::stop(const Error& error) {
  error_ = error;
  at_.state = StackWalkState::error;
  return false;
}

bool StackWalkContract::Walk::next() {
  if (started_ && (at_.state == StackWalkState::complete || at_.state == StackWalkState::error)) return false;
  if (elements_++ == kMaxElements) return stop({ErrorCode::limit_exceeded, 0, kMaxElements});
  if (started_) return advance();
  started_ = true;
  return start();
}

// The list of Frames is read one by one, so that a walk that ends early reads little. Frames must ascend; the newest
// (`above` is 0) may be the one that was made on another stack.
static Result<FrameRecord> read_next(const RuntimeMemory& memory, Address at, Address above,
                                     const AddressRange& stack) {
  if (at == memory.all_ones()) return FrameRecord{};
  const bool inside = stack.empty() || stack.contains(at) || (above == 0 && is_handlers_frame(memory, at));
  if (at <= above || at % memory.pointer_size() != 0 || !inside) return fail(ErrorCode::malformed, at);
  return read_frame(memory, at);
}

bool StackWalkContract::Walk::start() {
  auto first = read_next(owner_->memory_, at_.frame.address, 0, bounds_);
  at_.frame = first.value_or(FrameRecord{});
  if (!first) error_ = first.error();
  // As the runtime's own walk does, Frames inside the first managed frame are found before that frame is left.
  return settle(true);
}

void StackWalkContract::Walk::pop_frame() {
  const auto& memory = owner_->memory_;
  if (at_.frame.address == 0) return;
  auto next = memory.pointer(at_.frame.address, memory.layouts().frame.next);
  // The newest Frame may lie on another stack. The next one lies on the thread's own, at any address: 1 allows all, and
  // is not 0, which would allow a second Frame on another stack.
  const bool own = bounds_.empty() || bounds_.contains(at_.frame.address);
  const Address above = own ? at_.frame.address : 1;
  auto record = next ? read_next(memory, *next, above, bounds_) : fail(next.error());
  at_.frame = record.value_or(FrameRecord{});
  if (!record) error_ = record.error();
}

Result<Registers> StackWalkContract::Walk::compute_caller() const {
  const auto rule = owner_->code_.general(pc());
  if (!rule) return fail(rule.error());
  Registers caller = at_.context;
  auto applied = unwind::apply(*rule, caller, pc(), stack_, owner_->pac_mask_);
  if (!applied) return fail(applied.error());
  if (applied->is_end_of_stack) {
    caller.set_pc(0);
    if (applied->cfa != 0) caller.set_sp(applied->cfa);
  }
  if (hijacked_slot_ != 0) undo_hijack(caller);
  return caller;
}

// A suspension may have put its own stub's address where this frame's return address was.
void StackWalkContract::Walk::undo_hijack(Registers& caller) const {
  if (hijacked_slot_ < at_.context.sp() || hijacked_slot_ >= caller.sp()) return;
  auto stub = owner_->memory_.pointer_at(hijacked_slot_);
  if (stub && *stub == caller.pc()) caller.set_pc(hijacked_return_);
}

const Result<Registers>& StackWalkContract::Walk::caller() {
  if (!caller_) caller_ = compute_caller();
  return *caller_;
}

Result<Address> StackWalkContract::Walk::caller_sp() {
  const auto& found = caller();
  if (!found) return fail(found.error());
  return found->sp();
}

bool StackWalkContract::Walk::step_out_of_managed() {
  const auto& found = caller();
  if (!found) return stop(found.error());
  const bool was_interrupted = !at_.pc_is_return_address;
  const bool up = walk::advances(at_.context.sp(), found->sp(), was_interrupted, found->arch(), false);
  if (!up && found->pc() != 0) return stop({ErrorCode::stack_not_advancing, 0, found->sp()});
  at_.context = *found;
  at_.context_frame = 0;
  at_.stored.reset();
  at_.pc_is_return_address = true;
  caller_.reset();
  return true;
}

Result<void> StackWalkContract::Walk::step_out_of_frame() {
  // A Frame that was left once and is met again in native code would lead around for ever.
  if (at_.frame.address == resumed_from_) return fail(ErrorCode::stack_not_advancing, resumed_from_);
  resumed_from_ = at_.frame.address;
  auto update = update_from_frame(owner_->memory_, at_.frame, at_.context);
  if (!update) return fail(update.error());
  if (update->changed) {
    at_.context = update->registers;
    at_.pc_is_return_address = !update->interrupted;
    at_.context_frame = at_.frame.address;
    at_.stored = update->stored;
    if (update->whole) at_.context_flags = update->context_flags;
    caller_.reset();
  }
  // An InlinedCallFrame in a call lies inside the managed frame it leads to and is met again there, as skipped.
  const bool stays = at_.frame.type == FrameType::inlined_call && update->changed;
  if (!stays) pop_frame();
  return {};
}

bool StackWalkContract::Walk::advance() {
  bool context_is_new = false;
  switch (at_.state) {
    case StackWalkState::frameless:
      if (!step_out_of_managed()) return false;
      context_is_new = true;
      break;
    case StackWalkState::skipped_frame:
      pop_frame();
      break;
    case StackWalkState::frame: {
      // Each Frame that was used makes an element, as the document has it, also one that says nothing of registers.
      if (const auto used = step_out_of_frame(); !used) return stop(used.error());
      context_is_new = true;
      break;
    }
    case StackWalkState::native:
      at_.state = StackWalkState::complete;
      return false;
    case StackWalkState::complete:
    case StackWalkState::error:
      return false;
  }
  return settle(context_is_new);
}

// Decides what the context is, and whether the next Frame lies below the caller's sp: then it belongs to this frame.
// A context that is new is an element even if it is native and the last one, as the document has it.
bool StackWalkContract::Walk::settle(bool context_is_new) {
  if (!owner_->code_.is_managed(pc())) {
    if (at_.frame.address != 0) {
      at_.state = StackWalkState::frame;
    } else if (error_.code != ErrorCode::none) {
      at_.state = StackWalkState::error;
    } else {
      at_.state = context_is_new ? StackWalkState::native : StackWalkState::complete;
    }
    return at_.state == StackWalkState::frame || at_.state == StackWalkState::native;
  }
  at_.state = StackWalkState::frameless;
  if (at_.frame.address == 0) return true;
  // Without the caller nothing is skipped; the failure shows when the walk leaves this frame.
  const auto& found = caller();
  if (found && at_.frame.address < found->sp()) at_.state = StackWalkState::skipped_frame;
  return true;
}

Result<std::size_t> StackWalkContract::raw_context(const StackDataFrame& handle, std::span<std::byte> out) const {
  const auto stored = handle.stored ? std::span<const std::byte>(*handle.stored) : std::span<const std::byte>();
  return arch::encode_context(handle.context, out, handle.context_flags, stored);
}

Address StackWalkContract::frame_address(const StackDataFrame& handle) {
  const bool at_frame = handle.state == StackWalkState::frame || handle.state == StackWalkState::skipped_frame;
  return at_frame ? handle.frame.address : 0;
}

Result<Address> StackWalkContract::method_desc(Address frame) const {
  auto record = read_frame(memory_, frame);
  if (!record) return fail(record.error());
  return frame_method(memory_, *record);
}

Result<Address> StackWalkContract::method_desc(const StackDataFrame& handle) {
  if (frame_address(handle) == 0) {
    const CodeInfo& info = code_.find(code_address(handle));
    return info.is_managed() ? info.method_desc : 0;
  }
  const auto& l = memory_.layouts().inlined_call_frame;
  if (handle.frame.type == FrameType::inlined_call && handle.state == StackWalkState::skipped_frame) {
    auto pc = memory_.pointer(handle.frame.address, l.caller_return_address);
    if (!pc) return pc;
    const CodeInfo info = *pc == 0 ? CodeInfo{} : code_.find(CodeAddress::after_call(*pc));
    if (info.is_managed() && has_method_context_argument(memory_, info.method_desc)) {
      if (l.size == 0) return fail(ErrorCode::field_unavailable);
      return memory_.pointer_at(handle.frame.address + l.size);
    }
  }
  return frame_method(memory_, handle.frame);
}

Result<Address> StackWalkContract::exact_generic_args_token(const StackDataFrame& handle, const StackView& stack) {
  if (handle.state != StackWalkState::frameless) return fail(ErrorCode::not_found);
  StackView view = stack;
  view.fallback = &memory_.reader();
  return exact_generic_token(code_, code_address(handle), handle.context, view, memory_.reader());
}

}  // namespace mixstack::dotnet
