// A thread and its frames, as what looks for objects on its stack wants them.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "dotnet/code/threads.h"
#include "mixstack/registers.h"
#include "mixstack/target.h"

namespace mixstack::dotnet::objects {

/// One frame of a thread that may wait, innermost first.
struct WaitFrame {
  Address sp = 0, cfa = 0;
  bool is_managed = false;
  std::string_view method;  ///< with its type, `System.Threading.WaitHandle.WaitOneNoCheck(int)`; may be empty
};

/// A thread as one capture shows it.
struct WaitingThread {
  const ManagedThread* thread = nullptr;
  const Registers* registers = nullptr;
  std::span<const WaitFrame> frames;
  std::array<std::uint64_t, 6> call{};  ///< arguments of the system call that it waits in; zeros: none, or not known
  bool is_pausing = false;              ///< native code that managed code called spins at this moment
  const MemorySlice* copied = nullptr;  ///< of a sample: its stack as it was; memory has it as it is by now
};

}  // namespace mixstack::dotnet::objects
