// GetExactGenericArgsToken of the StackWalk contract, over hand-made code and types.
#include "dotnet/code/generic_context.h"

#include "dotnet/code/stack_walk.h"
#include "support/dotnet_memory.h"
#include "support/gc_info_bits.h"

namespace mixstack::dotnet {
namespace {

using test::DotnetCode;
using test::DotnetMemory;
using Kind = GenericContextKind;

constexpr Address kHeap = 0x7f1200000000, kHeapEnd = kHeap + 0x40000, kCode = kHeap + 0x100;
constexpr Address kTypes = 0x100000, kObject = 0x180000, kBase = 0x7ffc00001000;
constexpr std::uint32_t kLength = 0x400, kPrologue = 16;
constexpr std::uint32_t kReference = 0x01000000, kOne = 0x10, kShared = 0x20;

/// A method of List<__Canon> that keeps its context at [rbp-8].
struct Process {
  DotnetMemory t;
  DotnetCode code{t};
  Address next = kTypes, list = 0, list_of_order = 0, derived = 0, method = 0;
  StackDataFrame frame;

  explicit Process(Kind kind, bool is_shared = true) {
    t.memory.map(kTypes, 0x40000);
    t.memory.map(kObject, 0x1000);
    t.memory.map(kBase - 0x1000, 0x2000);
    list = type(kReference | (is_shared ? kShared : kOne));
    list_of_order = type(kReference | kOne, list);
    derived = type(kReference, 0, list_of_order);
    const Layouts& l = t.layouts;
    const Address chunk = std::exchange(next, next + 0x400);
    method = chunk + l.method_desc_chunk.size;
    t.memory.put_u64(chunk + l.method_desc_chunk.method_table.offset, list);
    t.memory.put_u16(method + l.method_desc.flags3_and_token_remainder.offset, 7);
    code.add_heap(kHeap, kHeapEnd);
    code.add_method(kCode, kLength, method, {{0, kLength, DotnetCode::push_rbp(64)}});
    const Address header = t.memory.read<std::uint64_t>(kCode - 8).value_or(0), info = code.allocate(64);
    t.memory.put_u64(header + l.real_code_header.gc_info.offset, info);
    t.memory.put_bytes(info, gc_info(kind));
    frame.state = StackWalkState::frameless;
    frame.context = Registers(Arch::x86_64);
    frame.context.set_pc(kCode + 0x80);
    frame.context.set_sp(kBase - 0x40);
    frame.context.set(x86_64_reg::rbp, kBase);
    frame.pc_is_return_address = true;
  }
  Address type(std::uint32_t flags, Address canonical = 0, Address parent = 0) {
    const MethodTableLayout& l = t.layouts.method_table;
    const Address at = std::exchange(next, next + 0x400), of_class = at + 0x200;
    t.memory.put_u32(at + l.flags.offset, flags);
    t.memory.put_u64(at + l.parent.offset, parent);
    t.memory.put_u64(at + l.ee_class_or_canon.offset, canonical != 0 ? canonical | 1 : of_class);
    t.memory.put_u64(of_class + t.layouts.ee_class.method_table.offset, at);
    return at;
  }
  static std::vector<std::byte> gc_info(Kind kind) {
    const std::uint64_t number = kind == Kind::type ? 1 : kind == Kind::method_desc ? 2 : 3;
    test::GcInfoBits bits;
    bits.put(1, 1).put(0x40 | number << 4, 10).number(kLength, 8).number(kPrologue - 1, 5);
    bits.put(0x3f, 6).put(0, 1).number(0, 3).number(0, 3).number(0, 2).number(0, 1).put(0, 2);
    return bits.bytes();
  }
  void put_context(Address word) { t.memory.put_u64(kBase - 8, word); }
  Result<Address> token() {
    CodeManager manager(t.runtime(), t.contracts);
    return StackWalkContract(manager, t.runtime()).exact_generic_args_token(frame);
  }
};

TEST(ExactGenericArgsToken, IsTheTypeThatIsKept) {
  Process p(Kind::type);
  p.put_context(p.list_of_order);
  EXPECT_EQ(p.token(), p.list_of_order);
  p.put_context(p.derived);
  EXPECT_EQ(p.token().error(), (Error{ErrorCode::mismatch, 0, p.derived})) << "of another class";
  p.put_context(0);
  EXPECT_EQ(p.token().error().code, ErrorCode::not_found);
}

TEST(ExactGenericArgsToken, OfThisIsTheTypeOfTheObject) {
  Process p(Kind::this_object);
  p.put_context(kObject);
  p.t.memory.put_u64(kObject, p.derived | 1);  // marked by a collection
  EXPECT_EQ(p.token(), p.derived) << "also where it derives from the method's class";
  p.t.memory.put_u64(kObject, p.list_of_order);
  EXPECT_EQ(p.token(), p.list_of_order);
  p.put_context(0x10);
  EXPECT_FALSE(p.token());
}

TEST(ExactGenericArgsToken, WhereItIsNotApplicable) {
  Process p(Kind::type);
  p.put_context(p.list_of_order);
  p.frame.context.set_pc(kCode + kPrologue - 4);
  EXPECT_EQ(p.token().error().code, ErrorCode::not_found) << "not kept yet";
  p.frame.context.set_pc(kCode + 0x80);
  p.frame.context.forget(x86_64_reg::rbp);
  EXPECT_EQ(p.token().error().code, ErrorCode::not_found);
  p.frame.state = StackWalkState::frame;
  EXPECT_EQ(p.token().error().code, ErrorCode::not_found);
  Process not_shared(Kind::type, false);
  not_shared.put_context(not_shared.list_of_order);
  EXPECT_EQ(not_shared.token().error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace mixstack::dotnet
