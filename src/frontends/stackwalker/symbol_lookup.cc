#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/reader_lookup.h"
#include "frontends/stackwalker/symtab_store.h"

namespace Dyninst::Stackwalker {

SymbolLookup::SymbolLookup(std::string exec_path) : executable_path_(std::move(exec_path)) {}
SymbolLookup::~SymbolLookup() = default;
Walker* SymbolLookup::getWalker() { return walker; }
ProcessState* SymbolLookup::getProcessState() { return walker != nullptr ? walker->getProcessState() : nullptr; }

SymDefaultLookup::SymDefaultLookup(std::string exec_name) : SymbolLookup(std::move(exec_name)) {}
SymDefaultLookup::~SymDefaultLookup() = default;

bool SymDefaultLookup::lookupAtAddr(Address addr, std::string& out_name, void*& out_value) {
  const auto engine = WalkerAccess::engine(walker);
  if (!engine) return false;
  // A frame's RA follows its call, which may be the last instruction of its function.
  const Walker::Parts& parts = WalkerAccess::parts(*walker);
  const bool is_of_frame = parts.looked_up && parts.looked_up->first == addr;
  const mixstack::Frame frame = engine->classify(is_of_frame ? parts.looked_up->second : addr);
  const mixstack::SymbolInfo info = engine->name(frame);
  std::string name = info.name;
  if (frame.kind != mixstack::FrameKind::managed) ask_users_reader(parts.symbol_reader, *engine, frame, name);
  if (name.empty()) return failed(err_nosymbol, nullptr);
  out_name = std::move(name);
  const auto store = WalkerAccess::symtabs(walker);
  out_value = store ? store->symbol(*engine, frame, info) : nullptr;
  return true;
}

SwkSymtab::SwkSymtab(std::string exec_name) : SymDefaultLookup(std::move(exec_name)) {}
SwkSymtab::~SwkSymtab() = default;

bool Frame::getLibOffset(std::string& lib, Offset& offset, void*& symtab) const {
  clearLastError();
  Walker* walker = getWalker();
  if (walker == nullptr || (flags_ & kHasRA) == 0)
    return failed(err_badparam, "the frame has no address, or its Walker is gone");
  const Address address = FrameAccess::lookup_address(*this);
  LibAddrPair library;
  try {
    LibraryState* tracker = walker->getProcessState()->getLibraryTracker();
    if (tracker == nullptr) return failed(err_nolibtracker, nullptr);
    if (!tracker->getLibraryAtAddr(address, library)) {
      if (getLastError() == 0) setLastError(err_nofile, "no library at this address");
      return false;
    }
  } catch (...) {
    return failed(err_internal, "the LibraryState threw an exception");
  }
  lib = library.first;
  offset = ra_ - library.second;
  symtab = nullptr;
  const auto engine = WalkerAccess::engine(walker);
  const auto store = WalkerAccess::symtabs(walker);
  if (engine && store) symtab = store->symtab(*engine, engine->modules().find(address));
  return true;
}

}  // namespace Dyninst::Stackwalker
