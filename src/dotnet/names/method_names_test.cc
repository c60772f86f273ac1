#include "dotnet/names/method_names.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/fake_names_runtime.h"

namespace mixstack::dotnet::names {
namespace {

using test::bytes_of;
using test::ByteWriter;

constexpr std::uint32_t kInstance = 0x10, kDefinition = 0x30;  // generics kind in MethodTable flags
constexpr std::uint32_t kVector = 0xa0000, kArray = 0x80000;

/// Type 2 Ns.Plain {1 Run, 2 get_Item, 3 op_Implicit, 4 generic Make}, 3 Ns.Outer`1 {5 Do}, 4 nested <Run>d__0
/// {6 MoveNext}, 5 nested <>c {7 <Run>b__0_1}.
class MethodNamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::MetadataBuilder b;
    b.module("sample.dll");
    b.assembly("sample");
    b.type_ref("System.Runtime.CompilerServices", "IAsyncStateMachine");
    b.type_ref("System.Runtime.CompilerServices", "AsyncStateMachineAttribute");
    b.type_def("", "<Module>", 1);
    b.type_def("Ns", "Plain", 1);
    b.type_def("Ns", "Outer`1", 5);
    b.type_def("", "<Run>d__0", 6, 3);
    b.type_def("", "<>c", 7, 3);
    b.method_def("Run", bytes_of({0x20, 1, 0x01, 0x10, 0x08}), 0x86, 1);
    b.method_def("get_Item", bytes_of({0x20, 1, 0x0e, 0x08}), 0x886, 2);
    b.method_def("op_Implicit", bytes_of({0x00, 1, 0x08, 0x0e}), 0x896, 2);
    b.method_def("Make", bytes_of({0x10, 1, 1, 0x01, 0x1e, 0}), 0x96, 2);
    b.method_def("Do", bytes_of({0x20, 1, 0x01, 0x1d, 0x13, 0}), 0x86, 2);
    b.method_def("MoveNext", bytes_of({0x20, 0, 0x01}), 0x1e6, 2);
    b.method_def("<Run>b__0_1", bytes_of({0x20, 1, 0x01, 0x0e}), 0x83, 2);
    b.param(2, 1, "value");
    b.interface_impl(4, 1 << 2 | 1);
    b.member_ref(2 << 3 | 1, ".ctor", bytes_of({0x20, 0, 0x01}));
    ByteWriter attribute;
    attribute.u16(1).u8(18).text("Ns.Plain+<Run>d__0").u16(0);
    b.custom_attribute(1 << 5, 1 << 3 | 3, attribute.bytes);
    b.nested(4, 2);
    b.nested(5, 2);
    b.generic_param(0, 3 << 1, "T");
    b.generic_param(0, 4 << 1 | 1, "TMake");
    blob_ = b.build();
    module_ = runtime_.module(blob_);
    plain_ = runtime_.method_table(module_, 2);
  }
  MethodNames names(NameOptions options = {}) { return MethodNames(runtime_.runtime(), options); }
  /// "raw | C#" of one MethodDesc.
  std::string both(Address md, NameOptions options = {}) {
    MethodNames n(runtime_.runtime(), options);
    const auto name = n.describe(md);
    if (!name) return "error " + std::to_string(static_cast<int>(name.error().code));
    return (*name)->raw_name + " | " + (*name)->name;
  }

  FakeRuntime runtime_;
  std::vector<std::byte> blob_;
  Address module_ = 0, plain_ = 0;
};

TEST_F(MethodNamesTest, PlainMembers) {
  EXPECT_EQ(both(runtime_.method_desc(plain_, 1)), "Ns.Plain.Run(Int32 ByRef) | Ns.Plain.Run(out int)");
  EXPECT_EQ(both(runtime_.method_desc(plain_, 2)), "Ns.Plain.get_Item(Int32) | Ns.Plain.this[int].get");
  EXPECT_EQ(both(runtime_.method_desc(plain_, 3)),
            "Ns.Plain.op_Implicit(System.String) | Ns.Plain.implicit operator int(string)");
}

TEST_F(MethodNamesTest, WithoutSignatures) {
  NameOptions options;
  options.signatures = false;
  EXPECT_EQ(both(runtime_.method_desc(plain_, 1), options), "Ns.Plain.Run(Int32 ByRef) | Ns.Plain.Run");
}

