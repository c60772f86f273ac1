// Types of further assemblies beside those of FakeHeap, by their names and fields, with statics and arrays.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "support/fake_heap.h"

namespace mixstack::test {

class FakeLibraries : public FakeHeap {
 public:
  // Elements of fields (ECMA-335 II.23.1.16).
  static constexpr unsigned kByte = 5, kShort = 6, kInt = 8, kUnsigned = 9, kLong = 10, kUnsignedLong = 11,
                            kStruct = 17, kReference = 18;

  struct Member {
    const char* name;
    std::uint32_t offset;  ///< behind the word of the type
    unsigned element = kReference;
    bool is_static = false;
  };
  struct Kind {
    const char* space;
    const char* name;
    std::size_t outer = 0;   ///< number of the enclosing type, from 1 on; 0: none
    std::size_t parent = 0;  ///< the same; 0: System.Object
    std::vector<Member> members{};
  };

  /// Loads an assembly; the MethodTables of its types, in their order. `first`: it is found before those that are
  /// there.
  std::vector<Address> load(const std::string& assembly, const std::vector<Kind>& kinds, bool first = false) {
    MetadataBuilder b = library(assembly + ".dll", assembly);
    std::uint32_t row = 1;
    for (const Kind& kind : kinds) {
      b.type_with_fields(kind.space, kind.name, row, 1);
      row += static_cast<std::uint32_t>(kind.members.size());
    }
    const auto blob = object_field();
    for (const Kind& kind : kinds)
      for (const Member& member : kind.members) b.field(member.name, blob);
    for (std::size_t i = 0; i < kinds.size(); i++)
      if (kinds[i].outer != 0) b.nested(row_of(i), row_of(kinds[i].outer - 1));
    const Address at = module(b.build());
    std::vector<Address> types;
    std::vector<std::uint32_t> instance_fields;
    row = 1;
    for (std::size_t i = 0; i < kinds.size(); i++) {
      const std::size_t parent = kinds[i].parent;
      std::vector<FieldAt> fields;
      std::uint16_t statics = 0;
      for (const Member& member : kinds[i].members) {
        fields.push_back({row++ | (member.is_static ? 0x01000000u : 0u), member.offset, member.element});
        statics = static_cast<std::uint16_t>(statics + (member.is_static ? 1 : 0));
      }
      const std::uint32_t own = static_cast<std::uint32_t>(fields.size()) - statics;
      instance_fields.push_back(own + (parent == 0 ? 0 : instance_fields[parent - 1]));
      types.push_back(type(at, row_of(i), parent == 0 ? object_type : types[parent - 1], kBaseSize, 0,
                           instance_fields.back(), fields));
      const auto ee_class = memory.read<std::uint64_t>(types.back() + layouts.method_table.ee_class_or_canon.offset);
      memory.put_u16(ee_class.value_or(0) + layouts.ee_class.num_static_fields.offset, statics);
    }
    make_map(at, types);
    if (first) std::rotate(assemblies_.begin(), assemblies_.end() - 1, assemblies_.end());
    list_assemblies();
    return types;
  }

  /// Where the statics of a type begin.
  Address statics_of(Address type) {
    const Address auxiliary = place(0x100) + 0x80, statics = place(0x100);
    memory.put_u64(type + layouts.method_table.auxiliary_data.offset, auxiliary);
    const Address info = auxiliary - layouts.dynamic_statics_info.size;
    memory.put_u64(info + layouts.dynamic_statics_info.gc_statics.offset, statics);
    memory.put_u64(info + layouts.dynamic_statics_info.non_gc_statics.offset, statics);
    return statics;
  }
  /// An object of one of those types, all zero.
  Address make(Address of) { return object(of, kBaseSize - 16); }
  Address references(const std::vector<Address>& elements) {
    const Address at = array_of(array, 8, elements.size());
    for (std::size_t i = 0; i < elements.size(); i++) memory.put_u64(element(at, i, 8), elements[i]);
    return at;
  }
  /// An array of structs of a type.
  Address structs(Address of, std::uint32_t size, std::size_t count) {
    const Address list = type(core, 2, object_type, 24, 0x80080000u | size, 0, {});
    memory.put_u64(list + layouts.method_table.per_inst_info.offset, of);
    return array_of(list, size, count);
  }
  [[nodiscard]] Address element(Address of_array, std::size_t index, std::uint32_t size) const {
    return of_array + layouts.array.size + index * size;
  }

 private:
  static constexpr std::uint32_t kBaseSize = 16 + 96;

  static std::uint32_t row_of(std::size_t index) { return static_cast<std::uint32_t>(index) + 2; }

  Address array_of(Address of, std::uint32_t size, std::size_t count) {
    const auto n = static_cast<std::uint32_t>(count);
    const Address at = object(of, 8 + n * size);
    memory.put_u32(at + layouts.array.num_components.offset, n);
    return at;
  }
  void make_map(Address module, const std::vector<Address>& types) {
    const Address map = module + layouts.module.type_def_to_method_table_map.offset;
    const Address table = place(8 * (types.size() + 2));
    memory.put_u32(map + layouts.module_lookup_map.count.offset, static_cast<std::uint32_t>(types.size() + 2));
    memory.put_u64(map + layouts.module_lookup_map.table_data.offset, table);
    for (std::size_t i = 0; i < types.size(); i++) memory.put_u64(table + 8 * row_of(i), types[i]);
  }
  void list_assemblies() {
    const Address domain = memory.read<std::uint64_t>(layouts.globals.app_domain.value).value_or(0);
    const Address list = domain + layouts.app_domain.domain_assembly_list.offset;
    const auto count = static_cast<std::uint32_t>(assemblies_.size());
    memory.put_u32(list + layouts.array_list_base.count.offset, count);
    const Address block = list + layouts.array_list_base.first_block.offset;
    memory.put_u32(block + layouts.array_list_block.size.offset, count);
    for (std::size_t i = 0; i < assemblies_.size(); i++) {
      const Address of = place(0x20);
      memory.put_u64(of, assemblies_[i]);
      memory.put_u64(block + layouts.array_list_block.array_start.offset + 8 * i, of);
    }
  }
};

}  // namespace mixstack::test
