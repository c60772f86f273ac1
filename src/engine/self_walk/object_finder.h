// Finds the loaded image of an address, by the dynamic linker.
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

/// Asks glibc's `_dl_find_object` (2.35), which takes no lock and is safe in signal handlers. Where libc lacks it
/// (musl, older ones), uses a list of up to 1,024 images that `update` refreshes.
class ObjectFinder {
 public:
  enum class Way { linker, list };
  explicit ObjectFinder(Way way = Way::linker);
  /// False: no image is there. Signal-safe.
  [[nodiscard]] bool find(Address address, LoadedObject& out) const;
  /// Adds images loaded, and removes images unloaded, since the last call. One thread at a time, while handlers may
  /// look. Not signal-safe.
  void update() const;

 private:
  class List;

  int (*find_object_)(void*, void*) = nullptr;
  std::shared_ptr<List> list_;
};

}  // namespace mixstack::self_walk
