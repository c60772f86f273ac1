#include "session/fault_registers.h"

#include <array>
#include <memory>

#include "base/system/byte_cursor.h"
#include "engine/unwind/signal_trampoline.h"

namespace mixstack::session {
namespace {

/// The kernel's siginfo_t on 64-bit targets (include/uapi/asm-generic/siginfo.h): signo, errno, code, address.
bool is_of_crash(const CrashFacts& crash, std::span<const std::byte> info) {
  const auto signal = base::load_at<std::int32_t>(info, 0), code = base::load_at<std::int32_t>(info, 8);
  const auto address = base::load_at<std::uint64_t>(info, 16);
  // Codes of the CPU's own signals are positive: others were sent, and interrupted nothing that failed.
  if (!signal || !code || !address || *signal != crash.signal || *code <= 0) return false;
  return !crash.address || *crash.address == *address;
}

bool is_the_signal_frame(const CrashFacts& crash, const Frame& frame, Arch arch, const MemoryReader& memory) {
  const auto offset = unwind::signal_info_offset(arch);
  std::array<std::byte, 24> info;
  return frame.kind == FrameKind::signal_trampoline && offset && memory.read_exact(frame.sp + *offset, info) &&
         is_of_crash(crash, info);
}

}  // namespace

void find_fault_registers(const TargetInfo& target, ThreadDump& thread, const walk::ChainWalker& walker,
                          const walk::ThreadInput& stack, const MemoryReader& memory) {
  if (!target.crash || target.crash->tid != thread.tid || !thread.captured || thread.syscall < 0) return;
  for (const Frame& frame : thread.trace.frames) {
    if (!is_the_signal_frame(*target.crash, frame, target.arch, memory)) continue;
    walk::Cursor cursor{Registers(target.arch), frame};
    cursor.registers.set_pc(frame.pc.raw());
    cursor.registers.set_sp(frame.sp);
    const auto outcome = walker.step(cursor, stack);
    if (outcome.status == walk::StepStatus::caller && outcome.caller_interrupted)
      thread.fault_registers = std::make_shared<const Registers>(cursor.registers);
    return;
  }
}

}  // namespace mixstack::session
