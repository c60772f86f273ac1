#include "dotnet/heap/loaded_types.h"

#include <gtest/gtest.h>

#include "support/fake_heap.h"
#include "support/fake_libraries.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeLibraries;

class LoadedTypesTest : public ::testing::Test {
 protected:
  enum Type : std::size_t { base, derived, inner, innermost };

  FakeLibraries heap_;
  std::vector<Address> shop_ =
      heap_.load("Shop.Core", {{"Shop", "Base", 0, 0, {{"first", 0}, {"total", 8, FakeLibraries::kReference, true}}},
                               {"Shop", "Derived", 0, 1, {{"second", 8, FakeLibraries::kInt}, {"first", 16}}},
                               {"", "Inner", 2, 0, {{"value", 0}}},
                               {"", "Most", 3, 0, {}}});
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
};

TEST_F(LoadedTypesTest, ATypeIsFoundByItsWholeName) {
  EXPECT_EQ(types_.find("Shop.Core", "Shop.Base"), shop_[base]);
  EXPECT_EQ(types_.find("Shop.Core", "Shop.Derived+Inner"), shop_[inner]);
  EXPECT_EQ(types_.find("Shop.Core", "Shop.Derived+Inner+Most"), shop_[innermost]);
  EXPECT_EQ(types_.find("Shop.Core", "Inner"), 0u) << "without the type that it is in";
  EXPECT_EQ(types_.find("Shop.Core", "Base"), 0u) << "without its namespace";
  EXPECT_EQ(types_.find("Shop", "Shop.Base"), 0u) << "of another assembly";
  EXPECT_EQ(types_.find("Shop.Core", ""), 0u);
}

TEST_F(LoadedTypesTest, ATypeThatIsNotLoadedMayBeLaterOn) {
  EXPECT_EQ(types_.find("Shop.Late", "Shop.Late"), 0u);
  EXPECT_EQ(types_.modules().size(), 3u);
}

TEST_F(LoadedTypesTest, FactsOfAType) {
  const TypeFacts* type = types_.at(shop_[inner]);
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->name, "Shop.Derived+Inner");
  EXPECT_EQ(type->assembly, "Shop.Core");
  EXPECT_EQ(type->parent, heap_.object_type);
  EXPECT_FALSE(type->is_array || type->is_value || type->is_interface);
  EXPECT_EQ(types_.at(0x1234), nullptr);
  EXPECT_EQ(types_.at(0), nullptr);
}

TEST_F(LoadedTypesTest, AFieldIsTheNearestOfItsName) {
  const auto second = types_.field(shop_[derived], "second"), first = types_.field(shop_[derived], "first"),
             of_base = types_.field(shop_[base], "first"), total = types_.field(shop_[derived], "total");
  ASSERT_TRUE(second && first && of_base && total);
  EXPECT_EQ(second->offset, 8u);
  EXPECT_EQ(second->element, names::ElementType::i4);
  EXPECT_EQ(first->offset, 16u) << "hides that of the base";
  EXPECT_EQ(first->introduced_by, shop_[derived]);
  EXPECT_EQ(of_base->offset, 0u);
  EXPECT_TRUE(total->is_static);
  EXPECT_EQ(total->introduced_by, shop_[base]);
  EXPECT_FALSE(types_.field(shop_[base], "second"));
  EXPECT_FALSE(types_.field(0x1234, "first"));
}

TEST_F(LoadedTypesTest, OwnFieldsAreThoseThatItDeclares) {
  const auto& own = types_.own_fields(shop_[derived]);
  ASSERT_EQ(own.size(), 2u);
  EXPECT_EQ(own[0].name, "second");
  EXPECT_EQ(own[1].name, "first");
  EXPECT_TRUE(types_.own_fields(shop_[innermost]).empty());
}

TEST_F(LoadedTypesTest, WhatATypeDerivesFrom) {
  EXPECT_TRUE(types_.is_a(shop_[derived], "Shop.Base"));
  EXPECT_TRUE(types_.is_a(shop_[derived], "System.Object"));
  EXPECT_FALSE(types_.is_a(shop_[base], "Shop.Derived"));
  EXPECT_FALSE(types_.is_core(shop_[derived], "Shop.Base")) << "not of the core library";
  EXPECT_TRUE(types_.is_core(shop_[derived], "System.Object"));
}

TEST_F(LoadedTypesTest, ParentsThatFollowEachOtherEnd) {
  const auto parent = heap_.layouts.method_table.parent.offset;
  heap_.memory.put_u64(shop_[base] + parent, shop_[derived]);
  EXPECT_FALSE(types_.is_a(shop_[derived], "Shop.Other"));
  EXPECT_FALSE(types_.field(shop_[derived], "other"));
}

TEST_F(LoadedTypesTest, AWordThatOnlyLooksLikeATypeIsNone) {
  // Its EEClass names another MethodTable.
  const auto ee_class =
      heap_.memory.read<std::uint64_t>(shop_[base] + heap_.layouts.method_table.ee_class_or_canon.offset);
  heap_.memory.put_u64(*ee_class + heap_.layouts.ee_class.method_table.offset, shop_[derived]);
  EXPECT_EQ(types_.at(shop_[base]), nullptr);
  EXPECT_EQ(types_.find("Shop.Core", "Shop.Base"), 0u);
}

TEST_F(LoadedTypesTest, FieldsOfAnotherTypeAreNotBelieved) {
  const auto ee_class =
      heap_.memory.read<std::uint64_t>(shop_[inner] + heap_.layouts.method_table.ee_class_or_canon.offset);
  const auto list = heap_.memory.read<std::uint64_t>(*ee_class + heap_.layouts.ee_class.field_desc_list.offset);
  heap_.memory.put_u64(*list, shop_[base]);
  EXPECT_FALSE(types_.field(shop_[inner], "value"));
}

TEST_F(LoadedTypesTest, ArgumentsOfAnInstance) {
  EXPECT_EQ(types_.arguments(heap_.get_box), (std::vector{heap_.object_type, heap_.get}));
  EXPECT_TRUE(types_.arguments(shop_[base]).empty());
  const Address list = heap_.structs(shop_[inner], 16, 2);
  const auto array = heap_.memory.read<std::uint64_t>(list);
  EXPECT_EQ(types_.arguments(*array), std::vector{shop_[inner]}) << "its element";
}

class GenericInstancesTest : public ::testing::Test {
 protected:
  test::FakeHeap heap_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
};

TEST_F(GenericInstancesTest, AreThoseOfTheModulesTable) {
  EXPECT_EQ(types_.generic_instances(heap_.program),
            (std::vector<Address>{heap_.get_box, heap_.load_box, heap_.imitation}));
  EXPECT_TRUE(types_.generic_instances(heap_.core).empty());
}

TEST_F(GenericInstancesTest, AListThatLeadsBackToItselfEnds) {
  heap_.memory.put_u64(heap_.type_entries, 0);  // no type, so that nothing is found by going on
  heap_.memory.put_u64(heap_.type_entries + 8, heap_.type_entries);
  EXPECT_TRUE(types_.generic_instances(heap_.program).empty());
}

}  // namespace
}  // namespace mixstack::dotnet::objects
