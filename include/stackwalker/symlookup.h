// Translates addresses to names (manual, class SymbolLookup).
#pragma once

#include <string>

#include "basetypes.h"

namespace Dyninst::Stackwalker {

class Walker;
class ProcessState;
class WalkerAccess;

class SymbolLookup {
 public:
  explicit SymbolLookup(std::string exec_path = "");
  virtual ~SymbolLookup();
  SymbolLookup(const SymbolLookup&) = delete;
  SymbolLookup& operator=(const SymbolLookup&) = delete;

  /// The name of the function around `addr`. For a frame's name and object `addr` is the frame's RA, which lies behind
  /// the call in a frame that called: the default lookup takes that into account. False, with the error set, if there
  /// is none. An exception counts as false.
  virtual bool lookupAtAddr(Dyninst::Address addr, std::string& out_name, void*& out_value) = 0;
  virtual Walker* getWalker();
  virtual ProcessState* getProcessState();
  /// The manual's spelling.
  ProcessState* getProcessSate() { return getProcessState(); }

 protected:
  Walker* walker = nullptr;

 private:
  friend class WalkerAccess;
  std::string executable_path_;
};

/// The default lookup, under both of its names: native functions by symbol tables (demangled), managed methods by their
/// runtime. `out_value` is a SymtabAPI::Symbol that lives as long as the Walker, or null.
class SymDefaultLookup : public SymbolLookup {
 public:
  explicit SymDefaultLookup(std::string exec_name = "");
  ~SymDefaultLookup() override;
  bool lookupAtAddr(Dyninst::Address addr, std::string& out_name, void*& out_value) override;
};

class SwkSymtab : public SymDefaultLookup {
 public:
  explicit SwkSymtab(std::string exec_name = "");
  ~SwkSymtab() override;
};

}  // namespace Dyninst::Stackwalker
