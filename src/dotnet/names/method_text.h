// Text of MethodDescs and MethodTables.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "dotnet/names/csharp_method.h"
#include "dotnet/names/runtime_method.h"

namespace mixstack::dotnet::names {

struct MethodName;

/// Makes names; keeps only the texts of owner types. Borrows its parts. Not thread-safe.
class MethodText {
 public:
  struct Options {
    bool signatures = true;
    std::size_t max_name = 4096;
  };
  MethodText(const RuntimeMemory& memory, RuntimeModules& modules, const RuntimeTypes& types, Options options)
      : memory_(memory), modules_(modules), types_(types), options_(options) {}

  [[nodiscard]] Result<MethodName> method(const MethodDescFacts& facts);
  [[nodiscard]] std::string type(const MethodTableFacts& facts, bool raw);
  /// Drops the texts that belong to one capture.
  void forget() { owners_.clear(); }

 private:
  [[nodiscard]] Result<MethodName> ordinary(const MethodDescFacts& facts, const MethodTableFacts& type,
                                            const ModuleFacts& module);
  /// `malformed` where the bytes are no name: empty, no UTF-8, or with control characters.
  [[nodiscard]] Result<MethodName> dynamic(const MethodDescFacts& facts, const MethodTableFacts& type,
                                           const ModuleFacts& module);
  [[nodiscard]] MethodName array(const MethodDescFacts& facts, const MethodTableFacts& type);
  [[nodiscard]] MethodName nameless(const MethodDescFacts& facts, const ModuleFacts& module) const;
  [[nodiscard]] static MethodName by_token(MethodName name);
  void append_parameters(BoundedText& text, const MethodSignature& signature);
  void append_stub(BoundedText& text, const MethodDescFacts& facts, const MethodTableFacts& type, std::string_view own,
                   const MethodSignature& signature);
  void append_raw_method(BoundedText& raw, const MethodContext& context, const MethodTableFacts& type,
                         bool is_definition, const MethodDefRow& row);
  [[nodiscard]] MethodSignature stored_signature(const MethodDescFacts& facts, const MethodContext& context);
  [[nodiscard]] const CodeMakers& makers_of(const ModuleFacts& module, std::uint32_t type);
  [[nodiscard]] const std::string& raw_owner(const MethodTableFacts& facts);

  RuntimeMemory memory_;
  RuntimeModules& modules_;
  const RuntimeTypes& types_;
  Options options_;
  TypeTree tree_;
  /// The generated code of a module's outermost type; found when a name needs it.
  std::map<std::pair<const Metadata*, std::uint32_t>, CodeMakers> makers_;
  std::unordered_map<Address, std::string> owners_;  ///< raw text by MethodTable
};

}  // namespace mixstack::dotnet::names
