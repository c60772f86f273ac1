// Exception objects laid out by hand, on top of a FakeRuntime: offsets of .NET 10.0.12 x64.
#pragma once

#include <string_view>

#include "support/fake_names_runtime.h"

namespace mixstack::dotnet::names {

/// Types System.Exception, System.AggregateException, Ns.Mine (derives from it) and System.String; objects of them.
class FakeExceptions : public FakeRuntime {
 public:
  FakeExceptions() {
    set_exception_layouts(layouts);
    test::MetadataBuilder b;
    b.module("sample.dll");
    b.assembly("System.Private.CoreLib");
    b.type_def("", "<Module>", 1);
    for (const auto& [space, name] : {std::pair{"System", "Exception"},
                                      {"System", "AggregateException"},
                                      {"Ns", "Mine"},
                                      {"System", "StackOverflowException"},
                                      {"System", "ExecutionEngineException"}})
      b.type_def(space, name, 1);
    metadata_ = b.build();
    module_ = module(metadata_);
    exception = derived(2, 0), aggregate = derived(3, exception), mine = derived(4, aggregate);
    overflow = derived(5, exception), engine = derived(6, exception);
    string = place();
    put_words(string, {0, 0});
    exception_array = vector(8, exception), byte_array = vector(1, 0);
    cell(layouts.globals.exception_method_table, exception);
    cell(layouts.globals.string_method_table, string);
  }

  static void set_exception_layouts(Layouts& l) {
    l.exception.message.offset = 16, l.exception.inner_exception.offset = 32;
    l.exception.stack_trace.offset = 48, l.exception.hresult.offset = 108;
    l.string.length.offset = 8, l.string.first_char.offset = 12;
    l.array.size = 16, l.array.num_components.offset = 8;
    l.method_table.base_size.offset = 4, l.method_table.parent.offset = 16;
  }

  /// An exception object; of an aggregate type `list` is its list of inner exceptions.
  Address object(Address type, Address message, Address inner, Address trace = 0, Address list = 0) {
    const Address at = place(0x200);
    write_object(at, type, message, inner, trace, list);
    return at;
  }
  void write_object(Address at, Address type, Address message, Address inner, Address trace = 0, Address list = 0) {
    test::ByteWriter w;
    w.u64(type).u64(0).u64(message).u64(0).u64(inner).u64(0).u64(trace);
    w.u64(0).u64(0).u64(0).u64(0).u64(0).u64(0).u32(0).u32(0x80131500).u64(list).u64(0);
    memory.add(at, w.bytes);
  }
  Address text(std::u16string_view s) {
    const Address at = place(2 * s.size() + 16);
    test::ByteWriter w;
    w.u64(string).u32(s.size());
    for (const char16_t c : s) w.u16(c);
    memory.add(at, w.bytes);
    return at;
  }
  Address list(const std::vector<Address>& elements) {
    const Address at = place(8 * elements.size() + 16);
    test::ByteWriter w;
    w.u64(exception_array).u64(elements.size());
    for (const Address e : elements) w.u64(e);
    memory.add(at, w.bytes);
    return at;
  }
  /// A stack trace of `count` elements.
  Address trace(std::uint32_t count) {
    const Address at = place(32 * std::size_t{count} + 64);
    test::ByteWriter w;
    w.u64(byte_array).u64(16 + 32 * std::uint64_t{count}).u32(count).u32(0).u64(0);
    for (std::uint32_t i = 0; i < count; i++) w.u64(0x5000 + i).u64(0x6000 + 16 * i).u64(0x7000).u64(2);
    memory.add(at, w.bytes);
    return at;
  }
  void put_words(Address at, const std::vector<std::uint64_t>& words) {
    test::ByteWriter w;
    for (const std::uint64_t word : words) w.u64(word);
    memory.add(at, w.bytes);
  }

  Address exception = 0, aggregate = 0, mine = 0, overflow = 0, engine = 0;
  Address string = 0, exception_array = 0, byte_array = 0;

 private:
  Address derived(std::uint32_t rid, Address parent) {
    const Address at = place(), ee_class = place();
    test::ByteWriter t;
    t.u32(0).u32(120).u32(std::uint64_t{rid} << 8).u16(4).u16(0).u64(parent).u64(module_).u64(0).u64(ee_class);
    t.u64(0).u64(0);
    memory.add(at, t.bytes);
    put_words(ee_class, {0, 0, at, 0, 0, 0, 0, 0, 0, 2});
    return at;
  }
  Address vector(unsigned element_size, Address element_type) {
    const Address at = place();
    test::ByteWriter t;
    t.u32(0x800a0000 | element_size).u32(24).u64(0).u64(0).u64(module_).u64(0).u64(0).u64(element_type).u64(0);
    memory.add(at, t.bytes);
    return at;
  }
  void cell(Global& global, Address value) {
    global = {place(), true};
    put_words(global.value, {value});
  }

  std::vector<std::byte> metadata_;
  Address module_ = 0;
};

}  // namespace mixstack::dotnet::names
