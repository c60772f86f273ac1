// Local variables of the frames of a call stack (manual, "Accessing Local Variables"). Needs DWARF debug information.
#pragma once

#include <vector>

#include "Symtab.h"
#include "frame.h"
#include "procstate.h"
#include "walker.h"

namespace Dyninst::Stackwalker {

/// Null, with the error set, if no symbol of a native file covers the frame. The frame's Walker owns the function.
[[nodiscard]] Dyninst::SymtabAPI::Function* getFunctionForFrame(Frame f);

enum : int {
  glvv_Success = 0,
  glvv_EParam = -1,       ///< no such frame, no buffer, or not a variable of that frame's function
  glvv_EOutOfScope = -2,  ///< no location at this point of the function
  glvv_EBufferSize = -3,  ///< the value is larger than the buffer
  glvv_EUnknown = -4      ///< optimised away, or depends on unknown values
};

/// Copies the value of `var` in `swalk[frame]` into the buffer of `out_buffer_size` bytes. Reads memory as it is now.
/// Returns a glvv_ code, with getLastError set on failure.
int getLocalVariableValue(Dyninst::SymtabAPI::localVar* var, std::vector<Frame>& swalk, unsigned frame,
                          void* out_buffer, unsigned out_buffer_size);

}  // namespace Dyninst::Stackwalker

// Dyninst declares these outside of all namespaces; programs rely on it.
using Dyninst::Stackwalker::getFunctionForFrame;
using Dyninst::Stackwalker::getLocalVariableValue;
using Dyninst::Stackwalker::glvv_EBufferSize;
using Dyninst::Stackwalker::glvv_EOutOfScope;
using Dyninst::Stackwalker::glvv_EParam;
using Dyninst::Stackwalker::glvv_EUnknown;
using Dyninst::Stackwalker::glvv_Success;
