// Borrowed types of the StackwalkerAPI: addresses, processes, threads (manual, "Basic Types").
#pragma once

#include <cstddef>

namespace Dyninst {

/// An address in the target process. Never use it as a pointer.
typedef unsigned long Address;
typedef unsigned long Offset;
/// The kernel's process and thread ids.
typedef int PID;
typedef int LWP;
typedef long THR_ID;

}  // namespace Dyninst

// Macros as in Dyninst, because programs use them without a namespace.
#define NULL_PID (static_cast< ::Dyninst::PID>(-1))
#define NULL_LWP (static_cast< ::Dyninst::LWP>(-1))
#define NULL_THR_ID (static_cast< ::Dyninst::THR_ID>(-1))
