// A runtime's types and methods laid out by hand in a buffer, for tests: the offsets are those of .NET 10.0.12 x64.
#pragma once

#include "base/memory/buffer_memory.h"
#include "dotnet/contracts/layouts.h"
#include "dotnet/names/method_names.h"
#include "support/metadata_builder.h"

namespace mixstack::dotnet::names {

/// Writes MethodTables, MethodDescs and modules whose metadata is an emitted blob.
class FakeRuntime {
 public:
  FakeRuntime() { set_layouts(); }

  /// A Module with `metadata`; answers its address.
  Address module(const std::vector<std::byte>& metadata, bool collectible = false) {
    const Address at = place(), assembly = place(), blob = place(metadata.size() + 16);
    test::ByteWriter header;
    header.u32(metadata.size()).append(metadata);
    memory.add(blob, header.bytes);
    test::ByteWriter m;
    m.u64(assembly).u64(0).u64(0).u64(blob).u64(0).u64(0).u64(0);
    memory.add(at, m.bytes);
    memory.add_value(assembly, std::array<std::uint64_t, 1>{collectible ? 1u : 0u});
    return at;
  }
  /// A MethodTable of TypeDef `rid`. `instance`: address behind GenericsDictInfo, else 0.
  Address method_table(Address module, std::uint32_t rid, std::uint32_t flags = 0, Address instance = 0) {
    const Address at = place(), ee_class = place();
    write_method_table(at, module, rid, flags, ee_class, instance);
    test::ByteWriter c;
    c.u64(0).u64(0).u64(at).u64(0).u64(0).u64(0).u64(0).u64(0).u64(0).u8(2);
    memory.add(ee_class, c.bytes);
    return at;
  }
  void write_method_table(Address at, Address module, std::uint32_t rid, std::uint32_t flags, Address ee_class,
                          Address instance) {
    test::ByteWriter t;
    t.u32(flags).u32(base_size).u32(std::uint64_t{rid} << 8).u16(4).u16(0).u64(0).u64(module).u64(0).u64(ee_class);
    t.u64(instance).u64(0);
    memory.add(at, t.bytes);
  }
  /// What m_pPerInstInfo of an instantiated type points at: one dictionary with these TypeHandles.
  Address instance(const std::vector<Address>& handles) {
    const Address info = place(), list = place(8 * handles.size());
    test::ByteWriter i, l;
    i.u32(0).u16(1).u16(static_cast<unsigned>(handles.size())).u64(list);
    for (const Address h : handles) l.u64(h);
    memory.add(info, i.bytes);
    memory.add(list, l.bytes);
    return info + 8;
  }
  Address handle_list(const std::vector<Address>& handles) {
    const Address list = place(8 * handles.size());
    test::ByteWriter l;
    for (const Address h : handles) l.u64(h);
    memory.add(list, l.bytes);
    return list;
  }
  /// A MethodDesc alone in its chunk, with `rest` behind its fixed part.
  Address method_desc(Address method_table, std::uint32_t rid, unsigned kind = 0, const test::ByteWriter& rest = {}) {
    const Address chunk = place(256);
    write_method_desc(memory, chunk, method_table, rid, kind, rest);
    return chunk + 24;
  }
  static void write_method_desc(memory::BufferMemory& memory, Address chunk, Address method_table, std::uint32_t rid,
                                unsigned kind, const test::ByteWriter& rest) {
    test::ByteWriter w;
    w.u64(method_table).u64(0).u8(2).u8(0).u16(rid >> 12).u32(0);
    w.u16(rid & 0xfff).u8(0).u8(0).u16(5).u16(kind).u64(0).append(rest.bytes);
    memory.add(chunk, w.bytes);
  }
  /// A ParamTypeDesc (0x0f pointer, 0x10 by-ref); answers a TypeHandle.
  Address type_desc(unsigned element, Address argument) {
    const Address at = place();
    test::ByteWriter d;
    d.u32(element).u32(0).u64(0).u64(argument);
    memory.add(at, d.bytes);
    return at + 2;
  }
  Address text(std::string_view s) {
    const Address at = place(s.size() + 1);
    memory.add(at, test::ByteWriter().text(s).u8(0).bytes);
    return at;
  }
  Address blob(const std::vector<std::byte>& b) {
    const Address at = place(b.size());
    memory.add(at, b);
    return at;
  }
  Address place(std::size_t size = 0x80) {
    const Address at = next_;
    next_ += (size + 0xff) / 0x100 * 0x100;
    return at;
  }
  [[nodiscard]] RuntimeMemory runtime() const { return {memory, layouts}; }

  memory::BufferMemory memory;
  Layouts layouts;
  std::uint32_t base_size = 24;  ///< of objects of the types that are made next

 private:
  void set_layouts() {
    auto& m = layouts.module;
    m.assembly.offset = 0, m.pe_assembly.offset = 8, m.base.offset = 16, m.dynamic_metadata.offset = 24;
    m.path.offset = 32, m.file_name.offset = 40;
    layouts.pe_assembly.pe_image.offset = 8;
    layouts.assembly.is_collectible.offset = 0;
    layouts.dynamic_metadata.size.offset = 0, layouts.dynamic_metadata.data.offset = 4;
    auto& t = layouts.method_table;
    t.flags.offset = 0, t.flags2.offset = 8, t.num_virtuals.offset = 12, t.module.offset = 24;
    t.ee_class_or_canon.offset = 40, t.per_inst_info.offset = 48;
    layouts.ee_class.method_table.offset = 16, layouts.array_class.rank.offset = 72;
    layouts.generics_dict_info.num_dicts.offset = 4, layouts.generics_dict_info.num_type_args.offset = 6;
    layouts.type_desc.type_and_flags.offset = 0, layouts.param_type_desc.type_arg.offset = 16;
    auto& d = layouts.method_desc;
    d.flags3_and_token_remainder.offset = 0, d.chunk_index.offset = 2, d.slot.offset = 4, d.flags.offset = 6;
    auto& c = layouts.method_desc_chunk;
    c.size = 24, c.method_table.offset = 0, c.flags_and_token_range.offset = 18;
    auto& i = layouts.instantiated_method_desc;
    i.per_inst_info.offset = 24, i.flags2.offset = 32, i.num_generic_args.offset = 34;
    auto& s = layouts.stored_sig_method_desc;
    s.sig.offset = 16, s.c_sig.offset = 24, s.extended_flags.offset = 28;
    layouts.dynamic_method_desc.size = 48, layouts.dynamic_method_desc.method_name.offset = 32;
    layouts.globals.method_desc_alignment = {8, true};
    layouts.globals.method_desc_token_remainder_bits = {12, true};
    layouts.globals.object_to_method_table_unmask = {7, true};
    layouts.object.method_table.offset = 0;
  }
  Address next_ = 0x100000;
};

}  // namespace mixstack::dotnet::names
