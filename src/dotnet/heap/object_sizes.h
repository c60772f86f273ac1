// How large objects are, by their MethodTables.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet::objects {

/// Keeps each MethodTable that was met, in a table of one probe for most objects of a heap. A MethodTable proves itself
/// by its EEClass, which points back at the canonical one, or as AotMethodTable says; anything else is nothing, and is
/// not kept. Not thread-safe.
class ObjectSizes {
 public:
  static constexpr std::size_t kMostTypes = 1 << 20;

  struct Type {
    Address method_table = 0;
    std::uint32_t base = 0;       ///< bytes
    std::uint32_t component = 0;  ///< bytes of an element; 0: the type has no elements
    bool is_free = false;         ///< a gap between objects
    bool is_string = false;       ///< System.String, where the type itself says so (NativeAOT)
    [[nodiscard]] std::uint64_t size(std::uint32_t length) const {
      return (base + std::uint64_t{component} * length + 7) & ~std::uint64_t{7};
    }
  };

  explicit ObjectSizes(RuntimeMemory memory);

  /// The number of a type, by the first word of an object; the lowest bits of it belong to the collector.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t first_word);
  [[nodiscard]] const Type& operator[](std::uint32_t number) const { return types_[number]; }
  [[nodiscard]] std::size_t size() const { return types_.size(); }

 private:
  [[nodiscard]] std::optional<Type> read(Address method_table) const;
  [[nodiscard]] std::optional<Type> read_aot(Address method_table) const;
  [[nodiscard]] std::size_t slot_of(Address method_table) const;
  void grow();

  RuntimeMemory memory_;
  Address free_ = 0, continuations_ = 0;
  std::vector<Type> types_;
  std::vector<std::uint32_t> slots_;  ///< numbers plus one, by hash; 0: none
};

}  // namespace mixstack::dotnet::objects
