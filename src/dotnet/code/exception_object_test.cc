#include <gtest/gtest.h>

#include "dotnet/code/exceptions.h"
#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

constexpr Address kExceptionType = 0x700000, kDerivedType = 0x701000, kBytesType = 0x702000, kObjectsType = 0x703000;
constexpr Address kObject = 0x710000, kBytes = 0x720000, kObjects = 0x740000;
constexpr std::uint32_t kVector = 0x800a0000;

/// A heap with one exception, its type, and arrays.
class Heap : public test::DotnetMemory {
 public:
  explicit Heap(const nlohmann::json& json = test::x64_descriptor()) : DotnetMemory(json) {
    memory.map(layouts.globals.exception_method_table.value, 8);
    put_pointer(layouts.globals.exception_method_table.value, kExceptionType);
    for (const Address type : {kExceptionType, kDerivedType, kBytesType, kObjectsType}) memory.map(type, 256);
    put_pointer(kDerivedType + layouts.method_table.parent.offset, kExceptionType);
    memory.put_u32(kBytesType + layouts.method_table.flags.offset, kVector | 1);
    memory.put_u32(kObjectsType + layouts.method_table.flags.offset, kVector | layouts.pointer_size);
    put_pointer(kObjectsType + layouts.method_table.per_inst_info.offset, kExceptionType);
    memory.map(kObject, 256);
    put_pointer(kObject, kDerivedType | 1);  // marked by a GC
  }
  void put_array(Address at, Address type, std::uint32_t length, std::size_t bytes) {
    memory.map(at, layouts.array.size + bytes);
    put_pointer(at, type);
    memory.put_u32(at + layouts.array.num_components.offset, length);
  }
  /// A trace of `count` elements in an array that has room for `room`.
  void put_trace(std::uint32_t count, std::uint32_t room) {
    const std::uint32_t word = layouts.pointer_size, header = 8 + word, size = 4 * word;
    put_array(kBytes, kBytesType, header + room * size, header + std::size_t{room} * size);
    const Address data = kBytes + layouts.array.size;
    memory.put_u32(data, count);
    for (std::uint32_t i = 0; i < std::min(count, room); i++) {
      const Address at = data + header + Address{i} * size;
      put_pointer(at, 0x1000 + i);
      put_pointer(at + word, 0x2000 + i);
      put_pointer(at + 2 * word, 0x3000 + i);
      memory.put_u32(at + 3 * word, i == 1 ? 3 : 2);
    }
  }
};

class ExceptionObjects : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(ExceptionObject, ExceptionObjects, ::testing::ValuesIn(test::kDescriptorsFrom10),
                         test::release_of);

TEST_P(ExceptionObjects, HaveTheFieldsOfTheContract) {
  Heap heap(test::load_descriptor(GetParam()));
  const auto& l = heap.layouts.exception;
  heap.put_pointer(kObject + l.message.offset, 1);
  heap.put_pointer(kObject + l.inner_exception.offset, 2);
  heap.put_pointer(kObject + l.stack_trace.offset, 3);
  heap.memory.put_u32(kObject + l.hresult.offset, 0x80131500);
  const auto e = read_exception(heap.runtime(), kObject);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->method_table, kDerivedType);
  EXPECT_EQ(e->message, 1u);
  EXPECT_EQ(e->inner, 2u);
  EXPECT_EQ(e->stack_trace, 3u);
  EXPECT_EQ(e->hresult, 0x80131500u);
}

TEST(ExceptionObject, OnlyWhatDerivesFromExceptionIsOne) {
  Heap heap;
  heap.put_pointer(kObject, kBytesType);
  EXPECT_EQ(read_exception(heap.runtime(), kObject).error(), (Error{ErrorCode::mismatch, 0, kObject}));
  EXPECT_EQ(read_exception(heap.runtime(), 0).error().code, ErrorCode::malformed);
  EXPECT_EQ(read_exception(heap.runtime(), 0x999000).error().code, ErrorCode::unreadable_memory);
  // A cycle of parents ends.
  heap.put_pointer(kBytesType + heap.layouts.method_table.parent.offset, kBytesType);
  EXPECT_FALSE(derives_from(heap.runtime(), kBytesType, kExceptionType));
}