TEST_F(MethodNamesTest, CompilerMadeCodeGoesBackToItsMethod) {
  const Address machine = runtime_.method_table(module_, 4), closure = runtime_.method_table(module_, 5);
  EXPECT_EQ(both(runtime_.method_desc(machine, 6)), "Ns.Plain+<Run>d__0.MoveNext() | Ns.Plain.Run(out int) [async]");
  EXPECT_EQ(both(runtime_.method_desc(closure, 7)),
            "Ns.Plain+<>c.<Run>b__0_1(System.String) | Ns.Plain.Run(out int).lambda#1(string)");
}

TEST_F(MethodNamesTest, TypeArguments) {
  const Address vector = runtime_.method_table(module_, 0, kVector, plain_);
  const Address pointer = runtime_.type_desc(0x0f, plain_);
  const Address of_vector = runtime_.method_table(module_, 3, kInstance, runtime_.instance({vector}));
  const Address of_pointer = runtime_.method_table(module_, 3, kInstance, runtime_.instance({pointer}));
  const Address definition = runtime_.method_table(module_, 3, kDefinition, runtime_.instance({plain_}));
  EXPECT_EQ(both(runtime_.method_desc(of_vector, 5)),
            "Ns.Outer`1[[Ns.Plain[], sample]].Do(Ns.Plain[][]) | Ns.Outer<Plain[]>.Do(Plain[][])");
  EXPECT_EQ(both(runtime_.method_desc(of_pointer, 5)),
            "Ns.Outer`1[[Ns.Plain*, sample]].Do(Ns.Plain*[]) | Ns.Outer<Plain*>.Do(Plain*[])");
  EXPECT_EQ(both(runtime_.method_desc(definition, 5)), "Ns.Outer`1.Do(!0[]) | Ns.Outer<Plain>.Do(Plain[])");
}

TEST_F(MethodNamesTest, MethodArguments) {
  const Address matrix = runtime_.method_table(module_, 0, kArray, plain_);
  ByteWriter rest;
  rest.u64(0).u64(runtime_.handle_list({matrix})).u16(2).u16(1);
  EXPECT_EQ(both(runtime_.method_desc(plain_, 4, 5, rest)),
            "Ns.Plain.Make[[Ns.Plain[,], sample]](Ns.Plain[,]) | Ns.Plain.Make<Plain[,]>(Plain[,])");
}

TEST_F(MethodNamesTest, ArrayMethods) {
  const Address matrix = runtime_.method_table(module_, 0, kArray, plain_);
  const auto signature = bytes_of({0x20, 2, 0x13, 0, 0x08, 0x08});
  ByteWriter rest;
  rest.u64(runtime_.blob(signature)).u32(signature.size()).u32(0);
  // Slot 5 of the fake MethodDesc, 4 virtual methods: the second array method.
  EXPECT_EQ(both(runtime_.method_desc(matrix, 0, 4, rest)), "Ns.Plain[,].Set(Int32, Int32) | Plain[,].Set(int, int)");
}

TEST_F(MethodNamesTest, RanksOfArraysSince11LieInTheirBaseSize) {
  runtime_.layouts.algorithms.array_rank = ArrayRank::base_size;
  runtime_.layouts.method_table.base_size.offset = 4;
  runtime_.layouts.globals.array_base_size = {24, true};
  const auto signature = bytes_of({0x20, 2, 0x13, 0, 0x08, 0x08});
  const auto name_of = [&](std::uint32_t base_size) {
    runtime_.base_size = base_size;
    const Address type = runtime_.method_table(module_, 0, kArray, plain_);
    ByteWriter rest;
    rest.u64(runtime_.blob(signature)).u32(signature.size()).u32(0);
    return both(runtime_.method_desc(type, 0, 4, rest));
  };
  EXPECT_EQ(name_of(32), "Ns.Plain[*].Set(Int32, Int32) | Plain[].Set(int, int)");
  EXPECT_EQ(name_of(40), "Ns.Plain[,].Set(Int32, Int32) | Plain[,].Set(int, int)");
  EXPECT_EQ(name_of(48), "Ns.Plain[,,].Set(Int32, Int32) | Plain[,,].Set(int, int)");
  const std::string damaged = name_of(0xfffffff0);
  EXPECT_EQ(std::count(damaged.begin(), damaged.end(), ','), 2 * 31 + 2) << "as many as a type may have";
}

