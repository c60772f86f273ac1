#include <linux/audit.h>

#include "helpers/dac/syscall_filter.h"

namespace mixstack::helper {

std::uint32_t native_audit_arch() { return AUDIT_ARCH_X86_64; }

}  // namespace mixstack::helper
