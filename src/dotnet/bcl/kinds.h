// Kinds of names of the class library. tests/house/bcl_names_test.py looks each up by its kind.
#pragma once

#include <array>
#include <string_view>

namespace mixstack::dotnet::bcl {

// As metadata and reflection write types, "Space.Outer`1+Inner":
using TypeName = std::string_view;   ///< a whole name
using TypeStart = std::string_view;  ///< how names of types begin
using TypePart = std::string_view;   ///< a part of names of types
using FieldName = std::string_view;  ///< of the type that is `kType` of the same struct
using FieldEnd = std::string_view;   ///< how names of fields end

// As stacks are told, "Space.Outer<T>.Inner.Method<T>(":
using NameStart = std::string_view;  ///< how names of methods, types and namespaces begin
using NamePart = std::string_view;   ///< a part of them

// In two parts, as metadata keep them; `kNamespace` and `kName` of one struct:
using Namespace = std::string_view;
using SimpleName = std::string_view;

using AssemblyName = std::string_view;  ///< without ".dll"
using FileStart = std::string_view;     ///< how names of the framework's files begin

}  // namespace mixstack::dotnet::bcl
