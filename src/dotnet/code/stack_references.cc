// Input: a thread, its registers and its stack, as for a stack walk.
// Output: places on the stack and registers of frames that hold references; gaps where a reference may be missing.
// Algorithm: the walk of the StackWalk contract. Managed code reports the slots that its GC info says are live. In a
// caller, only callee-saved registers count, and not the outgoing arguments, because the callee reports those. A
// funclet that is no filter reports everything for its method, so frames up to that method's own frame (same code, same
// frame base) are skipped. A filter runs before anything is left, so its method reports its own slots. Explicit Frames
// report the arguments of calls whose callee is not known yet. GCFrames and exceptions come last. Linear in the frames
// and their slots.
// Bounds: kMostStackReferences, kMostReferenceGaps, kMostFrames GCFrames with kMostStackReferences slots in all; other
// lists of the target by their own limits.
// Source: docs/design/datacontracts/StackWalk.md, "GC Stack Reference Scanning"; src/coreclr/vm/gcenv.ee.cpp.
#include "dotnet/code/stack_references.h"

#include <algorithm>
#include <optional>

#include "base/arch/cpu.h"
#include "dotnet/code/exact_generics.h"
#include "dotnet/code/exceptions.h"
#include "dotnet/code/gc_ref_map.h"
#include "dotnet/code/stack_walk.h"

namespace mixstack::dotnet {
namespace {

constexpr std::uint32_t kInteriorFlag = 1, kPinnedFlag = 2;  // GC_CALL_INTERIOR, GC_CALL_PINNED

/// References that Frames of a type keep.
enum class Keeps : std::uint8_t { nothing, arguments, mapped_arguments, helper_arguments, unknown };

Keeps kept_by(FrameType type) {
  switch (type) {
    case FrameType::inlined_call:
    case FrameType::software_exception:
    case FrameType::faulting_exception:
    case FrameType::func_eval:
    case FrameType::resumable:
    case FrameType::redirected_thread:
    case FrameType::hijack:
    case FrameType::debugger_class_init_mark:
    case FrameType::debugger_exit:
    case FrameType::debugger_u2m_catch_handler:
    case FrameType::exception_filter:
      return Keeps::nothing;
    case FrameType::prestub_method:
    case FrameType::call_counting_helper:
      return Keeps::arguments;
    case FrameType::stub_dispatch:
    case FrameType::external_method:
      return Keeps::mapped_arguments;
    case FrameType::dynamic_helper:
      return Keeps::helper_arguments;
    default:
      return Keeps::unknown;
  }
}

class ReferenceWalk {
 public:
  ReferenceWalk(CodeManager& code, const RuntimeMemory& memory, const ManagedThread& thread, const StackView& stack)
      : code_(code), memory_(memory), thread_(thread), stack_(stack) {
    stack_.fallback = &memory_.reader();
  }

  StackReferences of(StackWalkContract& contract, StackWalkContract::Walk walk) {
    find_unwound();
    while (walk.next()) {
      const StackDataFrame& at = walk.current();
      if (at.state == StackWalkState::frameless) {
        look_at_code(walk);
      } else if (at.state == StackWalkState::frame || at.state == StackWalkState::skipped_frame) {
        if (!parent_ && !is_unwound(at.frame.address)) look_at_frame(contract, at);
      }
    }
    if (walk.error().code != ErrorCode::none) note(ReferenceGap::stack_walk, nullptr, walk.error());
    if (parent_) note(ReferenceGap::parent_of_funclet, nullptr, {ErrorCode::not_found, 0, parent_->method});
    look_at_gc_frames();
    look_at_exceptions();
    return std::move(found_);
  }

 private:
  /// The frame of the method whose funclet was found.
  struct Parent {
    Address method = 0;  ///< where its code starts
    std::optional<Address> base;
  };

