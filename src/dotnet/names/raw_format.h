// Types in the text of the runtime's own diagnostics, as the DAC, ClrMD and SOS print it.
#pragma once

#include <array>
#include <string_view>

#include "dotnet/names/bounded_text.h"
#include "dotnet/names/signature.h"
#include "dotnet/names/type_tree.h"

namespace mixstack::dotnet::names {

/// A type as a parameter: `Int32`, `System.String`, `List`1<Int32>`, `T*`, `T[,]`, ` ByRef`. Nested types by their own
/// name only (src/coreclr/vm/sigformat.cpp).
void append_raw_parameter(BoundedText& out, const TypeTree& tree, TypeIndex type);
/// `(A, B)`, with `, ...` for vararg.
void append_raw_parameters(BoundedText& out, const TypeTree& tree, const MethodSignature& signature);
/// A type as an owner or a generic argument: `Ns.Outer+Inner`1[[System.Int32, System.Private.CoreLib]]`
/// (src/coreclr/vm/typestring.cpp with namespace and full instantiation).
void append_raw_type(BoundedText& out, const TypeTree& tree, TypeIndex type);
/// `[[A, Asm],[B, Asm]]`; type parameters of open definitions without the inner brackets.
void append_raw_arguments(BoundedText& out, const TypeTree& tree, TypeIndex first);

/// `Int32` of ELEMENT_TYPE_I4; `string` and `object` answer `String` and `Object`. Empty for types that are not
/// primitive.
[[nodiscard]] std::string_view primitive_name(ElementType e);
/// The opposite, for types of the core library's System namespace; `end` when there is none.
[[nodiscard]] ElementType primitive_of(std::string_view name);

/// Enclosing types of a TypeDef or TypeRef, outermost first, `token` last. At most 32.
struct NestingChain {
  static constexpr unsigned kMax = 32;
  std::array<TypeRefRow, kMax> types{};
  std::array<Token, kMax> tokens{};
  unsigned count = 0;
};
[[nodiscard]] NestingChain nesting_chain(const Metadata* metadata, Token token);

}  // namespace mixstack::dotnet::names
