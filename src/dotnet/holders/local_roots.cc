#include "dotnet/holders/local_roots.h"

#include "base/arch/cpu.h"
#include "dotnet/code/stack_references.h"
#include "dotnet/code/stack_walk.h"
#include "dotnet/names/value_types.h"

namespace mixstack::dotnet::holders {
namespace {

constexpr Address kMostOffset = 0xffffffffu;

/// Where the variable lies while its frame's registers are these; 0: in none of the known ways.
Address slot_of(const VariablePlace& place, const Registers& registers) {
  if (place.kind != VariablePlace::Kind::on_stack) return 0;
  const auto base = registers.get(place.first);
  return base ? *base + static_cast<Address>(std::int64_t{place.offset}) : 0;
}

}  // namespace

/// A frame of managed code, as the walk has it.
struct LocalRoots::Frame {
  CodeAddress pc;
  Registers registers;
};

std::string LocalRoots::variable_name(const Frame& frame, const CodeInfo& code, std::int32_t number) {
  const auto parameters = names_.parameters(code.method_desc);
  if (!parameters) return {};
  if (parameters->has_this && number == 0) return "this";
  const auto index = static_cast<std::size_t>(number) - (parameters->has_this ? 1 : 0);
  if (index < parameters->list.size()) {
    const std::string& name = parameters->list[index].name;
    return name.empty() ? "#" + std::to_string(index + 1) : name;
  }
  const auto map = code_.il_map(code);
  if (!map) return {};
  const Address offset = frame.pc.raw() - code.origin - (frame.pc.is_exact() ? 0 : 1);
  const auto il = il_offset_at(*map, static_cast<std::uint32_t>(offset));
  if (!il) return {};
  const auto locals = names_.locals(code.method_desc, *il);
  const std::size_t slot = index - parameters->list.size();
  return locals && slot < locals->size() ? (*locals)[slot].name : std::string();
}

/// The only variable that lies there before and behind the place where the frame stands.
LocalRoots::Named LocalRoots::name(const Frame& frame, const CodeInfo& code, Address slot, unsigned reg) {
  Named named;
  if (auto method = names_.describe(code.method_desc)) named.method = (*method)->name;
  const Address pc = frame.pc.raw();
  if (code.origin == 0 || pc <= code.origin || pc - code.origin > kMostOffset) return named;
  const auto homes = code_.variables(code);
  if (!homes) return named;
  const auto to = static_cast<std::uint32_t>(pc - code.origin);
  const std::uint32_t from = frame.pc.is_exact() ? to : to - 1;
  std::optional<std::int32_t> only;
  for (const VariableHome& home : *homes) {
    if (home.number < 0 || from < home.begin || from >= home.end) continue;
    const bool is_there = slot != 0 ? slot_of(home.place, frame.registers) == slot
                                    : home.place.kind == VariablePlace::Kind::in_register && home.place.first == reg;
    if (!is_there || place_of(*homes, home.number, from) != home.place) continue;
    if (only && *only != home.number) return named;
    only = home.number;
  }
  if (only) named.variable = variable_name(frame, code, *only);
  return named;
}

void LocalRoots::add_thread(const StoppedThread& thread) {
  if (thread.managed.stack.empty()) return;  // its stack is not of the moment
  StackWalkContract contract(code_, memory_, thread.pac_mask);
  std::map<std::pair<Address, Address>, Frame> frames;
  auto walk = contract.create_stack_walk(thread.managed, thread.registers);
  while (frames.size() < kMostFrames && walk.next()) {
    const StackDataFrame& at = walk.current();
    if (at.state == StackWalkState::frameless)
      frames.try_emplace({at.context.sp(), at.context.pc()}, Frame{code_address(at), at.context});
  }
  const StackReferences seen = contract.walk_stack_references(thread.managed, thread.registers);
  for (const StackReference& r : seen.references) {
    // Slots elsewhere are not of the moment; only exceptions have such, and they have handles.
    const bool is_known = r.slot == 0 || thread.managed.stack.contains(r.slot);
    if (r.object == 0 || !is_known || found_.size() == kMost) continue;
    LocalReference reference{thread.tid, r.object, {}};
    reference.place.thread = static_cast<std::uint32_t>(thread.tid);
    reference.place.slot = r.slot;
    if (r.slot == 0) reference.place.reg = arch::cpu(memory_.layouts().arch).register_names[r.reg];
    const auto frame = frames.find({r.sp, r.pc});
    if (r.source == ReferenceSource::code && frame != frames.end()) {
      const std::array<std::uint64_t, 3> key{r.pc, r.slot == 0 ? 0 : r.slot - r.sp + 1, r.reg};
      auto known = named_.find(key);
      if (known == named_.end())
        known = named_.emplace(key, name(frame->second, CodeInfo(code_.find(frame->second.pc)), r.slot, r.reg)).first;
      reference.place.method = known->second.method;
      reference.place.variable = known->second.variable;
    }
    found_.push_back(std::move(reference));
  }
}

std::vector<LocalReference> LocalRoots::find(std::span<const StoppedThread> threads) {
  found_.clear();
  named_.clear();
  for (const StoppedThread& thread : threads) add_thread(thread);
  return std::move(found_);
}

}  // namespace mixstack::dotnet::holders
