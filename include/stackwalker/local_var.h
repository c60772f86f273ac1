// Local variables of the frames of a call stack (manual, "Accessing Local Variables"). DWARF debug information is
// needed.
#pragma once

#include <vector>

#include "Symtab.h"
#include "frame.h"
#include "procstate.h"
#include "walker.h"

namespace Dyninst::Stackwalker {

/// Null, with the error set, where no symbol of a native file covers the frame.
[[nodiscard]] Dyninst::SymtabAPI::Function* getFunctionForFrame(Frame f);

enum : int {
  glvv_Success = 0,
  glvv_EParam = -1,       ///< no such frame, no buffer, or not a variable of that frame's function
  glvv_EOutOfScope = -2,  ///< it has no place at this point of the function
  glvv_EBufferSize = -3,  ///< the value is larger than the buffer
  glvv_EUnknown = -4      ///< optimised away, or what it depends on is not known
};

/// Copies the value of `var` in `swalk[frame]` into the buffer. Memory is read as it is now.
int getLocalVariableValue(Dyninst::SymtabAPI::localVar* var, std::vector<Frame>& swalk, unsigned frame,
                          void* out_buffer, unsigned out_buffer_size);

}  // namespace Dyninst::Stackwalker

// The original declares these outside all namespaces and uses three of them; programs rely on it.
using Dyninst::Stackwalker::getFunctionForFrame;
using Dyninst::Stackwalker::getLocalVariableValue;
using Dyninst::Stackwalker::glvv_EBufferSize;
using Dyninst::Stackwalker::glvv_EOutOfScope;
using Dyninst::Stackwalker::glvv_EParam;
using Dyninst::Stackwalker::glvv_EUnknown;
using Dyninst::Stackwalker::glvv_Success;