  void note(ReferenceGap gap, const StackDataFrame* at, const Error& error, Address frame = 0) {
    if (found_.gaps.size() >= kMostReferenceGaps) return;
    if (at == nullptr) return found_.gaps.push_back({gap, frame, 0, 0, error});
    found_.gaps.push_back({gap, StackWalkContract::frame_address(*at), at->context.sp(), at->context.pc(), error});
  }
  void add(StackReference reference, const StackDataFrame* at) {
    if (at != nullptr) {
      reference.frame = StackWalkContract::frame_address(*at);
      reference.sp = at->context.sp();
      reference.pc = at->context.pc();
    }
    if (found_.references.size() < kMostStackReferences) return found_.references.push_back(reference);
    if (!std::exchange(is_full_, true)) note(ReferenceGap::too_many, at, {ErrorCode::limit_exceeded});
  }
  /// Adds the reference that lies at `slot`.
  void add_at(Address slot, StackReference reference, const StackDataFrame* at) {
    reference.slot = slot;
    std::uint64_t word = 0;
    if (!stack_.word(slot, word))
      return note(ReferenceGap::slot, at, {ErrorCode::unreadable_memory, 0, slot}, reference.frame);
    reference.object = word;
    add(reference, at);
  }

  // After the second pass began, frames between an exception's first frame and its handler have been left.
  void find_unwound() {
    constexpr std::uint32_t kUnwindHasStarted = 4;
    const ExceptionInfoLayout& l = memory_.layouts().exception_info;
    for (const CurrentException& e : current_exceptions(memory_, thread_).exceptions) {
      const auto flags = memory_.value<std::uint32_t>(e.info, l.flags);
      const auto low = memory_.pointer(e.info, l.stack_low_bound), high = memory_.pointer(e.info, l.stack_high_bound);
      if (!flags || !low || !high) {
        const Error& error = !flags ? flags.error() : !low ? low.error() : high.error();
        return note(ReferenceGap::unwound_frames, nullptr, error, e.info);
      }
      if ((*flags & kUnwindHasStarted) != 0 && *low < *high) unwound_.push_back({*low + 1, *high + 1});
    }
  }
  /// `marker`: the caller's stack pointer of a frame, or the address of an explicit Frame.
  [[nodiscard]] bool is_unwound(Address marker) const {
    return std::any_of(unwound_.begin(), unwound_.end(), [&](const AddressRange& r) { return r.contains(marker); });
  }

  void look_at_code(StackWalkContract::Walk& walk) {
    const StackDataFrame& at = walk.current();
    const CodeInfo info = code_.find(code_address(at));
    if (parent_) {
      if (!is_parent(info, at)) return;
      parent_.reset();
      return;  // its funclet has reported everything
    }
    const auto caller = walk.caller_sp();
    const bool has_left = caller && is_unwound(*caller);
    const auto header = code_.gc_info(info);
    const bool is_filter = info.funclet == FuncletKind::filter;
    if (info.is_funclet() && !is_filter) {
      parent_ = Parent{info.method_start, std::nullopt};
      if (header && header->base_register) parent_->base = at.context.get(*header->base_register);
      if (has_left) note(ReferenceGap::unwound_funclet, &at, {ErrorCode::unsupported});
    }
    if (has_left) return;
    if (!header) return note(ReferenceGap::gc_info, &at, header.error());
    const FrameType made_by = frame_type_behind(at);
    const bool is_exception = made_by == FrameType::faulting_exception || made_by == FrameType::software_exception;
    const bool is_active = !is_exception && (!at.pc_is_return_address || made_by == FrameType::hijack);
    look_at_slots(at, info, caller, is_active, {offset_of(info, at), is_exception, is_filter});
  }
  [[nodiscard]] bool is_parent(const CodeInfo& info, const StackDataFrame& at) {
    if (info.is_funclet() || info.method_start != parent_->method) return false;
    if (!parent_->base) return true;
    const auto header = code_.gc_info(info);
    return header && header->base_register && at.context.get(*header->base_register) == parent_->base;
  }
  /// The kind of the explicit Frame that the context was made from.
  [[nodiscard]] FrameType frame_type_behind(const StackDataFrame& at) const {
    if (at.context_frame == 0) return FrameType::unknown;
    const auto frame = read_frame(memory_, at.context_frame);
    return frame ? frame->type : FrameType::unknown;
  }
  [[nodiscard]] static std::uint32_t offset_of(const CodeInfo& info, const StackDataFrame& at) {
    const Address pc = at.context.pc();
    // The decoder refuses an offset that is too large.
    constexpr Address kMost = 0xffffffffu;
    return static_cast<std::uint32_t>(info.origin == 0 || pc < info.origin ? kMost : std::min(pc - info.origin, kMost));
  }

