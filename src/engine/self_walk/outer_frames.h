// A list of frames kept by a runtime: where a walk that cannot continue resumes.
#pragma once

#include "mixstack/address.h"
#include "mixstack/memory_reader.h"

namespace mixstack::self_walk {

/// A caller further out, at its call.
struct OuterFrame {
  Address pc = 0;  ///< a return address
  Address sp = 0, fp = 0;
};

/// Called in signal handlers, for the calling thread only: takes no lock, allocates nothing and reads other memory
/// through `memory` only. Lives as long as the walker.
class OuterFrames {
 public:
  virtual ~OuterFrames() = default;
  /// The next frame whose stack pointer is above `sp`, innermost first. `place`: the position in the list, 0 at first.
  /// False: there is none. `stack`: the thread's; frames outside of it are not believed.
  [[nodiscard]] virtual bool next(Address sp, AddressRange stack, const MemoryReader& memory, Address& place,
                                  OuterFrame& out) const noexcept = 0;
};

}  // namespace mixstack::self_walk
