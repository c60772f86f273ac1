// Borrowed types of the StackwalkerAPI: addresses, processes, threads (manual, "Basic Types").
#pragma once

#include <cstddef>

namespace Dyninst {

/// An address in the target process; never to be used as a pointer.
typedef unsigned long Address;
typedef unsigned long Offset;
/// The kernel's process id and thread ids.
typedef int PID;
typedef int LWP;
typedef long THR_ID;

}  // namespace Dyninst

// Macros as in the original, because programs write them without a namespace.
#define NULL_PID (static_cast< ::Dyninst::PID>(-1))
#define NULL_LWP (static_cast< ::Dyninst::LWP>(-1))
#define NULL_THR_ID (static_cast< ::Dyninst::THR_ID>(-1))