  void look_at_slots(const StackDataFrame& at, const CodeInfo& info, const Result<Address>& caller, bool is_active,
                     const LiveSlotsQuery& query) {
    const auto live = code_.live_slots(info, query);
    if (!live) return note(ReferenceGap::gc_info, &at, live.error());
    const bool may_be_stopped = !at.pc_is_return_address || live->header.interruptible_ranges != 0;
    if (!live->is_told && !query.is_aborted && may_be_stopped)
      note(ReferenceGap::no_safe_point, &at, {ErrorCode::not_found, 0, query.offset});
    for (const GcSlot& slot : live->slots) {
      StackReference reference{.is_interior = slot.is_interior, .is_pinned = slot.is_pinned};
      if (slot.base == GcSlotBase::in_register) {
        // Others are dead or not saved: the callee may have changed them.
        if (!is_active && !is_kept_across_calls(memory_.layouts().arch, slot.reg)) continue;
        const auto value = at.context.get(slot.reg);
        reference.reg = slot.reg;
        reference.object = value.value_or(0);
        value ? add(reference, &at) : note(ReferenceGap::slot, &at, {ErrorCode::register_unknown, 0, slot.reg});
        continue;
      }
      const auto base = base_of(slot, live->header, at, caller);
      if (!base) {
        note(ReferenceGap::slot, &at, base.error());
        continue;
      }
      const Address address = *base + static_cast<Address>(std::int64_t{slot.offset});
      // Outgoing arguments: the callee reports them itself.
      const bool is_outgoing =
          !is_active && !slot.is_untracked && address - at.context.sp() < live->header.outgoing_bytes;
      if (!is_outgoing) add_at(address, reference, &at);
    }
  }
  [[nodiscard]] static Result<Address> base_of(const GcSlot& slot, const GcInfoHeader& header, const StackDataFrame& at,
                                               const Result<Address>& caller) {
    if (slot.base == GcSlotBase::sp) return at.context.sp();
    if (slot.base == GcSlotBase::caller_sp) return caller;
    const unsigned reg = header.base_register.value_or(0);
    const auto value = at.context.get(reg);
    return value ? Result<Address>(*value) : fail(ErrorCode::register_unknown, reg);
  }

  void look_at_frame(StackWalkContract& contract, const StackDataFrame& at) {
    switch (kept_by(at.frame.type)) {
      case Keeps::nothing:
        return;
      case Keeps::arguments:
        return look_at_arguments(contract, at);
      case Keeps::mapped_arguments:
        if (!look_at_mapped_arguments(at)) look_at_arguments(contract, at);
        return;
      case Keeps::helper_arguments:
        return look_at_helper_arguments(at);
      case Keeps::unknown:
        return note(ReferenceGap::frame_kind, &at, {ErrorCode::unsupported, 0, at.frame.identifier});
    }
  }
  /// A part of the block that the runtime's stub has saved.
  [[nodiscard]] Result<Address> saved(const StackDataFrame& at, const Field& part) const {
    const auto block = memory_.pointer(at.frame.address, memory_.layouts().framed_method_frame.transition_block);
    if (!block) return block;
    if (!part) return fail(ErrorCode::field_unavailable, at.frame.address);
    return *block + part.offset;
  }
  // Without the types of the arguments only `this` is reported.
  void look_at_arguments(StackWalkContract& contract, const StackDataFrame& at) {
    const auto first = saved(at, memory_.layouts().transition_block.argument_registers);
    if (!first) return note(ReferenceGap::arguments, &at, first.error());
    const auto method = contract.method_desc(at.frame.address);
    const bool has_method = method && *method != 0;
    // A stub always dispatches by the type of an object.
    const bool has_this = at.frame.type == FrameType::stub_dispatch || (has_method && !is_static(memory_, *method));
    const bool is_object = at.frame.type == FrameType::stub_dispatch || (has_method && has_objects(memory_, *method));
    if (has_this) add_at(*first, {.is_interior = !is_object, .source = ReferenceSource::explicit_frame}, &at);
    note(ReferenceGap::arguments, &at, {ErrorCode::unsupported, 0, has_method ? *method : 0});
  }
  [[nodiscard]] bool look_at_mapped_arguments(const StackDataFrame& at) {
    const Layouts& l = memory_.layouts();
    const bool is_dispatch = at.frame.type == FrameType::stub_dispatch;
    const auto slot = memory_.pointer(
        at.frame.address, is_dispatch ? l.stub_dispatch_frame.indirection : l.external_method_frame.indirection);
    const auto first = saved(at, l.transition_block.first_gc_ref_map_slot);
    if (!slot || *slot == 0 || !first) return false;
    const auto place = code_.gc_ref_map(*slot);
    const auto map = place ? read_gc_ref_map(memory_.constants().reader(), *place) : fail(place.error());
    if (!map) return false;
    for (const GcRefMapEntry& entry : *map)
      add_at(*first + Address{entry.position} * memory_.pointer_size(),
             {.is_interior = entry.is_interior, .source = ReferenceSource::explicit_frame}, &at);
    return true;
  }
  void look_at_helper_arguments(const StackDataFrame& at) {
    constexpr std::uint32_t kFirst = 1, kSecond = 2;
    const auto first = saved(at, memory_.layouts().transition_block.argument_registers);
    const auto flags = memory_.value<std::uint32_t>(at.frame.address, memory_.layouts().dynamic_helper_frame.flags);
    if (!first || !flags) return note(ReferenceGap::arguments, &at, !first ? first.error() : flags.error());
    if ((*flags & kFirst) != 0) add_at(*first, {.source = ReferenceSource::explicit_frame}, &at);
    if ((*flags & kSecond) != 0)
      add_at(*first + memory_.pointer_size(), {.source = ReferenceSource::explicit_frame}, &at);
  }