TEST(ThrowStack, InnermostFirstOnEveryCpu) {
  for (const char* name : test::kDescriptorsFrom10) {
    Heap heap(test::load_descriptor(name));
    heap.put_trace(100, 128);
    const auto stack = read_throw_stack(heap.runtime(), kBytes);
    EXPECT_EQ(stack.error.code, ErrorCode::none);
    ASSERT_EQ(stack.records.size(), 100u);
    EXPECT_EQ(stack.records[99].ip, 0x1000u + 99);
    EXPECT_EQ(stack.records[99].sp, 0x2000u + 99);
    EXPECT_EQ(stack.records[99].method_desc, 0x3000u + 99);
    EXPECT_FALSE(stack.records[0].ends_first_part);
    EXPECT_TRUE(stack.records[1].ends_first_part);
    EXPECT_FALSE(stack.is_cut);
  }
}

TEST(ThrowStack, BehindTheObjectsItKeepsAlive) {
  Heap heap;
  heap.put_trace(2, 2);
  heap.put_array(kObjects, kObjectsType, 2, 16);
  heap.put_pointer(kObjects + heap.layouts.array.size, kBytes);
  EXPECT_EQ(read_throw_stack(heap.runtime(), kObjects).records.size(), 2u);
  heap.put_pointer(kObjects + heap.layouts.array.size, kObjects);  // an array that holds itself
  EXPECT_EQ(read_throw_stack(heap.runtime(), kObjects).error.code, ErrorCode::mismatch);
  heap.memory.put_u32(kObjects + heap.layouts.array.num_components.offset, 0);
  EXPECT_EQ(read_throw_stack(heap.runtime(), kObjects).error.code, ErrorCode::mismatch);
}

TEST(ThrowStack, CutAtTheLimit) {
  Heap heap;
  heap.put_trace(100, 100);
  const auto stack = read_throw_stack(heap.runtime(), kBytes, 7);
  EXPECT_EQ(stack.records.size(), 7u);
  EXPECT_TRUE(stack.is_cut);
}

TEST(ThrowStack, NoneIsNoError) {
  Heap heap;
  const auto stack = read_throw_stack(heap.runtime(), 0);
  EXPECT_TRUE(stack.records.empty());
  EXPECT_EQ(stack.error.code, ErrorCode::none);
}

TEST(ThrowStack, DamagedArraysAreRefused) {
  Heap heap;
  heap.put_trace(3, 2);  // says more than it has room for
  EXPECT_EQ(read_throw_stack(heap.runtime(), kBytes).error.code, ErrorCode::malformed);
  heap.put_trace(0xffffffff, 2);
  EXPECT_EQ(read_throw_stack(heap.runtime(), kBytes).error.code, ErrorCode::malformed);
  heap.put_array(kBytes, kBytesType, 15, 16);
  EXPECT_EQ(read_throw_stack(heap.runtime(), kBytes).error.code, ErrorCode::malformed);
  heap.put_array(kBytes, kBytesType, 0xffffffff, 16);
  EXPECT_EQ(read_throw_stack(heap.runtime(), kBytes).error.code, ErrorCode::malformed);
  heap.put_pointer(kBytes, kExceptionType);  // no array at all
  EXPECT_EQ(read_throw_stack(heap.runtime(), kBytes).error.code, ErrorCode::mismatch);
  // Ends in the middle of what it says: no half trace.
  heap.put_array(kBytes, kBytesType, 16 + 32 * 200, 16);
  heap.memory.put_u32(kBytes + heap.layouts.array.size, 200);
  const auto stack = read_throw_stack(heap.runtime(), kBytes);
  EXPECT_EQ(stack.error.code, ErrorCode::unreadable_memory);
  EXPECT_TRUE(stack.records.empty());
}

TEST(ReferenceArray, ProvesItsElementType) {
  Heap heap;
  heap.put_array(kObjects, kObjectsType, 3, 24);
  for (Address i = 0; i < 3; i++) heap.put_pointer(kObjects + heap.layouts.array.size + 8 * i, 0x100 + i);
  const auto all = read_reference_array(heap.runtime(), kObjects, kExceptionType, 10);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->elements, (std::vector<Address>{0x100, 0x101, 0x102}));
  EXPECT_FALSE(all->is_cut);
  const auto some = read_reference_array(heap.runtime(), kObjects, kExceptionType, 2);
  ASSERT_TRUE(some);
  EXPECT_TRUE(some->is_cut);
  EXPECT_EQ(read_reference_array(heap.runtime(), kObjects, kDerivedType, 10).error().code, ErrorCode::mismatch);
  heap.put_array(kBytes, kBytesType, 3, 3);
  EXPECT_EQ(read_reference_array(heap.runtime(), kBytes, 0, 10).error().code, ErrorCode::mismatch);
}

}  // namespace
}  // namespace mixstack::dotnet
