// Types and members as C# writes them.
#pragma once

#include <span>
#include <string_view>

#include "dotnet/names/bounded_text.h"
#include "dotnet/names/signature.h"
#include "dotnet/names/type_tree.h"

namespace mixstack::dotnet::names {

/// A type as a parameter or argument: `int`, `string[]`, `List<int>`, `int?`, `(int, string)`, `Outer.Inner`,
/// `delegate*<int, void>`. Without namespaces.
void append_csharp_type(BoundedText& out, const TypeTree& tree, TypeIndex type);

/// A type as an owner: `Ns.Outer<int>.Inner`. `arguments` are nodes in order, outer types' first; the last type takes
/// those that the names' own arities do not use.
void append_csharp_owner(BoundedText& out, const TypeTree& tree, const Metadata& metadata, Token token,
                         std::span<const TypeIndex> arguments);

/// `<A, B>`; nothing for an empty list.
void append_csharp_arguments(BoundedText& out, const TypeTree& tree, std::span<const TypeIndex> arguments);

/// The keyword of a by-reference parameter, by its row in the Param table.
enum class ParameterMode : std::uint8_t { by_ref, in, out };
/// One parameter: `ref int`, `out string`, `in Guid`.
void append_csharp_parameter(BoundedText& out, const TypeTree& tree, TypeIndex type, ParameterMode mode);

/// Interface of an explicit implementation, shortened: `System.IEquatable<System.Int32>` to `IEquatable<int>`.
void append_short_interface(BoundedText& out, std::string_view interface_name);

/// `operator +` of op_Addition; empty for methods that are none. Conversions answer `implicit operator`,
/// `explicit operator`: the target type follows.
[[nodiscard]] std::string_view operator_name(std::string_view method);

/// `int` of ELEMENT_TYPE_I4.
[[nodiscard]] std::string_view csharp_keyword(ElementType e);

}  // namespace mixstack::dotnet::names
