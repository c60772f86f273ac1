#include "mixstack/holders.h"

#include <array>

namespace mixstack {

const char* to_string(RootKind kind) {
  constexpr std::array<const char*, static_cast<std::size_t>(RootKind::count)> kNames{"none",
                                                                                      "static_field",
                                                                                      "thread_static",
                                                                                      "thread_slots",
                                                                                      "strong_handle",
                                                                                      "pinned_handle",
                                                                                      "async_pinned_handle",
                                                                                      "sized_handle",
                                                                                      "counted_handle",
                                                                                      "finalizer",
                                                                                      "several",
                                                                                      "stack",
                                                                                      "local"};
  return kNames.at(static_cast<std::size_t>(kind));
}

const char* to_string(HolderShape shape) {
  constexpr std::array<const char*, static_cast<std::size_t>(HolderShape::count)> kNames{"root", "objects", "list",
                                                                                         "collection", "delegate"};
  return kNames.at(static_cast<std::size_t>(shape));
}

const char* to_string(HoldersCertainty certainty) {
  constexpr std::array<const char*, static_cast<std::size_t>(HoldersCertainty::count)> kNames{"none", "one_moment",
                                                                                              "read_twice"};
  return kNames.at(static_cast<std::size_t>(certainty));
}

}  // namespace mixstack
