// Types of a program that was compiled ahead of time, by the addresses of their MethodTables.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dotnet/names/aot_metadata.h"
#include "dotnet/names/aot_methods.h"

namespace mixstack::dotnet::names {

/// The map that NativeAOT keeps for reflection (ReflectionMapBlob.TypeMap in dotnet/runtime): each type that objects
/// may have, also in a stripped program. Generic types are in it as definitions, arrays are not.
class AotTypes {
 public:
  static constexpr std::size_t kMaxTypes = 1u << 18;

  /// From the bytes of the metadata, of the map and of the table of references that the map counts in, which lies at
  /// `references_at`. Nothing where one of them is not as is known.
  [[nodiscard]] static std::optional<AotTypes> parse(std::vector<std::byte> metadata, std::span<const std::byte> map,
                                                     std::span<const std::byte> references, Address references_at);

  /// The C# name, with the names of its arguments: one for each parameter of the type and of those around it.
  [[nodiscard]] std::optional<std::string> name(Address method_table, std::span<const std::string> arguments) const;
  [[nodiscard]] std::size_t size() const { return types_.size(); }

 private:
  struct Entry {
    Address method_table = 0;
    AotHandle type;
  };
  std::vector<std::byte> metadata_;
  std::vector<Entry> types_;  // ascending
};

}  // namespace mixstack::dotnet::names
