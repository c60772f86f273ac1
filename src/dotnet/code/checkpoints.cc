#include "dotnet/code/checkpoints.h"

#include <algorithm>

#include "dotnet/code/frames/frame_update.h"

namespace mixstack::dotnet {
namespace {

// Below the stack the runtime knows: the guard pages in which a stack overflow is noticed.
constexpr Address kBelowStack = 1 << 20;

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

walk::Checkpoint checkpoint_of(CodeManager& code, const FrameRecord& record, Address newer, const AddressRange& stack,
                               bool methods) {
  const RuntimeMemory& memory = code.memory();
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

}  // namespace

CheckpointList read_checkpoints(CodeManager& code, const ManagedThread& thread, bool methods, std::size_t most) {
  CheckpointList list;
  const FrameChain chain = read_frame_chain(code.memory(), thread.frame, thread.stack, most);
  list.error = chain.error;
  list.checkpoints.reserve(chain.frames.size());
  Address newer = 0;
  for (const FrameRecord& record : chain.frames) {
    list.checkpoints.push_back(checkpoint_of(code, record, newer, thread.stack, methods));
    // The first may lie on a stack of its own (see read_frame_chain).
    if (thread.stack.empty() || thread.stack.contains(record.address)) newer = record.address;
  }
  return list;
}

void forget_dead_places(CheckpointList& list, const ManagedThread& thread, Address sp) {
  if (!thread.stack.contains(sp)) return;  // a handler's own stack
  for (walk::Checkpoint& c : list.checkpoints)
    if (c.resumes && thread.stack.contains(c.context.sp()) && c.context.sp() < sp) c.resumes = false;
}

}  // namespace mixstack::dotnet
