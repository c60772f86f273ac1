#include "dotnet/heap/managed_objects.h"

#include <gtest/gtest.h>

#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeHeap;

class ManagedObjectsTest : public ::testing::Test {
 protected:
  const EEClassLayout& class_layout() { return heap_.layouts.ee_class; }
  Address class_of(Address type) {
    return heap_.memory.read<std::uint64_t>(type + heap_.layouts.method_table.ee_class_or_canon.offset).value_or(0);
  }

  FakeHeap heap_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
  ManagedObjects objects_{types_};
};

TEST_F(ManagedObjectsTest, FieldsAreFoundByName) {
  const Address task = heap_.promise();
  EXPECT_EQ(objects_.type_of(task), heap_.task);
  EXPECT_EQ(objects_.value<std::uint32_t>(task, "m_stateFlags"), FakeHeap::kWaiting);
  EXPECT_EQ(objects_.place(task, "m_continuationObject"), task + FakeHeap::kContinuation);
  EXPECT_FALSE(objects_.place(task, "m_nothing").has_value());
  const Address box = heap_.box(heap_.get_box);
  EXPECT_EQ(objects_.place(box, "StateMachine"), box + FakeHeap::kMachine);
  EXPECT_EQ(objects_.place(box, "m_stateFlags"), box + FakeHeap::kFlags) << "of the type that it derives from";
}

TEST_F(ManagedObjectsTest, TypesAreThoseWhoseClassPointsBack) {
  const Address task = heap_.promise();
  heap_.memory.put_u64(class_of(heap_.task) + class_layout().method_table.offset, heap_.get);
  EXPECT_EQ(objects_.type_of(task), 0u);
  EXPECT_EQ(objects_.type_of(task + 1), 0u);
  EXPECT_EQ(objects_.type_of(0), 0u);
}

TEST_F(ManagedObjectsTest, TypesAreFoundByAssemblyAndName) {
  EXPECT_EQ(types_.find("System.Private.CoreLib", "System.Threading.Tasks.Task"), heap_.task);
  EXPECT_EQ(types_.find("shop", "System.Threading.Tasks.Task"), 0u);
  EXPECT_EQ(types_.find("System.Private.CoreLib", "System.Object"), 0u) << "not in the map of what is loaded";
  EXPECT_EQ(types_.modules(), (std::vector<Address>{heap_.core, heap_.program}));
}

TEST_F(ManagedObjectsTest, AnotherAssemblysTypeIsNotTheCoreLibrarys) {
  constexpr std::string_view kBox = "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1";
  EXPECT_TRUE(types_.is_a(heap_.imitation, kBox));
  EXPECT_FALSE(types_.is_core(heap_.imitation, kBox));
  EXPECT_TRUE(types_.is_core(heap_.get_box, kBox));
  EXPECT_TRUE(types_.is_core(heap_.imitation, "System.Threading.Tasks.Task")) << "it derives from that one";
}

TEST_F(ManagedObjectsTest, ListsOfFieldsThatDoNotFitAreNone) {
  const Address list =
      heap_.memory.read<std::uint64_t>(class_of(heap_.task) + class_layout().field_desc_list.offset).value_or(0);
  heap_.memory.put_u64(list + 16, heap_.get);  // the second entry is another type's
  EXPECT_TRUE(types_.own_fields(heap_.task).empty());
  EXPECT_FALSE(types_.field(heap_.task, "m_action").has_value());
}

TEST_F(ManagedObjectsTest, AbsurdNumbersOfFieldsAreNone) {
  heap_.memory.put_u16(class_of(heap_.get) + class_layout().num_instance_fields.offset, 0xffff);
  EXPECT_TRUE(types_.own_fields(heap_.get).empty());
}

TEST_F(ManagedObjectsTest, CyclesOfParentsEnd) {
  heap_.memory.put_u64(heap_.object_type + heap_.layouts.method_table.parent.offset, heap_.task);
  EXPECT_FALSE(types_.field(heap_.task, "m_nothing").has_value());
  EXPECT_FALSE(types_.is_a(heap_.task, "System.Nothing"));
}

TEST_F(ManagedObjectsTest, ArraysOfAbsurdLengthAreReadAsFarAsTheyGo) {
  const Address array_type = heap_.get;  // made one: category, size of elements, element
  heap_.memory.put_u32(array_type + heap_.layouts.method_table.flags.offset, 0x80080000u | 8);
  heap_.memory.put_u64(array_type + heap_.layouts.method_table.per_inst_info.offset, heap_.object_type);
  const Address array = heap_.object(array_type, 8 + 3 * 8);
  heap_.memory.put_u32(array + heap_.layouts.array.num_components.offset, 0xffffffff);
  heap_.memory.put_u64(objects_.elements_of(array), array);
  const auto items = objects_.references_in(array, ~std::size_t{0});
  EXPECT_LE(items.size(), ManagedObjects::kMaxElements);
  ASSERT_FALSE(items.empty());
  EXPECT_EQ(items.front(), array);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
