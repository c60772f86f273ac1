// Async methods that the runtime suspends itself, since .NET 11 (src/coreclr/vm/object.h, method.hpp).
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

/// The object that keeps a suspended method; its data follow.
struct ContinuationObjectLayout {
  std::uint32_t size = 0;
  Field next, resume_info, state;

  template <class Names>
  void describe(Names& names) {
    names.type("ContinuationObject", size);
    names.field(next, "Next");
    names.field(resume_info, "ResumeInfo");
    names.field(state, "State");
  }
};

struct AsyncResumeInfoLayout {
  Field diagnostic_ip;  ///< where the method goes on, in its own code

  template <class Names>
  void describe(Names& names) {
    names.type("AsyncResumeInfo");
    names.field(diagnostic_ip, "DiagnosticIP");
  }
};

/// The last of the optional slots of a MethodDesc.
struct AsyncMethodDataLayout {
  Field flags;

  template <class Names>
  void describe(Names& names) {
    names.type("AsyncMethodData");
    names.field(flags, "Flags");
  }
};

}  // namespace mixstack::dotnet
