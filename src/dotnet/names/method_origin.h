// From compiler-made classes and methods back to the method of the source they belong to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dotnet/names/generated_names.h"
#include "dotnet/names/metadata.h"

namespace mixstack::dotnet::names {

/// How the body of a source method was rewritten.
enum class StateMachineKind : std::uint8_t { none, async, iterator, async_iterator };

/// A method found by name in a type.
struct FoundMethod {
  std::uint32_t method = 0;   ///< MethodDef row; 0: none, or more than one could be meant
  std::uint32_t example = 0;  ///< one of several with that name: tells what kind of member it is
};

/// The method whose body became the state machine class `machine` nested in `container`: by the attribute that names
/// the class, else by name if there is only one.
[[nodiscard]] FoundMethod find_kickoff(const Metadata& metadata, std::uint32_t container, std::string_view source,
                                       std::uint32_t machine);
/// The only method named `source` in `container`.
[[nodiscard]] FoundMethod find_only(const Metadata& metadata, std::uint32_t container, std::string_view source);
/// By the interfaces the class implements.
[[nodiscard]] StateMachineKind state_machine_kind(const Metadata& metadata, std::uint32_t type);
/// The type of the source that holds closure classes: climbs out of them.
[[nodiscard]] std::uint32_t outside_closures(const Metadata& metadata, std::uint32_t type);

/// A sequence of F# (`seq { ... }`): a class made of a method, whose body is `GenerateNext`.
[[nodiscard]] bool is_fsharp_sequence(const Metadata& metadata, std::uint32_t type);

/// The declaration of an `extension` block of C# 14: a class `<G>$...` holds it as it reads, and a class `<M>$...` in
/// that, by the only parameter of its only method, what the block extends.
struct Extension {
  bool has_receiver = false;                      ///< it is an instance member: the first parameter is what it is of
  std::uint32_t block = 0;                        ///< TypeDef row of the `<G>$...` class
  std::span<const std::byte> marker_signature{};  ///< may be empty
};
/// The member that the static method `row` of `type` implements: a property's accessor or an operator.
[[nodiscard]] std::optional<Extension> find_extension(const Metadata& metadata, std::uint32_t type,
                                                      const MethodDefRow& row);

}  // namespace mixstack::dotnet::names
