// Managed exceptions as a dump shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mixstack/address.h"
#include "mixstack/result.h"

namespace mixstack {

/// One entry of the stack trace that an exception object carries: where it was thrown, or passed through. The stack
/// frame itself may be gone by the time of the capture.
struct ThrowFrame {
  Address ip = 0;                ///< inside the instruction that threw or called
  Address sp = 0;                ///< stack pointer of that frame
  Address method = 0;            ///< MethodDesc
  std::uint64_t offset = 0;      ///< of `ip` in the method's native code
  std::uint32_t symbol = 0;      ///< index into ProcessDump::symbols
  bool ends_first_part = false;  ///< the frames up to here belong to an earlier throw (ExceptionDispatchInfo)
};

/// A managed exception object. Members that could not be read are empty, and `error` says why.
struct ManagedException {
  static constexpr std::uint32_t kOutermost = ~std::uint32_t{0};
  Address object = 0;
  std::string type;
  bool has_message = false;
  std::string message;  ///< the object's own message as UTF-8, cut with "…" after 4096 UTF-16 units
  std::uint32_t hresult = 0;
  std::uint32_t inner_of = kOutermost;  ///< index in the chain of the exception that has this one as inner exception
  std::vector<ThrowFrame> thrown_at;    ///< innermost first
  bool thrown_at_is_cut = false;        ///< more frames than are kept
  Error error;
};

/// An exception that a thread is handling, and its inner exceptions.
struct ExceptionInFlight {
  /// Outermost first; every other one is an inner exception of an earlier one (AggregateException has several).
  std::vector<ManagedException> chain;
  bool inner_are_cut = false;  ///< there are more, or they form a cycle
};

}  // namespace mixstack
