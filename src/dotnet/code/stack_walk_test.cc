#include "dotnet/code/stack_walk.h"

#include "base/arch/context.h"
#include "base/system/byte_cursor.h"
#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

using test::DotnetCode;
using test::DotnetMemory;

constexpr Address kHeap = 0x7f1200000000, kHeapEnd = kHeap + 0x40000;
constexpr Address kFoo = kHeap + 0x100, kBar = kHeap + 0x1100, kMain = kHeap + 0x2100, kStub = kHeap + 0x3100;
constexpr Address kNative = 0x400100;
constexpr Address kStack = 0x7ffc00000000, kStackEnd = kStack + 0x10000;

// Methods with the prologue `push rbp; sub rsp,64` at kFoo, kBar, kMain and kStub.
struct Process {
  DotnetMemory t;
  DotnetCode code{t};
  ManagedThread thread;
  Registers registers{Arch::x86_64};

  explicit Process(const nlohmann::json& json = test::x64_descriptor()) : t(json) {
    code.add_heap(kHeap, kHeapEnd);
    for (const Address m : {kFoo, kBar, kMain, kStub})
      code.add_method(m, 0x400, m & 0xffff, {{0, 0x400, DotnetCode::push_rbp(64)}});
    t.memory.map(kStack, kStackEnd - kStack);
    thread.frame = ~Address{0};
    thread.stack = {kStack, kStackEnd};
    for (unsigned i = 0; i < x86_64_reg::count; i++) registers.set(i, 0x1000 + i);
  }
  void stand_at(Address pc, Address sp) {
    registers.set_pc(pc);
    registers.set_sp(sp);
  }
  // The frame of a method whose sp is `sp`: what lies behind its 64 bytes of locals.
  void put_return(Address sp, Address return_address, Address saved_rbp = 0x7777) {
    t.memory.put_u64(sp + 64, saved_rbp);
    t.memory.put_u64(sp + 72, return_address);
  }
  static constexpr Address kFrameSize = 80;
  void put_software_exception(Address at, Address pc, Address sp, Address next = ~Address{0}) {
    put_exception(at, FrameType::software_exception, t.layouts.software_exception_frame.target_context.offset, pc, sp,
                  next);
  }
  void put_exception(Address at, FrameType type, std::uint32_t context_at, Address pc, Address sp, Address next) {
    t.put_frame(at, type, next);
    Registers r(Arch::x86_64);
    for (unsigned i = 0; i < x86_64_reg::count; i++) r.set(i, 0x2000 + i);
    r.set_pc(pc);
    r.set_sp(sp);
    std::vector<std::byte> context(arch::context_layout(Arch::x86_64)->size);
    ASSERT_TRUE(arch::encode_context(r, context));
    t.memory.map(at + context_at, context.size());
    t.memory.put_bytes(at + context_at, context);
  }
  void put_inlined_call(Address at, Address pc, Address sp, Address fp, Address next = ~Address{0}) {
    const auto& l = t.layouts.inlined_call_frame;
    t.put_frame(at, FrameType::inlined_call, next);
    t.memory.put_u64(at + l.call_site_sp.offset, sp);
    t.memory.put_u64(at + l.caller_return_address.offset, pc);
    t.memory.put_u64(at + l.callee_saved_fp.offset, fp);
  }

  struct Element {
    StackWalkState state;
    Address pc, sp, frame, method;
    friend bool operator==(const Element&, const Element&) = default;
  };
  std::vector<Element> walk(Error* error = nullptr, std::vector<StackDataFrame>* handles = nullptr) {
    CodeManager manager(t.runtime(), t.contracts);
    StackWalkContract contract(manager, t.runtime());
    auto w = contract.create_stack_walk(thread, registers);
    std::vector<Element> all;
    while (w.next()) {
      const auto& c = w.current();
      all.push_back({c.state, c.context.pc(), c.context.sp(), StackWalkContract::frame_address(c),
                     contract.method_desc(c).value_or(1)});
      if (handles != nullptr) handles->push_back(c);
    }
    EXPECT_FALSE(w.next());
    if (error != nullptr) {
      *error = w.error();
    } else {
      EXPECT_EQ(w.error().code, ErrorCode::none) << static_cast<int>(w.error().code) << " " << w.error().value;
    }
    return all;
  }
};
using S = StackWalkState;

