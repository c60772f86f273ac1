// Borrowed from SymtabAPI, the StackwalkerAPI's sister library: the objects that Frame::getObject, Frame::getLibOffset
// and local_var.h return. The Walker of the frame owns them, and they live as long as it. Not thread-safe. Sizes are in
// bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dyntypes.h"

namespace mixstack::stackwalker {
class SymtabAccess;
}

namespace Dyninst::SymtabAPI {

class Function;
class Symtab;

/// A symbol of a file, or a managed method (which has no Symtab).
class Symbol {
 public:
  enum SymbolType { ST_UNKNOWN, ST_FUNCTION };

  [[nodiscard]] std::string getMangledName() const { return mangled_; }
  [[nodiscard]] std::string getPrettyName() const { return pretty_; }
  /// With parameters, if the name has them.
  [[nodiscard]] std::string getTypedName() const { return pretty_; }
  /// In the file's own addresses; for a managed method, the address of its code in the process.
  [[nodiscard]] Offset getOffset() const { return offset_; }
  [[nodiscard]] unsigned getSize() const { return size_; }
  [[nodiscard]] SymbolType getType() const { return ST_FUNCTION; }
  [[nodiscard]] bool isFunction() const { return true; }
  /// Null for managed methods.
  [[nodiscard]] Function* getFunction() const;
  [[nodiscard]] Symtab* getSymtab() const { return symtab_; }

 private:
  friend class mixstack::stackwalker::SymtabAccess;
  std::string mangled_, pretty_;
  Offset offset_ = 0;
  unsigned size_ = 0;
  Symtab* symtab_ = nullptr;
};

/// Name and size of a variable's type.
class Type {
 public:
  [[nodiscard]] const std::string& getName() const { return name_; }
  /// In bytes; 0: not known.
  [[nodiscard]] unsigned getSize() const { return size_; }

 private:
  friend class mixstack::stackwalker::SymtabAccess;
  std::string name_;
  unsigned size_ = 0;
};

/// A local variable or parameter of a function.
class localVar {
 public:
  [[nodiscard]] const std::string& getName() const { return name_; }
  /// Null: the debug information names no type.
  [[nodiscard]] Type* getType() const { return type_.get(); }
  [[nodiscard]] int getLineNum() const { return line_; }
  [[nodiscard]] const std::string& getFileName() const { return file_; }
  [[nodiscard]] bool isParameter() const { return is_parameter_; }

 private:
  friend class mixstack::stackwalker::SymtabAccess;
  std::string name_, file_;
  std::unique_ptr<Type> type_;
  int line_ = 0;
  bool is_parameter_ = false;
  Function* function_ = nullptr;
  unsigned long die_ = 0;  ///< offset of its entry in the debug information
};

/// A native function.
class Function {
 public:
  [[nodiscard]] std::string getName() const { return name_; }
  [[nodiscard]] Offset getOffset() const { return offset_; }
  [[nodiscard]] unsigned getSize() const { return size_; }
  [[nodiscard]] Symtab* getSymtab() const { return symtab_; }
  /// The variables of all blocks, without parameters. False: none, or no debug information.
  bool getLocalVariables(std::vector<localVar*>& vars);
  bool getParams(std::vector<localVar*>& params);
  /// Locals and parameters of that name: several if blocks redeclare it. False: none.
  bool findLocalVariable(std::vector<localVar*>& vars, std::string name);

 private:
  friend class mixstack::stackwalker::SymtabAccess;
  void readVariables();
  std::string name_;
  Offset offset_ = 0;
  unsigned size_ = 0;
  Symtab* symtab_ = nullptr;
  bool has_read_variables_ = false;
  std::vector<std::unique_ptr<localVar>> variables_;
};

/// The symbols of one loaded file.
class Symtab {
 public:
  ~Symtab();
  Symtab(const Symtab&) = delete;
  Symtab& operator=(const Symtab&) = delete;

  /// Path of the file as the target sees it.
  [[nodiscard]] std::string file() const;
  [[nodiscard]] std::string name() const;
  bool getContainingFunction(Offset offset, Function*& function);
  bool findFunctionByEntryOffset(Function*& function, Offset entry);

  struct Parts;  ///< of the implementation

 private:
  friend class mixstack::stackwalker::SymtabAccess;
  explicit Symtab(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace Dyninst::SymtabAPI
