// Statics by name: which words of the heap they are.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dotnet/heap/loaded_types.h"

namespace mixstack::dotnet::holders {

/// A word in an array of statics, or of a thread's statics. The word is a reference at an object, or at the box of a
/// struct.
struct StaticSlot {
  Address at = 0;
  Address method_table = 0;  ///< of the type that declares it, as an instance
  std::string field;
  std::uint64_t thread = 0;  ///< os id of a thread whose own static it is; 0: all threads'
};

/// Where a thread keeps its statics: the array of non-collectible ones, as of the moment.
struct ThreadStatics {
  std::uint64_t os_id = 0;
  Address array = 0;  ///< an object; 0: none
  std::uint32_t count = 0;
};

/// All static references and structs of loaded types, by address. `threads`: whose own statics are wanted, too; the
/// types' memory must be of their moment. Bounds: kMostSlots, kMostTypes.
class StaticSlots {
 public:
  static constexpr std::size_t kMostSlots = 1 << 22, kMostTypes = 1 << 20;

  explicit StaticSlots(objects::LoadedTypes& types) : types_(types) {}
  [[nodiscard]] std::vector<StaticSlot> find(std::span<const ThreadStatics> threads);
  /// "Shop.Cache.s_all"; of a property its name.
  [[nodiscard]] static std::string name_of(objects::LoadedTypes& types, const StaticSlot& slot);

 private:
  void add_types_of(Address module);
  void add_type(Address method_table, std::span<const ThreadStatics> threads);
  void add_of_threads(const objects::TypeFacts& type, const objects::LoadedTypes::NamedField& field,
                      std::span<const ThreadStatics> threads);
  void add(StaticSlot slot) {
    if (slots_.size() < kMostSlots) slots_.push_back(std::move(slot));
  }

  objects::LoadedTypes& types_;
  std::vector<Address> all_;
  std::vector<StaticSlot> slots_;
};

}  // namespace mixstack::dotnet::holders
