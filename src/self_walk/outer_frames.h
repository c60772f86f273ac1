// Frames that somebody keeps a list of: where a walk goes on that can go no further by itself.
#pragma once

#include "mixstack/address.h"
#include "mixstack/memory_reader.h"

namespace mixstack::self_walk {

/// A caller further out, as it was when it called.
struct OuterFrame {
  Address pc = 0;  ///< a return address
  Address sp = 0, fp = 0;
};

/// Asked in signal handlers, of the calling thread only: takes no lock, allocates nothing and reads other memory
/// through `memory` only. Lives as long as the walker.
class OuterFrames {
 public:
  virtual ~OuterFrames() = default;
  /// The next one whose stack pointer lies above `sp`, innermost first. `place` is where the list was left, 0 at first.
  /// False: there is none. `stack`: of the thread; what the list says lies elsewhere is not believed.
  [[nodiscard]] virtual bool next(Address sp, AddressRange stack, const MemoryReader& memory, Address& place,
                                  OuterFrame& out) const noexcept = 0;
};

}  // namespace mixstack::self_walk
