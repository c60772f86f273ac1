// The local variables of functions, from the DWARF debug information of one file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"
#include "mixstack/target.h"

namespace mixstack::symbols {

struct DwarfVariable {
  std::string name;
  std::string type_name;   ///< empty: none named
  std::string file;        ///< where it is declared, empty when not known
  std::uint64_t size = 0;  ///< bytes of its type, 0: not known
  int line = 0;
  bool is_parameter = false;
  std::uint64_t entry = 0;  ///< offset of its entry, which names it
};

class DwarfFile;

/// A frame in which variables have values. Everything is borrowed.
struct DwarfFrame {
  const Registers* registers = nullptr;
  const VectorRegisters* vectors = nullptr;  ///< null: not known
  const MemoryReader* memory = nullptr;
  std::uint64_t pc = 0;              ///< look-up address, in the file's own addresses
  std::uint64_t return_address = 0;  ///< of its call, in the file's own addresses; 0: it is not at a call
  std::uint64_t load_bias = 0;       ///< of the image in the process
  std::optional<Address> cfa;        ///< the caller's sp, where known
  /// The caller's frame and its debug information, which give arguments at the call. Null: not known.
  const DwarfFrame* caller = nullptr;
  DwarfFile* caller_file = nullptr;
};

/// A function as its call sites name it.
struct CalledFunction {
  Address entry = 0;
  std::string name;  ///< the linkage name
};

enum class VariableStatus : std::uint8_t {
  found,
  unknown_variable,  ///< not one of the function's
  out_of_scope,      ///< it has no place at this pc
  unavailable,       ///< optimised away, or it depends on values that are not known
};

/// Debug information read with libdw. Not thread-safe.
class DwarfFile {
 public:
  /// Keeps the bytes. Errors: `not_found` (no debug information), `malformed`.
  [[nodiscard]] static Result<std::shared_ptr<DwarfFile>> open(std::shared_ptr<const FileBytes> file);
  ~DwarfFile();
  DwarfFile(const DwarfFile&) = delete;
  DwarfFile& operator=(const DwarfFile&) = delete;

  /// Parameters and locals of all blocks of the function around an address, then as locals those of the functions
  /// inlined there, parameters too. `address` is in the file's own addresses, as are all others.
  [[nodiscard]] std::vector<DwarfVariable> variables(std::uint64_t address);
  /// Bytes of the variable's value; as many as its type has, or `default_size` where that is not known.
  [[nodiscard]] VariableStatus value(std::uint64_t entry, const DwarfFrame& frame, std::size_t default_size,
                                     std::vector<std::byte>& out);
  /// The value that the caller, at its call in `frame`, passes in a register to `callee`. Nothing where the debug
  /// information does not give it, or does not say that this call is to `callee`.
  [[nodiscard]] std::optional<std::uint64_t> argument_of_call(const DwarfFrame& frame, std::uint64_t reg,
                                                              const CalledFunction& callee, unsigned depth = 0);

 private:
  struct Handles;
  explicit DwarfFile(std::unique_ptr<Handles> handles);
  std::unique_ptr<Handles> handles_;
};

}  // namespace mixstack::symbols
