#include "dotnet/heap/delegates.h"

#include <gtest/gtest.h>

#include "support/fake_runtime_async.h"

namespace mixstack::dotnet::objects {
namespace {

/// Delegates of .NET: with target, the code that is called, and of a static method the code behind a stub.
class FakeDelegates : public test::FakeRuntimeAsync {
 public:
  static constexpr std::uint32_t kTargetAt = 8, kCodeAt = 16, kBehindAt = 24;

  FakeDelegates() {
    test::MetadataBuilder b = library("delegates.dll", "delegates");
    const auto blob = object_field();
    b.type_with_fields("System", "Delegate", 1, 1);
    b.type_with_fields("System", "MulticastDelegate", 4, 1);
    b.type_with_fields("Shop", "Handler", 4, 1);
    for (const char* field : {"_target", "_methodPtr", "_methodPtrAux"}) b.field(field, blob);
    const Address of = module(b.build());
    const Address base =
        type(of, 2, object_type, 40, 0, 3, {{1, kTargetAt - 8, 18}, {2, kCodeAt - 8, 24}, {3, kBehindAt - 8, 24}});
    multicast = type(of, 3, base, 40, 0, 3, {});
    handler = type(of, 4, multicast, 40, 0, 3, {});
  }
  Address new_handler(Address target, Address code_called, Address behind = 0) {
    const Address at = object(handler, 24);
    memory.put_u64(at + kTargetAt, target);
    memory.put_u64(at + kCodeAt, code_called);
    memory.put_u64(at + kBehindAt, behind);
    return at;
  }
  Address multicast = 0, handler = 0;
};

class DelegatesTest : public ::testing::Test {
 protected:
  FakeDelegates heap_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
  ManagedObjects objects_{types_};
  CodeManager code_{heap_.runtime(), heap_.contracts};
  Delegates delegates_{objects_, code_, names_};
};

TEST_F(DelegatesTest, TargetAndMethod) {
  const Address target = heap_.promise();
  const Address code = heap_.method(heap_.db, FakeDelegates::kReadRow).code;
  const Address handler = heap_.new_handler(target, code);
  EXPECT_EQ(delegates_.target(handler), target);
  EXPECT_EQ(delegates_.method(handler), "Shop.Db.ReadRow()");
}

TEST_F(DelegatesTest, OfAStaticMethodTheCodeBehindTheStubCounts) {
  const Address code = heap_.method(heap_.db, FakeDelegates::kReadRow).code,
                behind = heap_.method(heap_.db, FakeDelegates::kGetOrderRow).code;
  EXPECT_EQ(delegates_.method(heap_.new_handler(0, code, behind)), "Shop.Db.GetOrder()");
  EXPECT_EQ(delegates_.method(heap_.new_handler(0, code, 0x1000)), "Shop.Db.ReadRow()") << "no code there";
}

TEST_F(DelegatesTest, AStubIsNoMethodOfTheProgram) {
  EXPECT_EQ(delegates_.method(heap_.new_handler(0, heap_.read_row_stub())), "");
}

TEST_F(DelegatesTest, WhatIsNoDelegateHasNothing) {
  for (const Address at : {Address{0}, Address{0x1000}, heap_.promise(), ~Address{7}}) {
    EXPECT_EQ(delegates_.target(at), 0u);
    EXPECT_EQ(delegates_.method(at), "");
    EXPECT_FALSE(delegates_.is_delegate(at));
  }
  EXPECT_EQ(delegates_.method(heap_.new_handler(0, 0x1000)), "");
}

TEST_F(DelegatesTest, AMethodOfATypeByItsName) {
  EXPECT_EQ(delegates_.method_of_type(heap_.db, "NoSuchMethod"), "");
  EXPECT_EQ(delegates_.method_of_type(0x1000, "ReadRow"), "");
}

}  // namespace
}  // namespace mixstack::dotnet::objects
