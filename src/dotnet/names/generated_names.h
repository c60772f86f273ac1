// Names that compilers of C# and Visual Basic make up for parts without a name in the source.
#pragma once

#include <cstdint>
#include <string_view>

namespace mixstack::dotnet::names {

/// The thing that a made-up name stands for. Kinds of Roslyn (src/Compilers/CSharp/Portable/Symbols/Synthesized/
/// GeneratedNameKind.cs in dotnet/roslyn): the letter behind the closing bracket.
enum class GeneratedKind : std::uint8_t {
  none,
  lambda,          ///< <Main>b__0_1
  local_function,  ///< <Main>g__Local|0_0
  state_machine,   ///< <Main>d__3, a class
  closure,         ///< <>c, <>c__DisplayClass0_0: classes that hold lambdas
  top_level,       ///< <Main>$ and <Main>: entry points
  other,           ///< <Clone>$, <X>k__BackingField, <>m__Finally1, ...
};

/// A made-up name taken apart. Views into the name given.
struct GeneratedName {
  GeneratedKind kind = GeneratedKind::none;
  std::string_view source;    ///< the text between the brackets: the method of the source, maybe made up itself
  std::string_view own;       ///< name of a local function
  std::uint32_t ordinal = 0;  ///< last number of a lambda's name, different for each lambda of a method
};
[[nodiscard]] GeneratedName parse_generated(std::string_view name);

/// `Name` of a file-local type `<File>F0123…__Name`; other names unchanged.
[[nodiscard]] std::string_view without_file_prefix(std::string_view name);

/// Base of `List`1` and its 1; names without a proper suffix have arity 0.
struct Arity {
  std::string_view name;
  std::uint32_t count = 0;
};
[[nodiscard]] Arity split_arity(std::string_view name);

/// `Ns.IFoo<A.B>` and `Bar` of an explicit implementation `Ns.IFoo<A.B>.Bar`; interface empty for other names.
struct ExplicitName {
  std::string_view interface_name, member;
};
[[nodiscard]] ExplicitName split_explicit(std::string_view name);

}  // namespace mixstack::dotnet::names
