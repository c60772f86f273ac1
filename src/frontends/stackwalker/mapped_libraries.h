// The default LibraryState: the images mapped by the process.
#pragma once

#include "stackwalker/procstate.h"

namespace Dyninst::Stackwalker {

/// Behaves as the manual says for any ProcessState. It also knows images that the dynamic linker does not list (.NET's
/// PE images, the vDSO).
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
