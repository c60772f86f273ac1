#include "dotnet/heap/aot_method_table.h"

#include <gtest/gtest.h>

#include "dotnet/heap/aot_collector.h"
#include "dotnet/heap/aot_type_names.h"
#include "dotnet/heap/object_sizes.h"
#include "support/sparse_memory.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::uint32_t kParameterized = 2 << 16, kDefinition = 3 << 16;
constexpr std::uint32_t kClass = 0x14 << 26, kValue = 0x10 << 26, kInterface = 0x15 << 26, kSzArray = 0x18 << 26,
                        kArray = 0x17 << 26;

/// Types of a program as the compiler of .NET 11 writes them, by hand.
class AotTypesTest : public ::testing::Test {
 protected:
  static constexpr Address kTypes = 0x40000000;
  AotTypesTest() {
    memory_.map(kTypes, 0x10000);
    layouts_.is_native_aot = true;
    layouts_.aot_method_table = {{0}, {4}, {8}, {16}, {18}, {24}};
    object_ = type(kClass, 24, 0);
    string_ = type(kClass | 0x80000002, 22, object_);
    value_ = type(kValue, 32, type(kClass, 24, object_));
  }
  Address type(std::uint32_t flags, std::uint32_t base, Address related, std::uint16_t slots = 3,
               std::uint16_t interfaces = 0) {
    const Address at = next_;
    next_ += 0x100;
    memory_.put_u32(at, flags);
    memory_.put_u32(at + 4, base);
    memory_.put_u64(at + 8, related);
    memory_.put_u16(at + 16, slots);
    memory_.put_u16(at + 18, interfaces);
    return at;
  }
  Address array(Address element, std::uint32_t component = 8, std::uint32_t base = 24) {
    return type(kParameterized | (base == 24 ? kSzArray : kArray) | 0x80000000 | component, base, element);
  }
  /// An instance of a definition with so many parameters; the fields before it by `flags`.
  Address instance(Address definition, std::initializer_list<Address> arguments, std::uint32_t flags = 0) {
    const Address at = type(kClass | AotMethodTable::kGeneric | flags, 32, object_, 2, 1);
    Address place = at + 24 + 3 * 8 + 2 * 4;
    for (const std::uint32_t flag : {AotMethodTable::kDispatchMap, AotMethodTable::kFinalizer, AotMethodTable::kSealed})
      if ((flags & flag) != 0) place += 4;
    refer(place, definition);
    place += 4;
    if (arguments.size() != 1) {
      refer(place, next_);
      place = next_;
      next_ += 0x100;
    }
    for (const Address a : arguments) {
      refer(place, a);
      place += 4;
    }
    return at;
  }
  void refer(Address place, Address to) { memory_.put_u32(place, static_cast<std::uint32_t>(to - place)); }
  RuntimeMemory runtime() const { return {memory_, layouts_}; }
  bool is_type(Address at) const {
    const auto table = read_aot_method_table(runtime(), at);
    return table && is_type_of_objects(runtime(), *table);
  }
  std::string name(Address at) {
    AotTypeNames names(runtime(), std::nullopt, [&](Address type) { return type == string_ ? "S" : "T"; });
    return names.name(at);
  }

  test::SparseMemory memory_;
  Layouts layouts_;
  Address next_ = kTypes, object_ = 0, string_ = 0, value_ = 0;
};

TEST_F(AotTypesTest, TypesOfObjectsEndAtTheOneWithoutABase) {
  for (const Address good : {object_, string_, value_, type(kClass, 40, object_), array(object_), array(value_, 16),
                             array(type(kInterface, 0, 0)), array(array(object_), 8, 40),
                             type(AotMethodTable::kPointers, 32, object_, 0xffe0, 0xffff)})
    EXPECT_TRUE(is_type(good)) << std::hex << good;
  const Address loop = type(kClass, 24, 0);
  memory_.put_u64(loop + 8, loop);
  for (const Address bad :
       {loop, type(kInterface, 24, 0), type(kDefinition | kClass, 1, object_), type(kClass, 23, object_),
        type(kClass, 40, 0x1000), type(kClass, 24, string_), array(object_, 0), array(type(kDefinition | kClass, 1, 0)),
        type(kClass, 16, object_), type(kClass, 1 << 30, object_), Address{0x50000000}, object_ + 4})
    EXPECT_FALSE(is_type(bad)) << std::hex << bad;
}

TEST_F(AotTypesTest, SizesAreThoseOfTheTypes) {
  const Address free = type(kParameterized | 0x80000001, 24, 0);
  memory_.put_u64(kTypes + 0x8000, free);
  layouts_.globals.free_object_method_table = {kTypes + 0x8000, true};
  ObjectSizes sizes(runtime());
  const auto size = [&](Address type, std::uint32_t length) {
    const auto found = sizes.find(type | 1);
    return found ? sizes[*found].size(length) : 0;
  };
  EXPECT_EQ(size(string_, 5), 32U);
  EXPECT_EQ(size(array(value_, 16), 3), 72U);
  EXPECT_EQ(size(value_, 0), 32U);
  EXPECT_EQ(size(free, 40), 64U);
  EXPECT_FALSE(sizes.find(type(kInterface, 24, 0)));
  EXPECT_TRUE(sizes[*sizes.find(free)].is_free);
  EXPECT_TRUE(sizes[*sizes.find(string_)].is_string);
}

