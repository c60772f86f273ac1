#include "dotnet/code/checkpoints.h"

#include "dotnet/code/frames/frame_update.h"

namespace mixstack::dotnet {
namespace {

walk::Checkpoint checkpoint_of(CodeManager& code, const FrameRecord& record, bool methods) {
  const RuntimeMemory& memory = code.memory();
  walk::Checkpoint c;
  c.address = record.address;
  c.identifier = static_cast<std::uint32_t>(record.identifier);
  c.context = Registers(memory.layouts().arch);
  if (auto update = update_from_frame(memory, record, c.context); update && update->changed) {
    c.context = update->registers;
    c.interrupted = update->interrupted;
    const Address pc = c.context.pc();
    c.resumes = pc != 0 && code.is_managed(c.interrupted ? CodeAddress::exact(pc) : CodeAddress::after_call(pc));
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
  for (const FrameRecord& record : chain.frames) list.checkpoints.push_back(checkpoint_of(code, record, methods));
  return list;
}

}  // namespace mixstack::dotnet
