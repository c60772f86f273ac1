// Arguments of frames, by a method, its debug information and its stack laid out by hand (.NET 10, x64).
#include "dotnet/heap/argument_values.h"

#include <gtest/gtest.h>

#include "support/fake_runtime_async.h"
#include "support/nibbles.h"

namespace mixstack::dotnet::objects {
namespace {

using test::nibbles;

/// Shop.Cart.Add(int count, object item): `this` in rbx, count at [rbp - 16], item in rdi.
class FakeCart : public test::FakeRuntimeAsync {
 public:
  static constexpr Address kStack = 0x7d0000000000, kRbp = kStack + 0x80;

  FakeCart() {
    test::MetadataBuilder b = library("cart.dll", "cart");
    b.type_with_fields("Shop", "Cart", 1, 1);
    b.method_def("Add", test::bytes_of({0x20, 2, 0x01, 0x08, 0x1c}));
    const Address of = module(b.build());
    cart = type(of, 2, object_type, 24, 0, 0, {});
    code = method(cart, 1).code;
    method_desc = last_method_desc();
    memory.map(kStack, 0x100);
    layouts.real_code_header.debug_info = {0};  // .NET 10: of the supplement
    set_variables(nibbles({3, 0, 0x40, 4, 0, 3, 0, 0x40, 5, 3, 5, 33, 0, 0x40, 6, 0, 7}));
  }
  void set_variables(const std::vector<std::byte>& variables, std::uint32_t told_size = 0) {
    std::vector<std::byte> blob{std::byte{0}};
    const auto sizes = nibbles({0, told_size == 0 ? static_cast<std::uint32_t>(variables.size()) : told_size});
    blob.insert(blob.end(), sizes.begin(), sizes.end());
    blob.insert(blob.end(), variables.begin(), variables.end());
    const Address at = place(blob.size());
    memory.put_bytes(at, blob);
    const Address header = memory.read<std::uint64_t>(code - 8).value_or(0);
    memory.put_u64(header + layouts.real_code_header.debug_info.offset, at);
  }
  Address cart = 0, code = 0, method_desc = 0;
};

class ArgumentValues : public ::testing::Test {
 protected:
  ArgumentValues() {
    cart_ = heap_.object(heap_.cart, 8);
    frame_.pc = CodeAddress::after_call(heap_.code + 0x20);
    frame_.kind = FrameKind::managed;
    frame_.trust = Trust::certain;
    frame_.method = heap_.method_desc;
    registers_.set(x86_64_reg::rbx, cart_);
    registers_.set(x86_64_reg::rdi, cart_);
    registers_.set(x86_64_reg::rbp, FakeCart::kRbp);
    heap_.memory.put_u32(FakeCart::kRbp - 16, 5);
  }
  std::vector<ProgramValue> values(AddressRange steady = {FakeCart::kStack, FakeCart::kStack + 0x100}) {
    names::MethodNames names(heap_.runtime(), {});
    LoadedTypes types(heap_.runtime(), names);
    ManagedObjects objects(types);
    CodeManager code(heap_.runtime(), heap_.contracts);
    auto told = Arguments(objects, code, names, {}).of({&frame_, has_registers_ ? &registers_ : nullptr, steady});
    return told ? std::move(*told) : std::vector<ProgramValue>{};
  }
  [[nodiscard]] bool is_all_gone() {
    const auto all = values();
    return all.size() == 3 && std::all_of(all.begin(), all.end(), [](const ProgramValue& value) {
             return value.state == ValueState::not_kept;
           });
  }

  FakeCart heap_;
  Frame frame_;
  Registers registers_{Arch::x86_64};
  bool has_registers_ = true;
  Address cart_ = 0;
};

TEST_F(ArgumentValues, ARegisterThatTheCalleeKeepsAndTheStackTell) {
  const auto all = values();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ((std::tuple{all[0].name, all[0].state, all[0].type, all[0].object}),
            (std::tuple{"this", ValueState::told, "Shop.Cart", cart_}));
  EXPECT_EQ((std::tuple{all[1].name, all[1].state, all[1].type, all[1].text}),
            (std::tuple{"#1", ValueState::told, "int", "5"}));
  EXPECT_EQ(all[2].state, ValueState::not_kept) << "rdi is whatever the callee left there";
  EXPECT_EQ(all[2].object, 0u);
}

TEST_F(ArgumentValues, OnlyWhatWasCopiedIsRead) {
  const auto all = values({FakeCart::kRbp, FakeCart::kRbp + 8});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].state, ValueState::not_kept) << "the running thread may have written there since";
}

TEST_F(ArgumentValues, AGuessedFrameHasNoValues) {
  for (const Trust trust : {Trust::inferred, Trust::frame_pointer}) {
    frame_.trust = trust;
    EXPECT_TRUE(is_all_gone());
  }
  frame_.trust = Trust::certain;
  has_registers_ = false;
  EXPECT_TRUE(is_all_gone());
}

TEST_F(ArgumentValues, WhereItRunsNothingIsArrangedUnlessTheMapSaysSo) {
  frame_.pc = CodeAddress::exact(heap_.code + 0x20);
  EXPECT_TRUE(is_all_gone()) << "it may be in its prologue";
}

TEST_F(ArgumentValues, AVariableMustLiveOnBehindTheCall) {
  heap_.set_variables(nibbles({2, 0, 0x20, 4, 0, 3, 0, 0x40, 5, 3, 5, 33}));
  const auto all = values();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].state, ValueState::not_kept) << "its last use was the call";
  EXPECT_EQ(all[1].text, "5");
}

TEST_F(ArgumentValues, AnotherMethodsCodeTellsNothing) {
  frame_.method = heap_.method_desc;
  frame_.pc = CodeAddress::after_call(heap_.read_row_stub() + 0x10);
  EXPECT_TRUE(is_all_gone());
  frame_.method = 0;
  EXPECT_TRUE(values().empty()) << "its parameters are not known";
}

TEST_F(ArgumentValues, HostileRegistersAndTablesAreNoValues) {
  for (const std::uint64_t word : {0x1001ull, 0xffff'ffff'ffff'ffffull, 0x7d0000000010ull}) {
    registers_.set(x86_64_reg::rbx, word);
    const auto all = values();
    ASSERT_EQ(all.size(), 3u);
    EXPECT_NE(all[0].state, ValueState::told) << std::hex << word;
  }
  registers_.set(x86_64_reg::rbp, 8);  // [rbp - 16] wraps around
  EXPECT_EQ(values().at(1).state, ValueState::not_kept);
  heap_.set_variables(nibbles({3, 0, 0x40, 4, 0, 3}));
  EXPECT_TRUE(is_all_gone()) << "more rows than there are";
  heap_.set_variables(nibbles({0}), 0xffffff);
  EXPECT_TRUE(is_all_gone()) << "a size that no method has";
}

}  // namespace
}  // namespace mixstack::dotnet::objects
