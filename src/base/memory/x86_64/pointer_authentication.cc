#include "base/memory/pointer_authentication.h"

namespace mixstack::memory {

std::uint64_t own_pac_mask() { return 0; }

}  // namespace mixstack::memory
