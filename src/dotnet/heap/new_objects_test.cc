#include "dotnet/heap/new_objects.h"

#include <gtest/gtest.h>

#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

/// Rooms of 8 KiB, one behind the other, as the collector gives them to a thread.
class NewObjectsTest : public ::testing::Test {
 protected:
  static constexpr Address kRegion = test::FakeHeap::kRegion, kRoom = kRegion + 0x4000, kLimit = kRoom + 0x2000 - 24;

  NewObjectsTest() {
    heap_.memory.map(kFree, 0x1000);
    const MethodTableLayout& at = heap_.layouts.method_table;
    heap_.memory.put_u32(kFree + at.flags.offset, 0x80000001);
    heap_.memory.put_u32(kFree + at.base_size.offset, 24);
    heap_.memory.put_u64(kFree + 0x800, kFree);
    heap_.layouts.globals.free_object_method_table = {kFree + 0x800, true};
  }
  void put(Address at, Address type, std::uint32_t length = 0) {
    heap_.memory.put_u64(at, type);
    heap_.memory.put_u32(at + 8, length);
  }
  Address type_of(std::vector<std::uint64_t> words, bool is_large = false) {
    names::MethodNames names(heap_.runtime(), {});
    NewObjects objects(heap_.runtime(), test::FakeHeap::kDacTable, names);
    return objects.type_of(words, is_large);
  }

  static constexpr Address kFree = 0x7e0000000000;
  test::FakeHeap heap_;
};

TEST_F(NewObjectsTest, AnObjectThatBeganInTheLastRoom) {
  const Address object = kRoom - 40;
  put(object - 24, kFree);
  put(object, heap_.array, 8);  // 24 + 8 * 8 bytes: reaches into the new room
  EXPECT_EQ(type_of({1, kRoom, kLimit, 0x1234}), heap_.array);
  EXPECT_EQ(type_of({kRoom, kLimit, object}), heap_.array);
}

TEST_F(NewObjectsTest, AnObjectAtTheBeginOfTheRoom) {
  put(kRoom, heap_.object_type);
  EXPECT_EQ(type_of({kRoom, kLimit}), heap_.object_type);
  put(kRoom - 24, kFree);
  EXPECT_EQ(type_of({kRoom, kLimit}), heap_.object_type);
}

TEST_F(NewObjectsTest, NothingIsProved) {
  EXPECT_EQ(type_of({}), 0u);
  EXPECT_EQ(type_of({kRoom, kLimit}), 0u);  // not written yet
  put(kRoom - 64, kFree);
  put(kRoom - 40, heap_.object_type);  // ends before the room
  EXPECT_EQ(type_of({kRoom, kLimit}), 0u);
  put(kRoom, heap_.object_type + 8);  // no type
  EXPECT_EQ(type_of({kRoom, kLimit}), 0u);
  put(kRoom, heap_.array, 1 << 20);  // larger than its room
  EXPECT_EQ(type_of({kRoom, kLimit}), 0u);
  EXPECT_EQ(type_of({kRoom + 4, kLimit}), 0u);
  EXPECT_EQ(type_of({0x10, 0x20}), 0u);
}

TEST_F(NewObjectsTest, TwoThatContradictEachOther) {
  put(kRoom, heap_.object_type);
  put(kRoom + 0x100, heap_.array, 1);
  EXPECT_EQ(type_of({kRoom, kRoom + 0x100, kLimit}), 0u);
}

TEST_F(NewObjectsTest, TheSizeOfARoomTellsWhereItBegins) {
  put(kRoom, heap_.object_type);
  put(kRoom + 0x100, heap_.array, 1);
  EXPECT_EQ(type_of({kRoom, kRoom + 0x100, kLimit, 0x2000}), heap_.object_type);
  EXPECT_EQ(type_of({kRoom, kRoom + 0x100, kLimit, 0x2000 - 0x100}), heap_.array);
}

/// Before the room lies an object of the time before the last collection.
TEST_F(NewObjectsTest, ARoomThatBeginsWithAnObject) {
  put(kRoom - 40 - 24, kFree);
  put(kRoom - 40, heap_.array, 8);
  put(kRoom, heap_.object_type);
  EXPECT_EQ(type_of({kRoom, kLimit}), heap_.object_type);
}

TEST_F(NewObjectsTest, LargeOnes) {
  put(kRoom, heap_.array, 20'000);
  EXPECT_EQ(type_of({kRoom, 7}, true), heap_.array);
  put(kRoom, heap_.array, 20);
  EXPECT_EQ(type_of({kRoom, 7}, true), 0u);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
