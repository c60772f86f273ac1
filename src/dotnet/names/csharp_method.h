// Methods as their C# source names them: parts that the compiler split off are named after their origin.
#pragma once

#include <vector>

#include "dotnet/names/bounded_text.h"
#include "dotnet/names/code_makers.h"
#include "dotnet/names/runtime_types.h"
#include "dotnet/names/signature.h"

namespace mixstack::dotnet::names {

/// A method of a module's metadata together with its actual type arguments (nodes of one tree).
struct MethodContext {
  const Metadata* metadata = nullptr;
  std::uint32_t method = 0;  ///< MethodDef row
  std::uint32_t type = 0;    ///< TypeDef row
  std::vector<TypeIndex> class_arguments, method_arguments;
  const RuntimeTypes* types = nullptr;  ///< resolves internal TypeHandles of signatures; may be null
  unsigned pointer_size = 8;
  /// The generated code that the IL of a type and its neighbours refers to; empty, or null: not known.
  std::function<const CodeMakers*(std::uint32_t type)> makers{};
};

/// Type variables of a signature by the actual arguments of a method.
class ArgumentResolver final : public TypeResolver {
 public:
  /// With `use_names`, variables without argument get the name of their type parameter; else they stay numbers.
  ArgumentResolver(const MethodContext& context, bool use_names) : context_(context), use_names_(use_names) {}
  [[nodiscard]] TypeIndex class_argument(TypeTree& tree, std::uint32_t n) const override;
  [[nodiscard]] TypeIndex method_argument(TypeTree& tree, std::uint32_t n) const override;
  [[nodiscard]] TypeIndex handle(TypeTree& tree, std::uint64_t handle) const override;

 private:
  [[nodiscard]] TypeIndex named(TypeTree& tree, Token owner, std::uint32_t n) const;
  const MethodContext& context_;
  bool use_names_;
};

/// Appends the C# name (forms: docs/names.md).
void append_csharp_method(BoundedText& out, TypeTree& tree, const MethodContext& context, bool with_signature);

}  // namespace mixstack::dotnet::names