constexpr const char* kTen = "descriptor-linux-x64-10.0.12.json";
constexpr const char* kEleven = "descriptor-linux-x64-11.0.0.json";
class StackWalk : public ::testing::TestWithParam<const char*> {
 protected:
  static nlohmann::json descriptor() { return test::load_descriptor(GetParam()); }
  static bool has_datum() { return std::string_view(GetParam()) == kEleven; }
};
INSTANTIATE_TEST_SUITE_P(Releases, StackWalk, ::testing::Values(kTen, kEleven), test::release_of);

// "Simple Example": native <A>, managed <B>, native <C>; a SoftwareExceptionFrame holds <B>.
TEST_P(StackWalk, SimpleExampleOfTheDocument) {
  Process p(descriptor());
  constexpr Address a = kStack + 0x100, frame = kStack + 0x400, b = kStack + 0x4000, c = b + Process::kFrameSize;
  p.stand_at(kNative, a);
  p.thread.frame = frame;
  p.put_software_exception(frame, kFoo + 0x50, b);
  p.put_return(b, kNative + 8);
  std::vector<StackDataFrame> handles;
  const auto all = p.walk(nullptr, &handles);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], (Process::Element{S::frame, kNative, a, frame, 0}));
  EXPECT_EQ(all[1], (Process::Element{S::frameless, kFoo + 0x50, b, 0, kFoo & 0xffff}));
  EXPECT_EQ(handles[1].context.get(x86_64_reg::rbx), 0x2000u + x86_64_reg::rbx);
  EXPECT_FALSE(handles[1].context.is_known(x86_64_reg::rax));
  EXPECT_EQ(all[2], (Process::Element{S::native, kNative + 8, c, 0, 0}));
}

// "Skipped Frame Example": managed <A>, managed <B> with an InlinedCallFrame in its stack frame, native <C>.
TEST_P(StackWalk, SkippedFrameExampleOfTheDocument) {
  Process p(descriptor());
  constexpr Address a = kStack + 0x100, b = a + Process::kFrameSize, frame = b + 8;
  p.stand_at(kBar + 0x20, a);
  p.put_return(a, kFoo + 0x60);
  p.put_return(b, kNative + 8);
  p.thread.frame = frame;
  p.put_inlined_call(frame, kFoo + 0x60, b, 0x7777);
  const auto all = p.walk();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], (Process::Element{S::frameless, kBar + 0x20, a, 0, kBar & 0xffff}));
  EXPECT_EQ(all[1].state, S::skipped_frame);
  EXPECT_EQ(all[1].pc, kFoo + 0x60);
  EXPECT_EQ(all[1].frame, frame);
  EXPECT_EQ(all[2], (Process::Element{S::frameless, kFoo + 0x60, b, 0, kFoo & 0xffff}));
  EXPECT_EQ(all[3], (Process::Element{S::native, kNative + 8, b + Process::kFrameSize, 0, 0}));
}

TEST_P(StackWalk, ResumesFromAnInlinedCallFrameAndMeetsItAgainAsSkipped) {
  Process p(descriptor());
  constexpr Address b = kStack + 0x4000, frame = b + 8, marker = kStack + 0x6000;
  p.stand_at(kNative, kStack + 0x100);
  p.thread.frame = frame;
  p.put_inlined_call(frame, kFoo + 0x60, b, 0xfffe, marker);
  p.t.put_frame(marker, FrameType::debugger_u2m_catch_handler);
  p.put_return(b, kMain + 0x10);
  p.put_return(b + Process::kFrameSize, kNative + 8);
  std::vector<StackDataFrame> handles;
  const auto all = p.walk(nullptr, &handles);
  ASSERT_EQ(all.size(), 6u);
  // .NET 10 does not describe the Datum.
  EXPECT_EQ(all[0], (Process::Element{S::frame, kNative, kStack + 0x100, frame, has_datum() ? 0u : 1u}));
  EXPECT_EQ(all[1].state, S::skipped_frame);
  EXPECT_EQ(all[1].frame, frame);
  EXPECT_EQ(all[2], (Process::Element{S::frameless, kFoo + 0x60, b, 0, kFoo & 0xffff}));
  EXPECT_EQ(all[3], (Process::Element{S::frameless, kMain + 0x10, b + Process::kFrameSize, 0, kMain & 0xffff}));
  EXPECT_EQ(all[4].state, S::frame);
  EXPECT_EQ(all[4].frame, marker);
  EXPECT_EQ(all[4].pc, kNative + 8);
  // A Frame that says nothing of registers makes an element all the same when it has been used.
  EXPECT_EQ(all[5], (Process::Element{S::native, kNative + 8, b + 2 * Process::kFrameSize, 0, 0}));
  EXPECT_EQ(handles[0].context_frame, 0u);
  EXPECT_EQ(handles[1].context_frame, frame);
  EXPECT_EQ(handles[3].context_frame, 0u) << "by unwinding";
  // An InlinedCallFrame defines ip, sp and fp; the rest stays unknown until an unwind restores it.
  EXPECT_EQ(handles[2].context.fp(), 0xfffeu);
  EXPECT_FALSE(handles[2].context.is_known(x86_64_reg::rbx));
  EXPECT_EQ(handles[3].context.fp(), 0x7777u);
}

