#include "dotnet/code/generic_context.h"

#include <algorithm>
#include <array>

namespace mixstack::dotnet {
namespace {

using Kind = VariablePlace::Kind;

constexpr std::int32_t kThis = 0, kTypeContext = -3;  // numbers of variables (ICorDebugInfo::TYPECTXT_ILNUM)

/// Where in its method a frame stands.
struct Position {
  std::uint32_t from = 0, to = 0;  ///< the instruction that runs, or the call and what follows it
  bool is_exact = false;
};

/// Interrupted code may not have its frame yet, or no longer. The bounds of the IL tell where the frame is whole; for
/// funclets they do not, so those are refused.
bool is_whole(CodeManager& code, const CodeInfo& info, std::uint32_t native) {
  if (info.is_funclet()) return false;
  const auto map = code.il_map(info);
  return map && is_body(*map, native);
}

std::optional<Position> position_of(CodeManager& code, const CodeInfo& info, CodeAddress pc) {
  const Address raw = pc.raw();
  if (info.origin == 0 || raw < info.origin || raw - info.origin > 0xffffffffu) return std::nullopt;
  Position at;
  at.from = at.to = static_cast<std::uint32_t>(raw - info.origin);
  at.is_exact = pc.is_exact();
  if (at.is_exact) return is_whole(code, info, at.from) ? std::optional(at) : std::nullopt;
  if (at.from == 0) return std::nullopt;
  at.from--;
  return at;
}

/// The slot that the GC info names.
GenericContextPlace by_gc_info(CodeManager& code, const CodeInfo& info, const Position& at) {
  const auto header = code.gc_info(info);
  if (!header || header->context == GenericContextKind::none) return {};
  const bool is_in_method = !info.is_funclet() && !info.is_cold;
  if (is_in_method && at.from < header->prologue_size) return {};
  // A funclet has a stack pointer of its own.
  if (!header->base_register && info.is_funclet()) return {};
  const unsigned base = header->base_register.value_or(arch_registers(code.memory().layouts().arch).sp);
  return {header->context, {Kind::on_stack, base, 0, header->context_slot}};
}

/// The place that the debug information names, for this native offset only.
GenericContextPlace by_variables(CodeManager& code, const CodeInfo& info, Position at, SharedBy shared) {
  if (info.is_funclet()) return {};
  const auto homes = code.variables(info);
  if (!homes) return {};
  // If only the call needed the variable, its place is stale after the call: the variable must live behind the call,
  // too, unless the method ends there.
  const auto map = code.il_map(info);
  if (!at.is_exact && map && begins_epilogue(*map, at.to)) at.to = at.from;
  std::uint32_t end = 0;
  for (const VariableHome& home : *homes) end = std::max(end, home.end);
  if (at.to >= end) at.to = at.from;
  const auto steady = [&](std::int32_t number) -> std::optional<VariablePlace> {
    const auto place = place_of(*homes, number, at.to);
    return place && place_of(*homes, number, at.from) == place ? place : std::nullopt;
  };
  if (const auto place = steady(kTypeContext))
    return {shared == SharedBy::methods ? GenericContextKind::method_desc : GenericContextKind::type, *place};
  const bool has_context =
      std::any_of(homes->begin(), homes->end(), [](const VariableHome& home) { return home.number == kTypeContext; });
  if (shared != SharedBy::types || has_context || is_static(code.memory(), info.method_desc)) return {};
  const auto place = steady(kThis);
  return place ? GenericContextPlace{GenericContextKind::this_object, *place} : GenericContextPlace{};
}

std::optional<Address> read_word(const VariablePlace& place, CodeAddress pc, const Registers& registers,
                                 const StackView& stack) {
  // After a call, only callee-saved registers hold what they held before it.
  if (!pc.is_exact() && !is_kept_across_calls(registers.arch(), place.first)) return std::nullopt;
  const auto base = registers.get(place.first);
  if (!base) return std::nullopt;
  if (place.kind == Kind::in_register) return base;
  std::uint64_t word = 0;
  if (place.kind != Kind::on_stack) return std::nullopt;
  const Address slot = *base + static_cast<Address>(std::int64_t{place.offset});
  return stack.word(slot, word) ? std::optional<Address>(word) : std::nullopt;
}

/// The value at the place; for `this`, the MethodTable of the object.
std::optional<Address> found_at(const GenericContextPlace& place, CodeAddress pc, const Registers& registers,
                                const StackView& stack, const RuntimeMemory& memory, const MemoryReader* objects) {
  const auto word = read_word(place.place, pc, registers, stack);
  if (!word || *word == 0 || place.kind != GenericContextKind::this_object) return word;
  const Global& unmask = memory.layouts().globals.object_to_method_table_unmask;
  const Field& field = memory.layouts().object.method_table;
  if (objects == nullptr || !unmask || !field || *word % memory.pointer_size() != 0) return std::nullopt;
  const auto header = objects->read_pointer(*word + field.offset, memory.pointer_size());
  return header ? std::optional<Address>(*header & ~Address{unmask.value}) : std::nullopt;
}

}  // namespace

GenericContextPlace find_generic_context(CodeManager& code, CodeAddress pc) {
  const CodeInfo info = code.find(pc);
  if (!info.is_managed() || info.method_desc == 0) return {};
  const SharedBy shared = shared_by(code.memory(), info.method_desc);
  if (shared == SharedBy::nobody) return {};
  const auto at = position_of(code, info, pc);
  if (!at) return {};
  const GenericContextPlace slot = by_gc_info(code, info, *at);
  return slot.kind != GenericContextKind::none ? slot : by_variables(code, info, *at, shared);
}

Result<Address> exact_generic_token(CodeManager& code, CodeAddress pc, const Registers& registers,
                                    const StackView& stack, const MemoryReader& objects) {
  const GenericContextPlace place = find_generic_context(code, pc);
  if (place.kind == GenericContextKind::none) return fail(ErrorCode::not_found, pc.raw());
  const auto found = found_at(place, pc, registers, stack, code.memory(), &objects);
  if (!found || *found == 0) return fail(ErrorCode::not_found, pc.raw());
  const Address method = code.find(pc).method_desc;
  if (prove_context(code.memory(), method, place.kind, *found).handle == 0) return fail(ErrorCode::mismatch, *found);
  return *found;
}

void GenericContexts::begin_capture(const MemoryReader* objects) {
  objects_ = objects;
  of_capture_.places.clear();
  of_capture_.proved.clear();
}

const GenericContextPlace& GenericContexts::place_at(CodeAddress pc) {
  const Address key = pc.raw() << 1 | (pc.is_exact() ? 1u : 0u);
  for (const Known* known : {&kept_, &of_capture_})
    if (const GenericContextPlace* place = known->places.find(key)) return *place;
  const GenericContextPlace place = find_generic_context(code_, pc);
  return (CodeManager::is_kept(code_.find(pc)) ? kept_ : of_capture_).places.insert(key, place);
}

GenericContext GenericContexts::proved(Address method, GenericContextKind kind, Address found) {
  const Key key{method, found};
  for (const Known* known : {&kept_, &of_capture_})
    if (const auto it = known->proved.find(key); it != known->proved.end()) return it->second;
  const GenericContext context = prove_context(code_.memory(), method, kind, found);
  // A value that proves to be no context now may be one later, so failures are kept for this capture only.
  Proved& keeper = (context.handle != 0 && context.is_kept ? kept_ : of_capture_).proved;
  if (keeper.size() >= kMostKnown) keeper.clear();
  return keeper.emplace(key, context).first->second;
}

GenericContext GenericContexts::of(const Frame& frame, const Registers& registers, const StackView& stack) {
  // If the frame was guessed, its registers were, too.
  if (frame.method == 0 || frame.trust > Trust::checkpoint) return {};
  const GenericContextPlace place = place_at(frame.pc);
  if (place.kind == GenericContextKind::none) return {};
  const auto found = found_at(place, frame.pc, registers, stack, code_.memory(), objects_);
  return found && *found != 0 ? proved(frame.method, place.kind, *found) : GenericContext{};
}

}  // namespace mixstack::dotnet
