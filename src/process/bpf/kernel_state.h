// The states of a thread, as /proc tells them.
#pragma once

namespace mixstack::bpf {

/// As fs/proc/array.c tells them, by the bits of include/linux/sched.h: task_struct's `__state` and `exit_state`.
[[nodiscard]] constexpr char state_letter(unsigned state, unsigned exit_state) {
  constexpr unsigned kZombie = 0x20, kDead = 0x10, kInterruptible = 1, kUninterruptible = 2, kStopped = 4, kTraced = 8,
                     kParked = 0x40, kNoLoad = 0x400, kWaitsForLock = 0x1000, kFrozen = 0x8000;
  if ((exit_state & kZombie) != 0) return 'Z';
  if ((exit_state & kDead) != 0) return 'X';
  if ((state & kInterruptible) != 0) return 'S';
  if ((state & kUninterruptible) != 0) return (state & kNoLoad) != 0 ? 'I' : 'D';
  if ((state & kStopped) != 0) return 'T';
  if ((state & kTraced) != 0) return 't';
  if ((state & kParked) != 0) return 'P';
  if ((state & (kWaitsForLock | kFrozen)) != 0) return 'D';
  return 'R';
}

}  // namespace mixstack::bpf
