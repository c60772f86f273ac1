// Names of objects of the tree, and of what they stand for.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dotnet/async/state_machines.h"
#include "dotnet/holders/held_heap.h"
#include "dotnet/holders/served_requests.h"

namespace mixstack::dotnet::holders {

/// The meaning of a type for a tree.
enum class TypeUse : std::uint8_t { plain, array, collection, delegate, timer, async };

struct TypeWords {
  std::string name;  ///< C# name; empty: not known
  TypeUse use = TypeUse::plain;
  bool holds_references = false;
  Address method_table = 0;
  std::vector<Address> arguments;  ///< TypeHandles of a generic type's, and of structs among them
};

/// Reads types, and single objects of the moment. Not thread-safe. Borrows all.
class HolderWords {
 public:
  HolderWords(objects::ManagedObjects& objects, CodeManager& code, names::MethodNames& names, const ObjectSizes& sizes,
              TypeReferences& references, const HeapImage& image, ServedRequests& requests)
      : objects_(objects),
        delegates_(objects, code, names),
        machines_(objects, delegates_),
        sizes_(sizes),
        references_(references),
        image_(image),
        requests_(requests) {}

  /// By number in ObjectSizes.
  [[nodiscard]] const TypeWords& type(std::uint32_t number);
  /// An object that `inner` is a part of, for people: the array of a list, a node of a dictionary. `depth`: parts
  /// between the two.
  [[nodiscard]] bool is_inside(const TypeWords& outer, const TypeWords& inner, const TypeWords& between,
                               unsigned depth);
  /// The field of `holder` (of this type and size) that refers to `held`; empty: none, or its name is not known.
  [[nodiscard]] std::string field(std::uint32_t holder_type, Address holder, std::uint64_t size, Address held);
  /// The method that a delegate calls, a timer calls back, or that a task is of; empty: none, or not known.
  [[nodiscard]] std::string method(std::uint32_t type, Address object);
  /// The request that an async method works on; nothing: none, or not known.
  [[nodiscard]] std::optional<HolderRequest> request(std::uint32_t type, Address object) {
    return this->type(type).use == TypeUse::async ? requests_.of(object) : std::nullopt;
  }

 private:
  [[nodiscard]] TypeWords read(std::uint32_t number);
  [[nodiscard]] std::string variable_of_method(Address type, Address box, std::uint64_t at);

  objects::ManagedObjects& objects_;
  objects::Delegates delegates_;
  objects::StateMachines machines_;
  const ObjectSizes& sizes_;
  TypeReferences& references_;
  const HeapImage& image_;
  ServedRequests& requests_;
  std::unordered_map<std::uint32_t, TypeWords> types_;
};

}  // namespace mixstack::dotnet::holders