TEST_F(MethodNamesTest, DynamicMethods) {
  const auto signature = bytes_of({0x00, 1, 0x01, 0x0e});
  ByteWriter rest;
  rest.u64(runtime_.blob(signature)).u32(signature.size()).u32(0x4000).u64(runtime_.text("<odd> näme")).u64(0);
  EXPECT_EQ(both(runtime_.method_desc(plain_, 0, 7, rest)),
            "DynamicClass.<odd> näme(System.String) | <odd> näme(string) [dynamic]");
}

TEST_F(MethodNamesTest, BytesThatAreNoNameAreNotPrintedAsOne) {
  const auto signature = bytes_of({0x00, 1, 0x01, 0x0e});
  for (const std::string_view bytes : {"", "\x07", "odd\nname", "a\x7f", "\xc2\x9b", "\xe2\x80\xae", "\xc0\x80",
                                       "\x90\xd7\x55", "ok\xff", "\xed\xa0\x80"}) {
    ByteWriter rest;
    rest.u64(runtime_.blob(signature)).u32(signature.size()).u32(0x4000).u64(runtime_.text(std::string(bytes))).u64(0);
    EXPECT_EQ(names().describe(runtime_.method_desc(plain_, 0, 7, rest)).error().code, ErrorCode::malformed) << bytes;
  }
}

TEST_F(MethodNamesTest, WithoutASignatureTextIsANameOnlyIfItLooksLikeOne) {
  const auto described = [&](std::string_view text, const std::vector<std::byte>& signature) -> std::string {
    ByteWriter rest;
    rest.u64(runtime_.blob(signature)).u32(signature.size()).u32(0x4000).u64(runtime_.text(std::string(text))).u64(0);
    auto all = names();
    const auto name = all.describe(runtime_.method_desc(plain_, 0, 7, rest));
    return name ? (*name)->name : std::string();
  };
  const auto whole = bytes_of({0x00, 1, 0x01, 0x0e}), freed = bytes_of({0xff, 0xff, 0xff, 0xff});
  EXPECT_EQ(described("\\", whole), "\\(string) [dynamic]") << "somebody may call it so";
  EXPECT_EQ(described("\\", freed), "");
  EXPECT_EQ(described("9 lives", freed), "");
  EXPECT_EQ(described("Run", freed), "Run(?) [dynamic]");
}

TEST_F(MethodNamesTest, OnlyStubsOfOneMethodNameTheOneTheyWereMadeFor) {
  const auto signature = bytes_of({0x00, 0, 0x01});
  const Address target = runtime_.method_desc(plain_, 1), resolver = runtime_.place();
  const auto stub = [&](std::string_view name) {
    const Address chunk = runtime_.place();
    ByteWriter rest;
    rest.u64(runtime_.blob(signature)).u32(signature.size()).u32(0x8001).u64(runtime_.text(std::string(name)));
    rest.u64(resolver);
    FakeRuntime::write_method_desc(runtime_.memory, chunk, plain_, 0, 7, rest);
    runtime_.memory.add(resolver, ByteWriter().u64(1).u64(1).u64(chunk + 24).u64(target).bytes);
    return chunk + 24;
  };
  EXPECT_EQ(both(stub("IL_STUB_UnboxingStub")),
            "ILStubClass.IL_STUB_UnboxingStub() | [stub: unboxing] -> Ns.Plain.Run(out int)");
  // Shared by all methods with the same signature.
  EXPECT_EQ(both(stub("IL_STUB_PInvoke")), "ILStubClass.IL_STUB_PInvoke() | [stub: P/Invoke]()");
  EXPECT_EQ(both(stub("IL_STUB_ReversePInvoke")), "ILStubClass.IL_STUB_ReversePInvoke() | [stub: reverse P/Invoke]()");
  const Address unproved = stub("IL_STUB_UnboxingStub");  // a resolver that is not the stub's own
  runtime_.memory.add(resolver, ByteWriter().u64(1).u64(1).u64(unproved - 24).u64(target).bytes);
  EXPECT_EQ(both(unproved), "ILStubClass.IL_STUB_UnboxingStub() | [stub: unboxing]()");
}

TEST_F(MethodNamesTest, ContradictionsAreRefused) {
  const std::string mismatch = "error " + std::to_string(static_cast<int>(ErrorCode::mismatch));
  EXPECT_EQ(both(runtime_.method_desc(plain_, 5)), mismatch);  // a method of another type
  const Address bad = runtime_.place();
  runtime_.write_method_table(bad, module_, 2, 0, plain_, 0);  // its class does not point back
  EXPECT_NE(both(runtime_.method_desc(bad, 1)).find("error"), std::string::npos);
  EXPECT_NE(both(0).find("error"), std::string::npos);
  EXPECT_NE(both(0x100001).find("error"), std::string::npos);
  EXPECT_NE(both(0xdead0000).find("error"), std::string::npos);
}