TEST_P(StackWalk, RawContextIsAWindowsContext) {
  Process p(descriptor());
  constexpr Address b = kStack + 0x4000, frame = b + 8;
  p.stand_at(kNative, kStack + 0x100);
  p.thread.frame = frame;
  p.put_inlined_call(frame, kFoo + 0x60, b, 0xfffe);
  p.put_return(b, 0);
  std::vector<StackDataFrame> handles;
  (void)p.walk(nullptr, &handles);
  ASSERT_GE(handles.size(), 3u);
  CodeManager manager(p.t.runtime(), p.t.contracts);
  StackWalkContract contract(manager, p.t.runtime());
  std::array<std::byte, 1232> raw{};
  ASSERT_EQ(contract.raw_context(handles[2], raw).value(), raw.size());
  const auto u64 = [&](std::size_t at) { return base::load_at<std::uint64_t>(raw, at).value(); };
  EXPECT_EQ(base::load_at<std::uint32_t>(raw, 0x30).value(), 0x10000bu);
  EXPECT_EQ(u64(0xf8), kFoo + 0x60);  // Rip
  EXPECT_EQ(u64(0x98), b);            // Rsp
  EXPECT_EQ(u64(0xa0), 0xfffeu);      // Rbp
  EXPECT_EQ(u64(0x90), 0u);           // Rbx: nobody knows it
  EXPECT_EQ(contract.raw_context(handles[2], std::span(raw).first(100)).error().value, 1232u);
  EXPECT_EQ(contract.frame_name(p.t.identifier(FrameType::hijack)), "HijackFrame");
  EXPECT_EQ(contract.frame_name(12345), "");
}

TEST_P(StackWalk, KeepsTheFlagsOfAStoredContext) {
  Process p(descriptor());
  constexpr Address b = kStack + 0x4000, frame = kStack + 0x1000;
  p.stand_at(kNative, kStack + 0x100);
  p.thread.frame = frame;
  p.t.put_frame(frame, FrameType::faulting_exception);
  Registers r(Arch::x86_64);
  r.set_pc(kFoo + 0x30);
  r.set_sp(b);
  r.set_fp(0x5555);
  std::vector<std::byte> context(1232);
  ASSERT_TRUE(arch::encode_context(r, context, 0x0810004f));
  constexpr std::size_t xmm0 = 0x1a0;
  for (std::size_t i = 0; i < 16; i++) context[xmm0 + i] = std::byte(0xa0 + i);
  p.t.memory.put_bytes(frame + p.t.layouts.faulting_exception_frame.target_context.offset, context);
  p.put_return(b, kMain + 0x10);
  p.put_return(b + Process::kFrameSize, 0);
  std::vector<StackDataFrame> handles;
  (void)p.walk(nullptr, &handles);
  ASSERT_EQ(handles.size(), 4u);
  EXPECT_FALSE(handles[1].pc_is_return_address);  // interrupted
  EXPECT_EQ(handles[1].context_flags, 0x0810000fu);
  EXPECT_EQ(handles[2].context_flags, 0x0810000fu);
  // The whole context of the Frame is handed on whole, but not for the caller, where its values are no longer valid.
  CodeManager manager(p.t.runtime(), p.t.contracts);
  StackWalkContract contract(manager, p.t.runtime());
  std::vector<std::byte> raw(context.size());
  ASSERT_TRUE(contract.raw_context(handles[1], raw));
  std::fill_n(context.begin() + 0x30, 4, std::byte{0});  // ContextFlags: XSTATE is cleared
  std::fill_n(raw.begin() + 0x30, 4, std::byte{0});
  EXPECT_EQ(raw, context);
  EXPECT_EQ(handles[1].context_frame, frame);
  ASSERT_TRUE(contract.raw_context(handles[2], raw));
  EXPECT_EQ(raw[xmm0], std::byte{0});
}