TEST_F(AotTypesTest, InstancesHaveTheirArgumentsWhereverTheyLie) {
  const Address one = type(kDefinition | kClass, 1, 0), two = type(kDefinition | kClass, 2, 0);
  for (const std::uint32_t flags :
       {0u, AotMethodTable::kDispatchMap, AotMethodTable::kFinalizer | AotMethodTable::kSealed}) {
    const auto first = aot_instance(runtime(), *read_aot_method_table(runtime(), instance(one, {string_}, flags)));
    ASSERT_TRUE(first);
    EXPECT_EQ(first->definition, one);
    EXPECT_EQ(first->arguments, std::vector{string_});
    const auto second =
        aot_instance(runtime(), *read_aot_method_table(runtime(), instance(two, {value_, object_}, flags)));
    ASSERT_TRUE(second);
    EXPECT_EQ(second->arguments, (std::vector{value_, object_}));
  }
  EXPECT_FALSE(aot_instance(runtime(), *read_aot_method_table(runtime(), object_)));
  EXPECT_FALSE(aot_instance(runtime(), *read_aot_method_table(runtime(), instance(string_, {object_}))));
}

TEST_F(AotTypesTest, NamesOfArraysAreTheirElements) {
  EXPECT_EQ(name(array(string_)), "S[]");
  EXPECT_EQ(name(array(array(string_), 8, 40)), "S[,][]");
  EXPECT_EQ(name(array(array(string_, 8, 40))), "S[][,]");
  EXPECT_EQ(name(object_), "T");
  EXPECT_EQ(name(type(AotMethodTable::kPointers, 32, object_)), "(statics of a type)");
  Address deep = string_;
  for (int i = 0; i < 40; i++) deep = array(deep);
  EXPECT_EQ(name(deep).substr(0, 5), "?[][]") << "a bound";
}

class AotCollectorTest : public ::testing::Test {
 protected:
  static constexpr Address kData = 0x50000000, kStore = 0x60000000, kTable = kData + 0x2340;
  AotCollectorTest() {
    memory_.map(kData, 0x20000);
    memory_.map(kStore, 0x1000);
    layouts_.is_native_aot = true;
    layouts_.globals.thread_store = {kData, true};
    layouts_.globals.runtime_instance = {kData + 8, true};
    memory_.put_u64(kData, kStore);
    memory_.put_u64(kData + 8, kStore + 0x800);
    memory_.put_u64(kStore + 8, kStore + 0x800);
    memory_.put_u32(kStore + 16 + 16, 1);
    table(kTable);
  }
  void table(Address at) {
    for (unsigned g = 0; g < 5; g++) {
      memory_.put_u64(at + 0xa8 * g + 0x58, 9 - g);
      memory_.put_u64(at + 0xa8 * g + 0xa0, kData + 0x100 + 0x38 * g);
    }
  }
  std::optional<AotCounts> counts() const {
    return find_aot_counts({memory_, layouts_}, collector_, {kData, kData + 0x20000});
  }
  std::optional<bool> locked() const { return are_threads_locked({memory_, layouts_}); }

  test::SparseMemory memory_;
  Layouts layouts_;
  Collector collector_;
};

TEST_F(AotCollectorTest, CountsAreFoundWhereOneTableIs) {
  ASSERT_TRUE(counts());
  EXPECT_EQ(counts()->young, kTable + 0x58);
  EXPECT_EQ(counts()->old, kTable + 0xa8 + 0x58);
  table(kTable + 0x1000);
  EXPECT_FALSE(counts()) << "two";
  memory_.put_u64(kTable + 0x1000 + 0x58, 0);
  EXPECT_TRUE(counts()) << "the second has more old collections than young ones";
  memory_.put_u64(kTable + 0xa0, 0x1000);
  EXPECT_FALSE(counts());
}

TEST_F(AotCollectorTest, AServersCountsLieInItsHeap) {
  collector_.is_server = true;
  EXPECT_FALSE(counts());
  memory_.put_u64(kStore + 0x100, kStore + 0x108);
  memory_.put_u64(kStore + 0x108, kData + 0x1000);
  collector_.heap_pointers = kStore + 0x100;
  ASSERT_TRUE(counts());
  EXPECT_EQ(counts()->young, kTable + 0x58);
}

TEST_F(AotCollectorTest, LocksAreThoseOfBothLibraries) {
  EXPECT_EQ(locked(), false);
  memory_.put_u32(kStore + 16, 2);
  EXPECT_EQ(locked(), true);
  memory_.put_u32(kStore + 16, 1);  // musl: its type comes first
  memory_.put_u32(kStore + 32, 0);
  EXPECT_EQ(locked(), false);
  memory_.put_u32(kStore + 20, 4711);
  EXPECT_EQ(locked(), true);
  memory_.put_u32(kStore + 16, 7);
  EXPECT_EQ(locked(), std::nullopt);
  memory_.put_u32(kStore + 16, 1);
  memory_.put_u64(kStore + 8, kStore);
  EXPECT_EQ(locked(), std::nullopt) << "not the RuntimeInstance";
}

}  // namespace
}  // namespace mixstack::dotnet::objects
