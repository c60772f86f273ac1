// Borrowed interface of the StackwalkerAPI: readers of symbol files, for Walker::getSymbolReader and setSymbolReader.
#pragma once

#include <string>

#include "Architecture.h"

namespace Dyninst {

/// A reader's own handle of a symbol; only that reader interprets the members.
struct Symbol_t {
  void* v1 = nullptr;
  void* v2 = nullptr;
  int i1 = 0;
  int i2 = 0;
};

/// The symbols of one file. Offsets are the file's own addresses, sizes bytes. The methods are those that Dyninst's
/// walker calls.
class SymReader {
 public:
  virtual ~SymReader() = default;
  virtual Symbol_t getSymbolByName(std::string symname) = 0;
  virtual Symbol_t getContainingSymbol(Offset offset) = 0;
  virtual std::string getInterpreterName() = 0;
  virtual unsigned getAddressWidth() = 0;
  virtual Architecture getArchitecture() const = 0;
  virtual Offset getSymbolOffset(const Symbol_t& sym) = 0;
  virtual std::string getSymbolName(const Symbol_t& sym) = 0;
  virtual std::string getDemangledName(const Symbol_t& sym) = 0;
  virtual unsigned long getSymbolSize(const Symbol_t& sym) = 0;
  virtual bool isValidSymbol(const Symbol_t& sym) = 0;
};

/// Opens readers. A reader must be closed by the factory that opened it.
class SymbolReaderFactory {
 public:
  virtual ~SymbolReaderFactory() = default;
  /// Null: the file cannot be read.
  virtual SymReader* openSymbolReader(std::string pathname) = 0;
  virtual SymReader* openSymbolReader(const char* buffer, unsigned long size) = 0;
  virtual bool closeSymbolReader(SymReader* reader) = 0;
};

}  // namespace Dyninst
