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
/// such function (musl, older ones), a list of up to 1,024 images that `update` brings up to date.
class ObjectFinder {
 public:
  enum class Way { linker, list };
  explicit ObjectFinder(Way way = Way::linker);
  /// Signal-safe. False where no image is.
  [[nodiscard]] bool find(Address address, LoadedObject& out) const;
  /// What was loaded and unloaded since. Of one thread at a time; handlers may look meanwhile. Not signal-safe.
  void update() const;

 private:
  class List;

  int (*find_object_)(void*, void*) = nullptr;
  std::shared_ptr<List> list_;
};

}  // namespace mixstack::self_walk
