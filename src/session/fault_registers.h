// The registers at the fault of a thread that was dumped while it handled that fault.
#pragma once

#include "engine/walk/chain_walker.h"
#include "mixstack/dump.h"

namespace mixstack::session {

/// Sets `fault_registers` of the thread that crashed when its own registers are those of its signal handler: .NET calls
/// createdump out of the handler and waits, so the thread is in a system call. The fault's registers lie in the signal
/// frame the kernel pushed; it is the right one when its siginfo says the same as the core does of the crash: signal
/// number and address, raised by the CPU. `memory` is that of the capture, `stack` reads the thread's.
void find_fault_registers(const TargetInfo& target, ThreadDump& thread, const walk::ChainWalker& walker,
                          const walk::ThreadInput& stack, const MemoryReader& memory);

}  // namespace mixstack::session
