#include "dotnet/code/checkpoints.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "dotnet/code/frames/frame_registers.h"
#include "dotnet/code/frames/frame_update.h"

namespace mixstack::dotnet {
namespace {

// Below the stack the runtime knows: the guard pages in which a stack overflow is noticed.
constexpr Address kBelowStack = 1 << 20;

constexpr std::size_t kMostMarks = 1024;

/// Whether code that runs at this sp can have made the Frame, `newer` being the next newer one of this stack (0: none).
/// A torn or damaged Frame may name the stack of another thread, whose frames would all fit together.
bool can_resume_at(Address sp, const FrameRecord& record, bool is_whole_context, Address newer,
                   const AddressRange& stack) {
  // An InlinedCallFrame is a local of the method that calls: above the sp of the call, and what was called has its
  // Frames below that.
  if (record.type == FrameType::inlined_call && (sp > record.address || sp <= newer)) return false;
  if (stack.empty()) return true;
  const Address lowest = stack.begin - (is_whole_context ? std::min(stack.begin, kBelowStack) : 0);
  return sp >= lowest && sp <= stack.end;
}

walk::Checkpoint checkpoint_of(CodeManager& code, const RuntimeMemory& memory, const FrameRecord& record, Address newer,
                               const AddressRange& stack, bool methods) {
  walk::Checkpoint c;
  c.address = record.address;
  c.identifier = static_cast<std::uint32_t>(record.identifier);
  c.context = Registers(memory.layouts().arch);
  if (auto update = update_from_frame(memory, record, c.context); update && update->changed) {
    c.context = update->registers;
    c.interrupted = update->interrupted;
    const Address pc = c.context.pc();
    c.resumes = pc != 0 && can_resume_at(c.context.sp(), record, update->whole, newer, stack) &&
                code.is_managed(c.interrupted ? CodeAddress::exact(pc) : CodeAddress::after_call(pc));
  }
  if (methods)
    if (auto method = frame_method(memory, record)) c.method = *method;
  return c;
}

/// A word of the copied stack; nothing is looked for elsewhere.
std::optional<Address> word_of(const StackView& stack, Address base, Field field) {
  const Address offset = base + field.offset - stack.base;
  if (!field || stack.size < sizeof(Address) || offset > stack.size - sizeof(Address)) return std::nullopt;
  Address value;
  std::memcpy(&value, stack.data + offset, sizeof(value));
  return value;
}

/// The mark of an InlinedCallFrame; nothing where a word of it was not copied.
std::optional<walk::Mark> mark_of_call(CodeManager& code, const StackView& stack, const FrameRecord& record,
                                       Address newer, const AddressRange& range) {
  const auto& l = code.memory().layouts().inlined_call_frame;
  const auto pc = word_of(stack, record.address, l.caller_return_address);
  const auto sp = word_of(stack, record.address, l.call_site_sp);
  if (!pc || !sp) return std::nullopt;
  const bool resumes =
      *pc != 0 && can_resume_at(*sp, record, false, newer, range) && code.is_managed(CodeAddress::after_call(*pc));
  return walk::Mark{record.address, *sp, resumes};
}

CheckpointList read_from(CodeManager& code, const RuntimeMemory& memory, const ManagedThread& thread, bool methods,
                         std::size_t most) {
  CheckpointList list;
  const FrameChain chain = read_frame_chain(memory, thread.frame, thread.stack, most);
  list.error = chain.error;
  list.checkpoints.reserve(chain.frames.size());
  Address newer = 0;
  for (const FrameRecord& record : chain.frames) {
    list.checkpoints.push_back(checkpoint_of(code, memory, record, newer, thread.stack, methods));
    // The first may lie on a stack of its own (see read_frame_chain).
    if (thread.stack.empty() || thread.stack.contains(record.address)) newer = record.address;
  }
  return list;
}

}  // namespace

CheckpointList read_checkpoints(CodeManager& code, const ManagedThread& thread, bool methods, std::size_t most) {
  return read_from(code, code.memory(), thread, methods, most);
}

CheckpointList read_sampled_checkpoints(CodeManager& code, const RuntimeMemory& sample, const ManagedThread& thread,
                                        Address sp, bool methods) {
  ManagedThread then = thread;
  for (std::size_t since = 0; then.frame < sp; since++) {
    const auto next = sample.pointer(then.frame, sample.layouts().frame.next);
    const bool is_sound = thread.stack.contains(then.frame) && next && *next > then.frame;
    if (!is_sound || since >= kMostMarks) return {};
    then.frame = *next;
  }
  if (!thread.stack.contains(then.frame)) return {};
  CheckpointList list = read_from(code, sample, then, methods, kMostMarks);
  const auto none = std::find_if(list.checkpoints.begin(), list.checkpoints.end(), [&](const walk::Checkpoint& c) {
    return frame_type_of(sample.layouts(), c.identifier) == FrameType::unknown;
  });
  list.checkpoints.erase(none, list.checkpoints.end());
  list.error = {};
  return list;
}

void forget_dead_places(CheckpointList& list, const ManagedThread& thread, Address sp) {
  if (!thread.stack.contains(sp)) return;  // a handler's own stack
  for (walk::Checkpoint& c : list.checkpoints)
    if (c.resumes && thread.stack.contains(c.context.sp()) && c.context.sp() < sp) c.resumes = false;
}

bool read_marks(CodeManager& code, const ManagedThread& thread, const StackView& stack, Address sp,
                std::vector<walk::Mark>& out) {
  out.clear();
  const Layouts& layouts = code.memory().layouts();
  const bool has_more_to_restore = frames::frame_registers(layouts.arch) == nullptr ||
                                   frames::frame_registers(layouts.arch)->needs_whole_inlined_call;
  if (has_more_to_restore || layouts.pointer_size != sizeof(Address) || !thread.stack.contains(sp)) return false;
  Address newer = 0;
  for (Address at = thread.frame; at != code.memory().all_ones();) {
    if (at % sizeof(Address) != 0 || at <= newer || !thread.stack.contains(at) || out.size() >= kMostMarks)
      return false;
    const auto word = word_of(stack, at, Field{0});
    const auto next = word_of(stack, at, layouts.frame.next);
    if (!word || !next) return false;
    const FrameRecord record = frame_with(layouts, at, *word);
    if (record.type == FrameType::inlined_call) {
      const auto mark = mark_of_call(code, stack, record, newer, thread.stack);
      if (!mark) return false;
      out.push_back(*mark);
      if (mark->sp < sp) out.back().resumes = false;  // that part of the stack is dead
    } else if (restores_context(record.type)) {
      return false;
    } else {
      out.push_back({at, 0, false});
    }
    newer = at;
    at = *next;
  }
  return true;
}

}  // namespace mixstack::dotnet
