// Undoing, in copied bytes, what a suspension did to a stack.
#pragma once

#include <span>

#include "dotnet/code/threads.h"

namespace mixstack::dotnet {

/// While a suspension is pending the runtime replaces one return address of a thread by that of its own stub and keeps
/// the true one in the Thread. Puts the true one back into the copy of the stack that starts at `base`, so that every
/// walk over the copy is right. True when something was replaced. The target is not touched.
inline bool unhijack(const ManagedThread& thread, Address base, std::span<std::byte> stack, unsigned pointer_size) {
  if (!thread.is_hijacked() || thread.hijacked_return == 0) return false;
  const Address offset = thread.hijacked_slot - base;
  if (thread.hijacked_slot < base || offset > stack.size() || stack.size() - offset < pointer_size) return false;
  std::memcpy(stack.data() + offset, &thread.hijacked_return, pointer_size);
  return true;
}

}  // namespace mixstack::dotnet
