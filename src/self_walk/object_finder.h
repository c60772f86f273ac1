// Which loaded image an address belongs to, from the dynamic linker.
#pragma once

#include <cstddef>
#include <memory>

#include "mixstack/address.h"

namespace mixstack::self_walk {

/// A loaded image as the dynamic linker knows it.
struct LoadedObject {
  AddressRange range;
  Address eh_frame_hdr = 0;  ///< PT_GNU_EH_FRAME in memory
};

/// Asks glibc's `_dl_find_object` (2.35), which takes no lock and may be called in signal handlers; where libc has no
/// such function, a list made at construction.
class ObjectFinder {
 public:
  ObjectFinder();
  /// Signal-safe. False where no image is.
  [[nodiscard]] bool find(Address address, LoadedObject& out) const;
  /// Whether the list is no longer true. Not signal-safe.
  [[nodiscard]] bool is_stale() const;

 private:
  /// The list, for libcs without the function. Immutable.
  struct Listed;

  int (*find_object_)(void*, void*) = nullptr;
  std::shared_ptr<const Listed> listed_;
};

}  // namespace mixstack::self_walk
