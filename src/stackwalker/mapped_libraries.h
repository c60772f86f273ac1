// The default LibraryState: the images the process has mapped.
#pragma once

#include "stackwalker/procstate.h"

namespace Dyninst::Stackwalker {

/// The manual's sentences hold for it, whatever its ProcessState is. It knows images that the dynamic linker does not
/// list (PE images of .NET, the vDSO).
class MappedLibraries final : public LibraryState {
 public:
  explicit MappedLibraries(ProcessState* parent);
  ~MappedLibraries() override;
  bool getLibraryAtAddr(Address addr, LibAddrPair& lib) override;
  bool getLibraries(std::vector<LibAddrPair>& libs, bool allow_refresh = true) override;
  void notifyOfUpdate() override;
  Address getLibTrapAddress() override;
  bool getAOut(LibAddrPair& ao) override;
};

}  // namespace Dyninst::Stackwalker
