// Names of a runtime's methods, types and modules: what the other layers use of this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "dotnet/contracts/runtime_memory.h"
#include "dotnet/names/runtime_method.h"
#include "dotnet/names/runtime_modules.h"
#include "mixstack/frame.h"

namespace mixstack::dotnet::names {

class CallGraph;
class PortablePdb;
struct MethodParameters;
struct ParameterType;
struct ValueType;
struct PdbLookup;

/// Everything known about one method. Text is printable UTF-8 (controls escaped), cut with "…" at the limit.
struct MethodName {
  std::string name;         ///< as C# writes it; forms in docs/names.md
  std::string raw_name;     ///< exactly what the DAC prints (ClrMD's ClrMethod.Signature, SOS's clrstack)
  std::string module;       ///< simple name of the assembly; of a dynamic method empty
  std::string module_path;  ///< as the target sees it; empty where there is no file
  std::uint32_t token = 0;  ///< MethodDef token; 0 for dynamic methods and array methods
  Address method_table = 0;
  Address module_address = 0;  ///< the Module that `token` is of; 0: none
  bool is_dynamic = false;     ///< lightweight (DynamicMethod), IL stub, or of an emitted assembly
  bool is_il_stub = false;
  std::string stub_kind;  ///< of an IL stub: "P/Invoke", "unboxing"
  /// Code of the runtime's between a method that it suspends itself and one that returns a Task; the rest is what is
  /// said of the method that it stands for.
  bool is_async_thunk = false;
  bool is_collectible = false;     ///< its assembly can be unloaded
  bool freed_while_named = false;  ///< changed between first and last look: the name is of what was there before
};

struct NameOptions {
  bool signatures = true;             ///< parameter lists in `name`
  std::size_t max_name = 4096;        ///< bytes, each form
  std::string program{};              ///< path of the program's executable: a PDB may lie beside it
  std::size_t max_methods = 1 << 20;  ///< names kept; beyond it the cache starts anew
  /// Memory as it is now, uncached: for the re-check of transient code and for metadata, which never changes and would
  /// only fill a cache twice. Null: the reader all else is read through, and then a cached change goes unnoticed.
  /// Borrowed.
  const MemoryReader* fresh = nullptr;
};

/// Names MethodDescs and MethodTables. Reads through a borrowed reader (a page cache is wanted: reads are small), loads
/// metadata lazily per module and keeps names by address. Facts of transient code (collectible, emitted, dynamic) must
/// not outlive a capture: call `new_capture()` before naming what a later capture found. Not thread-safe.
class MethodNames {
 public:
  /// `memory` and its layouts are borrowed. `opener` (may be empty) finds files of assemblies whose image the target's
  /// memory does not hold.
  MethodNames(const RuntimeMemory& memory, NameOptions options, FileOpener opener = {});
  ~MethodNames();
  MethodNames(const MethodNames&) = delete;
  MethodNames& operator=(const MethodNames&) = delete;

  /// The method behind a MethodDesc; the pointer is valid until `new_capture()` or until the cache is full.
  /// Errors: those of reading; `mismatch` when MethodDesc, MethodTable, EEClass and metadata contradict each other;
  /// `malformed`. A method whose metadata cannot be had is no error: its name is `Module!0x06000123`.
  [[nodiscard]] Result<const MethodName*> describe(Address method_desc);
  /// The same method of shared generic code with the types that `context` (of a frame of it) says; without one, as
  /// above. Valid as above.
  [[nodiscard]] Result<const MethodName*> describe(Address method_desc, const GenericContext& context);
  /// Full C# name of the type of a MethodTable: `System.Collections.Generic.List<int>`. Raw form with `raw`.
  [[nodiscard]] Result<std::string> type_name(Address method_table, bool raw = false);
  /// C# name of a method that the type of a MethodTable declares, by its name in the metadata (the first one of that
  /// name). `not_found`: there is none.
  [[nodiscard]] Result<std::string> method_of_type(Address method_table, std::string_view name);
  /// Types and names of a method's parameters: see `ValueTypes`.
  [[nodiscard]] Result<MethodParameters> parameters(Address method_desc);
  /// Local variables where a method stands in its IL, by slots: see `ValueTypes`. PDBs that are on this machine are
  /// kept.
  [[nodiscard]] Result<std::vector<ParameterType>> locals(Address method_desc, std::uint32_t il);
  /// Type of a field that the type of a MethodTable declares, by its name in the metadata: see `ValueTypes`.
  [[nodiscard]] Result<ValueType> field_type(Address method_table, std::string_view name);
  /// Type of an object: its MethodTable word without the bits the GC uses.
  [[nodiscard]] Result<std::string> object_type_name(Address object, bool raw = false);
  /// A String object as printable UTF-8, cut after `limit` UTF-16 units.
  [[nodiscard]] Result<std::string> string_value(Address object, std::size_t limit = 1024) const;
  /// The Module at an address (for frames whose method is unknown). Valid until `new_capture()`.
  [[nodiscard]] const ModuleFacts& module(Address module);
  /// The PDB of a Module's assembly: see `find_pdb`.
  [[nodiscard]] Result<std::shared_ptr<const PortablePdb>> pdb(Address module) const;
  /// Which methods call which. Borrowed.
  [[nodiscard]] CallGraph& call_graph();
  [[nodiscard]] Result<std::shared_ptr<const PortablePdb>> pdb(Address module, const PdbFetcher& fetch,
                                                               PdbLookup& lookup) const;
  /// Forgets transient facts; names of ordinary code stay.
  void new_capture();

  /// Paths of assemblies whose metadata came from their files, proven by what the runtime keeps of them.
  [[nodiscard]] std::vector<std::string> files_used() const;
  /// Paths of assemblies whose metadata was wanted and could not be had.
  [[nodiscard]] std::vector<std::string> files_missing() const;

  struct Statistics {
    std::uint64_t methods = 0;         ///< distinct methods named
    std::uint64_t metadata_bytes = 0;  ///< fetched from the target
  };
  [[nodiscard]] Statistics statistics() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack::dotnet::names
