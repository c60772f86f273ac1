// A CoreCLR made of hand-built memory and a real or edited contract descriptor.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dotnet/contracts/contracts.h"
#include "dotnet/contracts/runtime_memory.h"
#include "support/source_folder.h"
#include "support/sparse_memory.h"

namespace mixstack::test {

inline nlohmann::json load_descriptor(const std::string& name) {
  std::ifstream file(source_folder() + "/src/dotnet/contracts/testdata/" + name);
  return nlohmann::json::parse(file, nullptr, false);
}
inline nlohmann::json x64_descriptor() { return load_descriptor("descriptor-linux-x64-10.0.12.json"); }
inline nlohmann::json arm64_descriptor() { return load_descriptor("descriptor-linux-arm64-10.0.9.json"); }

/// Descriptors of released runtimes; that of .NET 9 describes no code and no Frames.
inline constexpr const char* kDescriptorOf9 = "descriptor-linux-x64-9.0.18.json";
inline constexpr std::array kDescriptorsFrom10{"descriptor-linux-x64-10.0.12.json",
                                               "descriptor-linux-arm64-10.0.9.json", "descriptor-linux-x64-11.0.0.json",
                                               "descriptor-linux-arm64-11.0.0.json"};
/// "linux_x64_11_0_0", for the name of a test.
inline std::string release_of(const ::testing::TestParamInfo<const char*>& info) {
  std::string name(info.param);
  name = name.substr(name.find('-') + 1);
  name.resize(name.rfind('.'));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

/// Parses an edited descriptor; entry i of the pointer table is 0x600000 + 0x1000 i.
inline dotnet::Descriptor parse_descriptor(const nlohmann::json& json, unsigned pointer_size = 8) {
  const std::string text = json.dump();
  std::vector<std::uint64_t> pointers(64);
  for (std::size_t i = 0; i < pointers.size(); i++) pointers[i] = 0x600000 + 0x1000 * i;
  auto d = dotnet::Descriptor::parse(std::as_bytes(std::span(text)), pointers, pointer_size);
  EXPECT_TRUE(d.has_value());
  return d ? std::move(*d) : dotnet::Descriptor{};
}

/// Memory, layouts and a reader over both.
struct DotnetMemory {
  explicit DotnetMemory(const nlohmann::json& json = x64_descriptor(), unsigned pointer_size = 8)
      : descriptor(parse_descriptor(json, pointer_size)),
        layouts(dotnet::resolve_layouts(descriptor)),
        contracts(dotnet::Contracts::judge(descriptor, layouts)) {}
  DotnetMemory(const DotnetMemory&) = delete;
  DotnetMemory& operator=(const DotnetMemory&) = delete;

  [[nodiscard]] dotnet::RuntimeMemory runtime() const { return {memory, layouts}; }
  [[nodiscard]] std::uint64_t identifier(dotnet::FrameType type) const {
    return layouts.frame_identifiers[static_cast<std::size_t>(type)];
  }
  void put_pointer(Address at, std::uint64_t value) {
    if (layouts.pointer_size == 8) return memory.put_u64(at, value);
    memory.put_u32(at, static_cast<std::uint32_t>(value));
  }
  /// An explicit Frame's common words.
  void put_frame(Address at, dotnet::FrameType type, Address next = ~Address{0}) {
    memory.map(at, 128);
    put_pointer(at, identifier(type));
    put_pointer(at + layouts.frame.next.offset, next);
  }

  SparseMemory memory;
  dotnet::Descriptor descriptor;
  dotnet::Layouts layouts;
  dotnet::Contracts contracts;
};

/// Lays code heaps, images and methods out in the memory of a DotnetMemory, in the runtime's own formats (x64).
class DotnetCode {
 public:
  explicit DotnetCode(DotnetMemory& target) : t_(target) {
    // The map's address is entry 20 of the pointer table.
    t_.memory.map(t_.layouts.globals.code_range_map.value, 256 * 8);
  }

  /// Registers a RangeSection for [begin, end) in the five-level map.
  Address add_section(Address begin, Address end, std::uint32_t flags, Address heap, Address module) {
    const auto& l = t_.layouts.range_section;
    const Address section = allocate(0x80);
    t_.memory.put_u64(section + l.range_begin.offset, begin);
    t_.memory.put_u64(section + l.range_end_open.offset, end);
    t_.memory.put_u32(section + l.flags.offset, flags);
    t_.memory.put_u64(section + l.heap_list.offset, heap);
    t_.memory.put_u64(section + l.r2r_module.offset, module);
    for (Address leaf = begin >> 17; leaf <= (end - 1) >> 17; leaf++) add_fragment(leaf << 17, begin, end, section);
    return section;
  }

  /// A code heap of jitted code with an empty nibble map.
  Address add_heap(Address begin, Address end) {
    const auto& l = t_.layouts.code_heap_list_node;
    const Address heap = allocate(0x80);
    header_map_ = 0x7a0000000;
    map_base_ = begin;
    t_.memory.map(header_map_, (end - begin) / 64 + 8);
    t_.memory.put_u64(heap + l.start_address.offset, begin);
    t_.memory.put_u64(heap + l.end_address.offset, end);
    t_.memory.put_u64(heap + l.map_base.offset, begin);
    t_.memory.put_u64(heap + l.header_map.offset, header_map_);
    t_.memory.map(begin, end - begin);
    add_section(begin, end, 2, heap, 0);
    return heap;
  }

  struct Piece {
    std::uint32_t offset, size;  ///< in the method
    std::vector<std::uint8_t> unwind;
  };
  /// A jitted method: nibble, code header, unwind rows. An empty piece ({0,0}) leaves a reserved row unfilled.
  void add_method(Address start, std::uint32_t size, Address method_desc, const std::vector<Piece>& pieces) {
    set_nibbles(start, size);
    const auto& l = t_.layouts.real_code_header;
    const Address header = allocate(0x100);
    t_.memory.put_u64(start - 8, header);
    t_.memory.put_u64(header + l.method_desc.offset, method_desc);
    t_.memory.put_u32(header + l.num_unwind_infos.offset, static_cast<std::uint32_t>(pieces.size()));
    Address row = header + l.unwind_infos.offset;
    Address unwind = start + size;
    const bool names_ends = t_.layouts.arch == Arch::x86_64;  // elsewhere unwind information says how long it is
    for (const Piece& p : pieces) {
      unwind = (unwind + 3) & ~Address{3};
      if (p.size != 0) {
        t_.memory.put_u32(row, rva(start) + p.offset);
        if (names_ends) t_.memory.put_u32(row + 4, rva(start) + p.offset + p.size);
        t_.memory.put_u32(row + (names_ends ? 8 : 4), rva(unwind));
        t_.memory.put_bytes(unwind, std::as_bytes(std::span(p.unwind)));
        unwind += p.unwind.size();
      }
      row += names_ends ? 12 : 8;
    }
  }
  void add_stub(Address start, std::uint32_t size, std::uint64_t kind) {
    set_nibbles(start, size);
    t_.memory.put_u64(start - 8, kind);
  }

  [[nodiscard]] Address allocate(std::size_t size) {
    const Address at = next_;
    next_ += (size + 0xf) & ~std::size_t{0xf};
    t_.memory.map(at, size);
    return at;
  }

  /// UNWIND_INFO of `push rbp; lea rbp,[rsp]` with `locals` bytes below: caller's sp = sp + locals + 16.
  static std::vector<std::uint8_t> push_rbp(unsigned locals = 0) {
    if (locals == 0) return {1, 1, 1, 0, 1, 0x50, 0, 0};
    const auto alloc = static_cast<std::uint8_t>((locals / 8 - 1) << 4 | 2);  // UWOP_ALLOC_SMALL
    return {1, 5, 2, 0, 5, alloc, 1, 0x50};
  }

 private:
  [[nodiscard]] std::uint32_t rva(Address a) const { return static_cast<std::uint32_t>(a - map_base_); }

  // As the runtime writes it (NibbleMap version 2): a nibble at the start, pointers into whole units behind it.
  void set_nibbles(Address start, std::uint32_t size) {
    const std::uint64_t d = start - map_base_;
    auto unit_at = [&](std::uint64_t i) { return header_map_ + 4 * i; };
    auto unit = t_.memory.read<std::uint32_t>(unit_at(d / 256)).value_or(0);
    unit |= static_cast<std::uint32_t>((d % 32) / 4 + 1) << (28 - 4 * (d / 32 % 8));
    t_.memory.put_u32(unit_at(d / 256), unit);
    const auto pointer = static_cast<std::uint32_t>((d & ~15ull) + ((d & 15) >> 2) + 9);
    for (std::uint64_t i = d / 256 + 1; (i + 1) * 256 <= d + size; i++) t_.memory.put_u32(unit_at(i), pointer);
  }

  void add_fragment(Address leaf_base, Address begin, Address end, Address section) {
    Address table = t_.layouts.globals.code_range_map.value + t_.layouts.range_section_map.top_level_data.offset;
    Address entry = 0;
    for (unsigned level = 1; level <= 5; level++) {
      entry = table + (leaf_base >> (57 - 8 * level) & 0xff) * 8;
      table = t_.memory.read<std::uint64_t>(entry).value_or(0) & ~1ull;
      if (table == 0 && level < 5) {
        table = allocate(256 * 8);
        t_.memory.put_u64(entry, table | 1);  // the mark of collectible code must not matter
      }
    }
    const auto& l = t_.layouts.range_section_fragment;
    const Address fragment = allocate(0x20);
    t_.memory.put_u64(fragment + l.range_begin.offset, begin);
    t_.memory.put_u64(fragment + l.range_end_open.offset, end);
    t_.memory.put_u64(fragment + l.range_section.offset, section);
    t_.memory.put_u64(fragment + l.next.offset, table);
    t_.memory.put_u64(entry, fragment);
  }

  DotnetMemory& t_;
  Address next_ = 0x500000000;
  Address header_map_ = 0, map_base_ = 0;
};

}  // namespace mixstack::test
