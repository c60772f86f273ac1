// Locks that threads wait for, as data: no verdict, for healthy programs have such, too, and yet what slow ones spend
// their time with.
#pragma once

#include <cstdint>
#include <vector>

#include "mixstack/waits.h"

namespace mixstack {

/// Threads that wait for one lock.
struct Contention {
  WaitKind kind = WaitKind::none;
  Proof proof = Proof::likely;         ///< the least sure of their waits
  WaitedObject object;                 ///< as the first of them waits for it
  std::vector<std::uint32_t> waiters;  ///< in the order of the dump, at least two
  std::vector<std::uint32_t> owners;   ///< whoever holds it; empty: nobody, or nobody can know
  bool is_lasting = false;             ///< several waited for it at the look before, too
};

}  // namespace mixstack
