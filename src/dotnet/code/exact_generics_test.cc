#include "dotnet/code/exact_generics.h"

#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

using Kind = GenericContextKind;

constexpr std::uint32_t kReference = 0x01000000, kValue = 0x00040000, kOne = 0x10, kShared = 0x20,
                        kCollectible = 0x00200000;
constexpr std::uint16_t kInstantiated = 5, kStaticFlag = 0x80;
constexpr std::uint16_t kUnshared = 2, kSharedMethod = 3, kWrapper = 4;

/// List<__Canon>, List<Order>, List<Customer>, and methods of them.
class ExactGenerics : public ::testing::Test {
 protected:
  ExactGenerics() {
    t_.memory.map(kTypes, 0x20000);
    canon_ = type(kReference);
    order_ = type(kReference);
    money_ = type(kValue);
    list_ = type(kReference | kShared);
    list_of_order_ = type(kReference | kOne, list_);
    other_ = type(kReference | kShared);
    other_of_order_ = type(kReference | kOne, other_);
    derived_ = type(kReference, 0, list_of_order_);
  }
  Address type(std::uint32_t flags, Address canonical = 0, Address parent = 0) {
    const MethodTableLayout& l = t_.layouts.method_table;
    const Address at = next_, of_class = at + 0x200;
    next_ += 0x400;
    t_.memory.put_u32(at + l.flags.offset, flags);
    t_.memory.put_u64(at + l.parent.offset, parent);
    t_.memory.put_u64(at + l.ee_class_or_canon.offset, canonical != 0 ? canonical | 1 : of_class);
    t_.memory.put_u64(of_class + t_.layouts.ee_class.method_table.offset, at);
    return at;
  }
  /// In a chunk of its own.
  Address method(Address table, std::uint16_t token, std::uint16_t flags = 0, std::uint16_t instantiation = 0,
                 std::initializer_list<Address> arguments = {}) {
    const Layouts& l = t_.layouts;
    const Address chunk = next_, at = chunk + l.method_desc_chunk.size, list = chunk + 0x200;
    next_ += 0x400;
    t_.memory.put_u64(chunk + l.method_desc_chunk.method_table.offset, table);
    t_.memory.put_u16(at + l.method_desc.flags.offset, flags);
    t_.memory.put_u16(at + l.method_desc.flags3_and_token_remainder.offset, token);
    if (arguments.size() == 0) return at;
    const InstantiatedMethodDescLayout& i = l.instantiated_method_desc;
    t_.memory.put_u16(at + l.method_desc.flags.offset, static_cast<std::uint16_t>(flags | kInstantiated));
    t_.memory.put_u16(at + i.flags2.offset, instantiation);
    t_.memory.put_u64(at + i.per_inst_info.offset, list);
    t_.memory.put_u16(at + i.num_generic_args.offset, static_cast<std::uint16_t>(arguments.size()));
    Address slot = list;
    for (const Address argument : arguments) t_.memory.put_u64(std::exchange(slot, slot + 8), argument);
    return at;
  }
  GenericContext prove(Address shared, Kind kind, Address found) {
    return prove_context(t_.runtime(), shared, kind, found);
  }

  static constexpr Address kTypes = 0x100000;
  test::DotnetMemory t_;
  Address next_ = kTypes;
  Address canon_ = 0, order_ = 0, money_ = 0, list_ = 0, list_of_order_ = 0, other_ = 0, other_of_order_ = 0,
          derived_ = 0;
};

TEST_F(ExactGenerics, WhoSharesCode) {
  const auto shared = [&](Address method) { return shared_by(t_.runtime(), method); };
  EXPECT_EQ(shared(method(list_, 1)), SharedBy::types);
  EXPECT_EQ(shared(method(list_of_order_, 1)), SharedBy::nobody);
  EXPECT_EQ(shared(method(order_, 1)), SharedBy::nobody);
  EXPECT_EQ(shared(method(order_, 1, 0, kSharedMethod, {canon_})), SharedBy::methods);
  EXPECT_EQ(shared(method(order_, 1, 0, kUnshared, {money_})), SharedBy::nobody);
  EXPECT_EQ(shared(0), SharedBy::nobody);
  EXPECT_TRUE(is_static(t_.runtime(), method(list_, 1, kStaticFlag)));
  EXPECT_FALSE(is_static(t_.runtime(), method(list_, 1)));
}

TEST_F(ExactGenerics, ATypeIsOneOfTheMethodsClass) {
  const Address add = method(list_, 7);
  const GenericContext found = prove(add, Kind::type, list_of_order_);
  EXPECT_EQ(found.handle, list_of_order_);
  EXPECT_FALSE(found.is_method || found.of_object);
  EXPECT_TRUE(found.is_kept);
  EXPECT_EQ(prove(add, Kind::type, other_of_order_).handle, 0u) << "of another class";
  EXPECT_EQ(prove(add, Kind::type, derived_).handle, 0u) << "only objects may be of derived ones";
  EXPECT_EQ(prove(add, Kind::type, list_).handle, 0u) << "shared itself";
  EXPECT_EQ(prove(add, Kind::type, kTypes + 0x404).handle, 0u);
  EXPECT_EQ(prove(add, Kind::type, 0x123456).handle, 0u);
  EXPECT_EQ(prove(method(order_, 7), Kind::type, order_).handle, 0u) << "not shared";
}

TEST_F(ExactGenerics, AnObjectsBaseTypeCounts) {
  const GenericContext found = prove(method(list_, 7), Kind::this_object, derived_);
  EXPECT_EQ(found.handle, list_of_order_);
  EXPECT_TRUE(found.of_object);
  EXPECT_EQ(prove(method(list_, 7), Kind::this_object, order_).handle, 0u);
}

TEST_F(ExactGenerics, AMethodIsTheSameWithOtherArguments) {
  const Address shared = method(order_, 9, 0, kSharedMethod, {canon_, money_});
  const Address exact = method(order_, 9, 0, kWrapper, {order_, money_});
  const GenericContext found = prove(shared, Kind::method_desc, exact);
  EXPECT_EQ(found.handle, exact);
  EXPECT_TRUE(found.is_method);
  EXPECT_TRUE(found.is_kept);
  const auto refused = [&](Address other) { return prove(shared, Kind::method_desc, other).handle == 0; };
  EXPECT_TRUE(refused(shared));
  EXPECT_TRUE(refused(method(order_, 8, 0, kWrapper, {order_, money_}))) << "another method";
  EXPECT_TRUE(refused(method(derived_, 9, 0, kWrapper, {order_, money_}))) << "of another class";
  EXPECT_TRUE(refused(method(order_, 9, 0, kWrapper, {order_}))) << "another number of arguments";
  EXPECT_TRUE(refused(method(order_, 9, 0, kWrapper, {money_, money_}))) << "shared by references only";
  EXPECT_TRUE(refused(method(order_, 9, 0, kWrapper, {order_, order_}))) << "another value type";
  EXPECT_TRUE(refused(method(order_, 9)));
}

TEST_F(ExactGenerics, WhatMayBeFreedIsNotKept) {
  const Address of_emitted = type(kReference | kOne | kCollectible, list_), emitted = type(kReference | kCollectible);
  EXPECT_FALSE(prove(method(list_, 7), Kind::type, of_emitted).is_kept);
  const Address exact = method(order_, 9, 0, kWrapper, {emitted});
  const GenericContext found = prove(method(order_, 9, 0, kSharedMethod, {canon_}), Kind::method_desc, exact);
  EXPECT_EQ(found.handle, exact);
  EXPECT_FALSE(found.is_kept);
}

}  // namespace
}  // namespace mixstack::dotnet