// ReportInteropMD: the IL stub's InlinedCallFrame, skipped, answers the method behind the Frame.
TEST_P(StackWalk, ReportsTheInteropMethodOfAStub) {
  auto json = descriptor();
  json["types"]["InlinedCallFrame"]["Datum"] = 16;
  Process p(json);
  auto& m = p.t.memory;
  const auto& l = p.t.layouts;
  // The stub's MethodDesc: dynamic, static IL stub, CLR to native.
  const Address stub_method = p.code.allocate(128);
  m.put_u16(stub_method + l.method_desc.flags.offset, 7);
  m.put_u32(stub_method + l.stored_sig_method_desc.extended_flags.offset, 0x9001);
  const auto header = m.read<std::uint64_t>(kStub - 8).value();
  m.put_u64(header + l.real_code_header.method_desc.offset, stub_method);
  constexpr Address b = kStack + 0x4000, frame = b + 0;
  p.stand_at(kNative, kStack + 0x100);
  p.thread.frame = frame;
  p.put_inlined_call(frame, kStub + 0x60, b, 0xfffe);
  p.t.put_pointer(frame + 56, 0x4444);
  p.put_return(b, 0);
  m.put_u64(frame + 56, 0x4444);
  const auto all = p.walk();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].method, 0u);  // at the Frame itself: its own datum
  EXPECT_EQ(all[1].state, S::skipped_frame);
  EXPECT_EQ(all[1].method, 0x4444u);  // skipped: the real method
  EXPECT_EQ(all[2].method, stub_method);
  m.put_u32(stub_method + l.stored_sig_method_desc.extended_flags.offset, 0x19001);  // a delegate's stub
  EXPECT_EQ(p.walk()[1].method, 0u);
}

// A stack overflow is handled on a stack of its own, above or below; the FaultingExceptionFrame lies there.
TEST_P(StackWalk, GoesOnFromTheHandlersStackOfAnOverflow) {
  for (const Address handlers : {kStack - 0x100000, kStackEnd + 0x100000}) {
    Process p(descriptor());
    constexpr Address b = kStack + 0x4000, c = b + Process::kFrameSize, other = c + 0x100;
    const auto context = p.t.layouts.faulting_exception_frame.target_context.offset;
    const Address fault = handlers + 0x400;
    p.stand_at(kNative, handlers + 0x100);
    p.thread.frame = fault;
    p.put_exception(fault, FrameType::faulting_exception, context, kFoo + 0x50, b, other);
    p.put_inlined_call(other, kMain + 0x60, other, 0xfffe);
    p.put_return(b, kBar + 0x20);
    p.put_return(c, kNative + 8);
    p.put_return(other, 0);
    const auto all = p.walk();
    ASSERT_GE(all.size(), 6u) << std::hex << handlers;
    EXPECT_EQ(all[0], (Process::Element{S::frame, kNative, handlers + 0x100, fault, 0}));
    EXPECT_EQ(all[1], (Process::Element{S::frameless, kFoo + 0x50, b, 0, kFoo & 0xffff}));
    EXPECT_EQ(all[2].pc, kBar + 0x20);
    EXPECT_EQ(all[3], (Process::Element{S::frame, kNative + 8, c + Process::kFrameSize, other, all[3].method}));
    EXPECT_EQ(all.back().pc, 0u);
    // No other Frame may lie elsewhere, nor this one behind another.
    p.t.put_frame(fault, FrameType::debugger_exit, other);
    Error error;
    EXPECT_EQ(p.walk(&error).size(), 0u);
    EXPECT_EQ(error.code, ErrorCode::malformed);
    p.put_inlined_call(other, kMain + 0x60, other, 0xfffe, fault);
    p.thread.frame = other;
    (void)p.walk(&error);
    EXPECT_EQ(error.code, ErrorCode::malformed);
  }
}

TEST_P(StackWalk, FollowsTheTrueReturnAddressOfAHijackedFrame) {
  Process p(descriptor());
  constexpr Address b = kStack + 0x4000, slot = b + 72;
  p.stand_at(kFoo + 0x20, b);
  p.put_return(b, kNative);  // the hijack stub
  p.put_return(b + Process::kFrameSize, kNative + 8);
  p.thread.hijacked_slot = slot;
  p.thread.hijacked_return = kMain + 0x10;
  auto all = p.walk();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1], (Process::Element{S::frameless, kMain + 0x10, b + Process::kFrameSize, 0, kMain & 0xffff}));
  // A slot elsewhere changes nothing.
  p.thread.hijacked_slot = slot + 8;
  EXPECT_EQ(p.walk()[1].pc, kNative);
}

