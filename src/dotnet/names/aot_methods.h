// Methods of a program that was compiled ahead of time, by the start of their code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dotnet/names/aot_metadata.h"
#include "mixstack/address.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet::names {

/// The places of an image's metadata, of its maps of methods and of types, and of the table of references that the
/// latter counts in. Empty: not there.
struct AotBlobs {
  AddressRange metadata, methods, types, references;
};

/// These by the image's ReadyToRun header at `header` (src/coreclr/inc/readytorun.h, ModuleHeaders.h of NativeAOT).
/// Nothing for formats other than those of .NET 10 (16.0) and 11 (26.1), and where the metadata is missing or too
/// large; there are no methods with StackTraceSupport=false.
[[nodiscard]] std::optional<AotBlobs> find_aot_blobs(const MemoryReader& memory, Address header);

/// A method's name, in C#'s way and as metadata has it.
struct AotName {
  std::string name, raw_name;
};

/// The map that NativeAOT keeps for the stack traces of exceptions (StackTraceMethodMappingNode.cs in dotnet/runtime).
class AotMethods {
 public:
  static constexpr std::size_t kMaxBlob = 64u << 20, kMaxMethods = 1u << 20;

  /// From the bytes of both; `address` is that of the map. Nothing when the map is not as long as it says, names code
  /// outside of `code`, or two methods at one address.
  [[nodiscard]] static std::optional<AotMethods> parse(std::vector<std::byte> metadata, std::vector<std::byte> map,
                                                       Address address, const AddressRange& code);

  /// The name of the method whose code starts at `start`: never a neighbour's.
  [[nodiscard]] std::optional<AotName> name(Address start) const;
  [[nodiscard]] std::size_t size() const { return methods_.size(); }

 private:
  struct Entry {
    Address start = 0;
    AotMetadata::Method method;
  };
  std::vector<std::byte> metadata_;
  std::vector<Entry> methods_;  // ascending
};

}  // namespace mixstack::dotnet::names