  void look_at_gc_frames() {
    constexpr std::size_t kMostFrames = 1u << 12;
    const GcFrameLayout& l = memory_.layouts().gc_frame;
    auto at = memory_.pointer(thread_.address, memory_.layouts().thread.gc_frame);
    std::size_t left = kMostStackReferences;  // of slots: those that cannot be read fill no list, and cost as much
    for (std::size_t i = 0; at && *at != 0 && *at != memory_.all_ones(); i++) {
      const auto first = memory_.pointer(*at, l.references);
      const auto count = memory_.value<std::uint32_t>(*at, l.count), flags = memory_.value<std::uint32_t>(*at, l.flags);
      if (i == kMostFrames || (count && *count > left))
        return note(ReferenceGap::gc_frames, nullptr, {ErrorCode::limit_exceeded, 0, *at}, *at);
      if (!first || !count || !flags)
        return note(ReferenceGap::gc_frames, nullptr, {ErrorCode::unreadable_memory, 0, *at}, *at);
      left -= *count;
      for (std::uint32_t n = 0; n < *count && !is_full_; n++)
        add_at(*first + Address{n} * memory_.pointer_size(),
               {.is_interior = (*flags & kInteriorFlag) != 0,
                .is_pinned = (*flags & kPinnedFlag) != 0,
                .source = ReferenceSource::gc_frame,
                .frame = *at},
               nullptr);
      at = memory_.pointer(*at, l.next);
    }
    if (!at) note(ReferenceGap::gc_frames, nullptr, at.error());
  }

  // Until .NET 10 exceptions are in handles, which are roots of their own.
  void look_at_exceptions() {
    const auto chain = current_exceptions(memory_, thread_);
    if (chain.error.code != ErrorCode::none) note(ReferenceGap::exceptions, nullptr, chain.error);
    if (memory_.layouts().algorithms.thrown_object != ThrownObject::object) return;
    for (const CurrentException& e : chain.exceptions)
      add_at(e.info + memory_.layouts().exception_info.thrown_object.offset,
             {.source = ReferenceSource::exception, .frame = e.info}, nullptr);
  }

  CodeManager& code_;
  const RuntimeMemory memory_;
  const ManagedThread& thread_;
  StackView stack_;
  std::vector<AddressRange> unwound_;
  std::optional<Parent> parent_;
  bool is_full_ = false;
  StackReferences found_;
};

}  // namespace

StackReferences StackWalkContract::walk_stack_references(const ManagedThread& thread, const Registers& context,
                                                         const StackView& stack) {
  return ReferenceWalk(code_, memory_, thread, stack).of(*this, create_stack_walk(thread, context, stack));
}

}  // namespace mixstack::dotnet