TEST_P(StackWalk, IsLazy) {
  Process p(descriptor());
  p.stand_at(kFoo + 0x20, 0x1);  // its stack cannot be read
  CodeManager manager(p.t.runtime(), p.t.contracts);
  StackWalkContract contract(manager, p.t.runtime());
  auto w = contract.create_stack_walk(p.thread, p.registers);
  EXPECT_TRUE(w.next());
  EXPECT_EQ(w.current().state, S::frameless);
  EXPECT_FALSE(w.next());
  EXPECT_NE(w.error().code, ErrorCode::none);
}

TEST_P(StackWalk, HostileStacksEnd) {
  Process p(descriptor());
  constexpr Address b = kStack + 0x4000;
  // A Frame list that turns back, with no way to managed code.
  p.stand_at(kNative, kStack);
  p.thread.frame = kStack + 0x100;
  p.t.put_frame(kStack + 0x100, FrameType::debugger_exit, kStack + 0x200);
  p.t.put_frame(kStack + 0x200, FrameType::debugger_exit, kStack + 0x100);
  Error error;
  EXPECT_EQ(p.walk(&error).size(), 2u);
  EXPECT_EQ(error.code, ErrorCode::malformed);
  // Frames of a method whose caller it is itself, for ever: sp rises, so the stack's end ends it.
  p.thread.frame = ~Address{0};
  p.stand_at(kFoo + 0x20, b);
  for (Address sp = b; sp + 80 <= kStackEnd; sp += 80) p.put_return(sp, kFoo + 0x20);
  EXPECT_GT(p.walk(&error).size(), 500u);
  EXPECT_EQ(error.code, ErrorCode::unreadable_memory);
  // A Frame that leads back down the stack.
  p.stand_at(kNative, kStack);
  p.thread.frame = kStack + 0x100;
  p.put_inlined_call(kStack + 0x100, kFoo + 0x20, 0, 0);
  EXPECT_LE(p.walk(&error).size(), 4u);
  EXPECT_NE(error.code, ErrorCode::none);
  // An InlinedCallFrame above the frame it leads to: met again and again.
  p.stand_at(kNative, kStack);
  p.thread.frame = kStack + 0x5000;
  p.put_inlined_call(kStack + 0x5000, kFoo + 0x20, kStack + 0x200, 0);
  p.put_return(kStack + 0x200, kNative);
  EXPECT_EQ(p.walk(&error).size(), 3u);
  EXPECT_EQ(error.code, ErrorCode::stack_not_advancing);
  // No Frames, native code: the thread's own context and no more.
  p.thread.frame = ~Address{0};
  p.stand_at(kNative, kStack);
  ASSERT_EQ(p.walk().size(), 1u);
  EXPECT_EQ(p.walk()[0].state, S::native);
}

// Where calls leave the return address in a register, a method that was interrupted before its prologue has its
// caller's sp: that is no walk that stands still.
TEST_P(StackWalk, AnInterruptedMethodOfArm64MayHaveItsCallersStack) {
  DotnetMemory t(has_datum() ? test::load_descriptor("descriptor-linux-arm64-11.0.0.json") : test::arm64_descriptor());
  DotnetCode code(t);
  code.add_heap(kHeap, kHeapEnd);
  // stp x29, x30, [sp, #-64]!; mov x29, sp
  const std::vector<std::uint8_t> unwind = {0x00, 0x01, 0x20, 0x08, 0xe1, 0x87, 0xe4, 0xe3};
  for (const Address m : {kFoo, kMain}) code.add_method(m, 0x400, m & 0xffff, {{0, 0x400, unwind}});
  constexpr Address sp = kStack + 0x400;
  t.memory.map(kStack, kStackEnd - kStack);
  t.memory.put_u64(sp, 0x7777);
  t.memory.put_u64(sp + 8, kNative);
  ManagedThread thread;
  thread.frame = ~Address{0};
  thread.stack = {kStack, kStackEnd};
  Registers registers(Arch::aarch64);
  for (unsigned i = 0; i < 31; i++) registers.set(i, 0x1000 + i);
  registers.set(30, kMain + 0x20);
  registers.set(29, sp);
  registers.set_pc(kFoo);
  registers.set_sp(sp);
  CodeManager manager(t.runtime(), t.contracts);
  StackWalkContract contract(manager, t.runtime());
  auto walk = contract.create_stack_walk(thread, registers);
  std::vector<std::pair<Address, Address>> places;
  while (walk.next()) places.emplace_back(walk.current().context.pc(), walk.current().context.sp());
  EXPECT_EQ(walk.error().code, ErrorCode::none);
  EXPECT_EQ(places, (std::vector<std::pair<Address, Address>>{{kFoo, sp}, {kMain + 0x20, sp}, {kNative, sp + 64}}));
}

}  // namespace
}  // namespace mixstack::dotnet