TEST_F(MethodNamesTest, RowsBeyondTheSnapshotKeepTheirToken) {
  EXPECT_EQ(both(runtime_.method_desc(plain_, 99)), "sample!0x6000063 | sample!0x6000063");
}

TEST_F(MethodNamesTest, CyclesEnd) {
  const Address cyclic = runtime_.place();
  runtime_.memory.add(cyclic, ByteWriter().u32(0x0f).u32(0).u64(0).u64(cyclic + 2).bytes);
  const Address self = runtime_.place(), of_self = runtime_.method_table(module_, 3, kInstance, self);
  // An instantiation over itself, twice: exponential unless bounded.
  const Address list = runtime_.handle_list({of_self, of_self});
  runtime_.memory.add(self - 8, ByteWriter().u32(0).u16(1).u16(2).u64(list).bytes);
  EXPECT_NE(both(runtime_.method_desc(of_self, 5)).find("…"), std::string::npos);
  const Address of_cyclic = runtime_.method_table(module_, 3, kInstance, runtime_.instance({cyclic + 2}));
  EXPECT_FALSE(both(runtime_.method_desc(of_cyclic, 5)).empty());
}

TEST_F(MethodNamesTest, FreedWhileNamed) {
  const Address module = runtime_.module(blob_, true), table = runtime_.method_table(module, 2);
  const Address md = runtime_.method_desc(table, 1);
  memory::BufferMemory now = runtime_.memory;
  NameOptions options;
  options.fresh = &now;
  MethodNames n(runtime_.runtime(), options);
  const auto name = n.describe(md);
  ASSERT_TRUE(name);
  EXPECT_TRUE((*name)->is_collectible);
  EXPECT_FALSE((*name)->freed_while_named);
  n.new_capture();
  FakeRuntime::write_method_desc(now, md - 24, table, 2, 0, {});
  EXPECT_TRUE((*n.describe(md))->freed_while_named);
}

TEST_F(MethodNamesTest, TypesOfObjects) {
  auto n = names();
  EXPECT_EQ(n.type_name(plain_).value(), "Ns.Plain");
  const Address object = runtime_.place();
  runtime_.memory.add_value(object, plain_ | 1);  // the mark bit of a GC
  EXPECT_EQ(n.object_type_name(object, true).value(), "Ns.Plain");
  EXPECT_EQ(n.type_name(runtime_.method_table(module_, 0, kVector, plain_)).value(), "Plain[]");
  EXPECT_FALSE(n.type_name(0x123));
}

// Made at run time, one for each layout: no definition of its own, an EEClass that points at another of them.
TEST_F(MethodNamesTest, TypesOfContinuationsHaveTheNameOfTheirBase) {
  const Address ee_class = runtime_.place(), own = runtime_.place(), other = runtime_.place();
  const Address pointers = runtime_.place();
  const auto write = [&](Address at, Address parent) {
    ByteWriter t;
    t.u32(0x1000000).u32(48).u32(0).u16(4).u16(0).u64(parent).u64(module_).u64(0).u64(ee_class).u64(0).u64(0);
    runtime_.memory.add(at, t.bytes);
  };
  write(own, plain_);
  write(other, own);
  ByteWriter c;
  c.u64(0).u64(0).u64(other).u64(0);
  runtime_.memory.add(ee_class, c.bytes);
  runtime_.memory.add_value(pointers, std::array<std::uint64_t, 2>{plain_, ee_class});
  runtime_.layouts.method_table.parent.offset = 16;
  EXPECT_FALSE(names().type_name(own));  // which type is their base is not told
  runtime_.layouts.globals.continuation_method_table = {pointers, true};
  runtime_.layouts.globals.continuation_ee_class = {pointers + 8, true};
  EXPECT_EQ(names().type_name(own).value_or("none"), "Ns.Plain");
  write(own, own);
  EXPECT_FALSE(names().type_name(own));  // derives from another
}

TEST_F(MethodNamesTest, LongNamesAreCutWithAMark) {
  NameOptions options;
  options.max_name = 8;
  EXPECT_EQ(both(runtime_.method_desc(plain_, 1), options), "Ns.Plain… | Ns.Plain…");
}

}  // namespace
}  // namespace mixstack::dotnet::names
