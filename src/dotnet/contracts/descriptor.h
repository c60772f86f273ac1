// The contract descriptor of a CoreCLR: the target runtime's own description of its data structures.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dotnet/contracts/diagnosis.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet {

/// Name of the dynamic symbol of libcoreclr.so, or of a single-file program (docs/design/datacontracts/
/// contract-descriptor.md in dotnet/runtime).
inline constexpr std::string_view kDescriptorSymbol = "DotNetRuntimeContractDescriptor";

struct FieldDescriptor {
  std::uint32_t offset = 0;
  std::string type;  ///< empty when the descriptor does not say
};

struct TypeDescriptor {
  std::optional<std::uint32_t> size;  ///< the "!" entry; absent: indeterminate
  std::map<std::string, FieldDescriptor, std::less<>> fields;
};

/// A global is a number, a text, or both ("0x1" is both). Indirect globals are already replaced by their entry of the
/// pointer table.
struct GlobalDescriptor {
  std::optional<std::uint64_t> number;
  std::optional<std::string> text;
  bool indirect = false;
};

/// The version of a contract: a number (descriptors of version 0), or a letter and a number ("c1" of CoreCLR, "n1" of
/// NativeAOT). The meaning of the number depends on the version of the descriptor.
struct ContractVersion {
  char letter = 0;  ///< 0: none is written
  std::uint32_t number = 0;
  [[nodiscard]] std::string text() const;
  friend bool operator==(const ContractVersion&, const ContractVersion&) = default;
};

/// One logical descriptor: the main one with its sub-descriptors merged (a name that occurs twice keeps its first
/// meaning and is listed in `duplicates`). Immutable after reading, hence safe to share between threads.
class Descriptor {
 public:
  /// Bounds on foreign data.
  static constexpr std::size_t kMaxJsonBytes = 1u << 20;
  static constexpr std::size_t kMaxPointers = 4096;
  static constexpr std::size_t kMaxDepth = 16;           ///< nesting of the JSON
  static constexpr std::size_t kMaxSubDescriptors = 16;  ///< all levels together
  /// Versions of the descriptor's format: .NET 9 and 10, and .NET 11, whose contracts' versions have a letter.
  static constexpr std::uint32_t kFormatOfNumbers = 0, kFormatOfLetters = 2;

  /// Reads the structure at `address` (the value of kDescriptorSymbol plus load bias), its JSON, its pointer table and
  /// its sub-descriptors. Refusals: `mismatch` (magic), `unsupported` (big-endian; a version of the format, a
  /// baseline other than "empty", named), `limit_exceeded`, `malformed`, `unreadable_memory`.
  [[nodiscard]] static Diagnosed<Descriptor> read(const MemoryReader& memory, Address address);

  /// The parser alone: JSON bytes and the pointer table they index. Used by tests and the fuzzer.
  [[nodiscard]] static Diagnosed<Descriptor> parse(std::span<const std::byte> json,
                                                   std::span<const std::uint64_t> pointers, unsigned pointer_size = 8);

  [[nodiscard]] std::uint32_t format() const { return format_; }
  [[nodiscard]] unsigned pointer_size() const { return pointer_size_; }
  [[nodiscard]] const TypeDescriptor* type(std::string_view name) const;
  /// Offset of a field, nothing when the type or the field is not described.
  [[nodiscard]] std::optional<std::uint32_t> offset(std::string_view type, std::string_view field) const;
  [[nodiscard]] std::optional<std::uint32_t> size_of(std::string_view type) const;
  [[nodiscard]] const GlobalDescriptor* global(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint64_t> global_number(std::string_view name) const;
  [[nodiscard]] std::optional<std::string_view> global_text(std::string_view name) const;
  /// It describes a program that was compiled ahead of time, which has another runtime (global RuntimeFlavor).
  [[nodiscard]] bool is_native_aot() const { return global_text("RuntimeFlavor") == "NativeAot"; }
  /// Version of a contract; nothing when the runtime does not have it.
  [[nodiscard]] std::optional<ContractVersion> contract(std::string_view name) const;

  [[nodiscard]] const std::map<std::string, TypeDescriptor, std::less<>>& types() const { return types_; }
  [[nodiscard]] const std::map<std::string, GlobalDescriptor, std::less<>>& globals() const { return globals_; }
  [[nodiscard]] const std::map<std::string, ContractVersion, std::less<>>& contracts() const { return contracts_; }
  /// Addresses of the pointers to sub-descriptors, which the JSON names by their index in the pointer table.
  [[nodiscard]] const std::vector<Address>& sub_descriptors() const { return sub_descriptors_; }
  [[nodiscard]] const std::vector<std::string>& duplicates() const { return duplicates_; }
  /// A sub-descriptor was not there yet: its component (the GC) had not started. Reading again later may find it.
  [[nodiscard]] bool lacks_parts() const { return lacks_parts_; }

  /// Takes over every field, size, global and contract of `other` that this one lacks.
  void complete(const Descriptor& other);
  /// Takes over every type, global and contract of `other` that this one lacks; repeated names go to `duplicates`.
  void merge(const Descriptor& other);

 private:
  friend class DescriptorJson;
  std::map<std::string, TypeDescriptor, std::less<>> types_;
  std::map<std::string, GlobalDescriptor, std::less<>> globals_;
  std::map<std::string, ContractVersion, std::less<>> contracts_;
  std::vector<Address> sub_descriptors_;  ///< addresses of pointers to descriptors
  std::vector<std::string> duplicates_;
  bool lacks_parts_ = false;
  unsigned pointer_size_ = 8;
  std::uint32_t format_ = kFormatOfNumbers;
};

}  // namespace mixstack::dotnet
