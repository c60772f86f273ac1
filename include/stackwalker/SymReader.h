// Borrowed interface of the StackwalkerAPI: readers of symbol files, for Walker::getSymbolReader and setSymbolReader.
#pragma once

#include <string>

#include "Architecture.h"

namespace Dyninst {

/// A reader's own name for a symbol.
struct Symbol_t {
  void* v1 = nullptr;
  void* v2 = nullptr;
  int i1 = 0;
  int i2 = 0;
};

/// The symbols of one file. Offsets are the file's own addresses. The methods are those the original's walker calls.
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

/// Opens readers; whoever opened a reader closes it by the same factory.
class SymbolReaderFactory {
 public:
  virtual ~SymbolReaderFactory() = default;
  /// Null when the file cannot be read.
  virtual SymReader* openSymbolReader(std::string pathname) = 0;
  virtual SymReader* openSymbolReader(const char* buffer, unsigned long size) = 0;
  virtual bool closeSymbolReader(SymReader* reader) = 0;
};

}  // namespace Dyninst
