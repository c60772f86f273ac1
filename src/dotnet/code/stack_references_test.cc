#include "dotnet/code/stack_references.h"

#include "dotnet/code/gc_ref_map.h"
#include "dotnet/code/stack_walk.h"
#include "support/dotnet_memory.h"
#include "support/gc_info_bits.h"

namespace mixstack::dotnet {
namespace {

using test::DotnetCode;
using test::DotnetMemory;
using Source = ReferenceSource;
using Gap = ReferenceGap;
using namespace x86_64_reg;

constexpr Address kHeap = 0x7f1200000000, kHeapEnd = kHeap + 0x40000;
constexpr Address kFoo = kHeap + 0x100, kBar = kHeap + 0x1100, kMain = kHeap + 0x2100;
constexpr Address kStack = 0x7ffc00000000, kStackEnd = kStack + 0x10000, kThread = 0x5000, kNative = 0x400100;
constexpr std::uint32_t kLength = 0x400, kFunclet = 0x300;  // where the funclet of each method begins
constexpr Address kFrameSize = 80;                          // 64 bytes, rbp, the return address

/// Three methods with the prologue `push rbp; sub rsp,64`, and a funclet each. At the call at 0x50 of the method and at
/// 0x350 in the funclet, rbx, rdx and [rbp-8] are live, and [rsp+8], which is the callee's; [rbp-16] is untracked.
struct Process {
  DotnetMemory t;
  DotnetCode code{t};
  ManagedThread thread;
  Registers registers{Arch::x86_64};

  explicit Process(const char* descriptor = "descriptor-linux-x64-11.0.0.json") : t(test::load_descriptor(descriptor)) {
    code.add_heap(kHeap, kHeapEnd);
    for (const Address m : {kFoo, kBar, kMain}) {
      code.add_method(m, kLength, m & 0xffff,
                      {{0, kFunclet, DotnetCode::push_rbp(64)}, {kFunclet, 0x100, DotnetCode::push_rbp(64)}});
      const Address header = t.memory.read<std::uint64_t>(m - 8).value_or(0), info = code.allocate(64);
      t.memory.put_u64(header + t.layouts.real_code_header.gc_info.offset, info);
      t.memory.put_bytes(info, gc_info());
    }
    t.memory.map(kStack, kStackEnd - kStack);
    t.memory.map(kThread, 0x1000);
    thread.address = kThread;
    thread.frame = ~Address{0};
    thread.stack = {kStack, kStackEnd};
    for (unsigned i = 0; i < x86_64_reg::count; i++) registers.set(i, 0x1000 + i);
  }
  static std::vector<std::byte> gc_info() {
    test::GcInfoBits bits;
    bits.put(1, 1).put(0x40, 10).number(kLength, 8).number(0, 3).number(2, 3).number(2, 2).number(0, 1);
    bits.put(0x50, 10).put(0x350, 10);
    bits.put(1, 1).number(2, 2).put(1, 1).number(2, 2).number(1, 1);
    bits.number(2, 3).put(0, 2).number(0, 2);                                          // rdx, rbx
    bits.put(1, 2).number(1, 6).put(1, 2).put(2, 2).put(0x3f, 6).put(0, 1).put(0, 2);  // [rsp+8] interior, [rbp-8]
    bits.put(2, 2).put(0x3e, 6).put(0, 1).put(2, 2);                                   // untracked: [rbp-16], pinned
    bits.put(0, 1).put(0xf, 4).put(0xf, 4);
    return bits.bytes();
  }
  void stand_at(Address pc, Address sp, Address base) {
    registers.set_pc(pc);
    registers.set_sp(sp);
    registers.set(rbp, base);
  }
  /// The return address of the frame at `sp`, and rbp there.
  void put_return(Address sp, Address return_address, Address base) {
    t.memory.put_u64(sp + 64, base);
    t.memory.put_u64(sp + 72, return_address);
  }
  StackReferences look() {
    CodeManager manager(t.runtime(), t.contracts);
    return StackWalkContract(manager, t.runtime()).walk_stack_references(thread, registers);
  }
};

/// The places by sp.
std::vector<std::pair<Address, Address>> places(const StackReferences& found) {
  std::vector<std::pair<Address, Address>> all;
  for (const StackReference& r : found.references) all.emplace_back(r.sp, r.slot != 0 ? r.slot : r.reg);
  return all;
}
bool has_gap(const StackReferences& found, Gap gap) {
  return std::any_of(found.gaps.begin(), found.gaps.end(), [&](const ReferenceDiagnosis& g) { return g.gap == gap; });
}

TEST(StackReferences, OfCallersOnlyWhatACalleeKeeps) {
  Process p;
  constexpr Address a = kStack + 0x100, b = a + kFrameSize, base_a = a + 0x30, base_b = b + 0x30;
  p.stand_at(kFoo + 0x50, a, base_a);
  p.put_return(a, kBar + 0x50, base_b);
  p.put_return(b, kNative, 0);
  p.t.memory.put_u64(base_a - 8, 0xaaaa);
  p.t.memory.put_u64(base_b - 16, 0xbbbb);
  const StackReferences found = p.look();
  EXPECT_EQ(places(found), (std::vector<std::pair<Address, Address>>{{a, rdx},
                                                                     {a, rbx},
                                                                     {a, a + 8},
                                                                     {a, base_a - 8},
                                                                     {a, base_a - 16},
                                                                     {b, rbx},
                                                                     {b, base_b - 8},
                                                                     {b, base_b - 16}}));
  EXPECT_EQ(found.references[0].object, 0x1000u + rdx);
  EXPECT_TRUE(found.references[2].is_interior);
  EXPECT_EQ(found.references[3].object, 0xaaaau);
  EXPECT_EQ(found.references[3].pc, kFoo + 0x50);
  EXPECT_FALSE(found.references[3].is_pinned);
  EXPECT_EQ(found.references[7].object, 0xbbbbu);
  EXPECT_TRUE(found.references[7].is_pinned);
  EXPECT_EQ(found.references[7].pc, kBar + 0x50);
  EXPECT_TRUE(found.gaps.empty());
}

TEST(StackReferences, AMethodIsNotToldBesideItsFunclet) {
  Process p;
  // A funclet of Bar, behind it Foo, which has thrown, behind that another call of Bar, and the one whose funclet it
  // is.
  constexpr Address a = kStack + 0x100, b = a + kFrameSize, c = b + kFrameSize, d = c + kFrameSize, e = d + kFrameSize;
  constexpr Address base = d + 0x30;
  p.stand_at(kBar + 0x350, a, base);
  p.put_return(a, kFoo + 0x50, b + 0x30);
  p.put_return(b, kBar + 0x50, c + 0x30);
  p.put_return(c, kBar + 0x50, base);
  p.put_return(d, kMain + 0x50, e + 0x30);
  p.put_return(e, kNative, 0);
  StackReferences found = p.look();
  std::vector<Address> sps;
  for (const StackReference& r : found.references)
    if (sps.empty() || sps.back() != r.sp) sps.push_back(r.sp);
  EXPECT_EQ(sps, (std::vector<Address>{a, e}));
  EXPECT_EQ(found.references[3].slot, base - 8) << "the funclet tells its method's slots";
  EXPECT_FALSE(has_gap(found, Gap::parent_of_funclet));
  p.put_return(c, kNative, 0);
  found = p.look();
  EXPECT_TRUE(has_gap(found, Gap::parent_of_funclet)) << "there is none";
}

TEST(StackReferences, WhereNothingIsToldItSaysSo) {
  Process p;
  constexpr Address a = kStack + 0x100;
  p.stand_at(kFoo + 0x51, a, a + 0x30);
  p.put_return(a, kNative, 0);
  StackReferences found = p.look();
  ASSERT_EQ(found.references.size(), 1u);
  EXPECT_EQ(found.references[0].slot, a + 0x30 - 16) << "untracked";
  EXPECT_TRUE(has_gap(found, Gap::no_safe_point));
  const Address header = p.t.memory.read<std::uint64_t>(kFoo - 8).value_or(0);
  p.t.memory.put_u64(header + p.t.layouts.real_code_header.gc_info.offset, 0);
  found = p.look();
  EXPECT_TRUE(found.references.empty());
  EXPECT_TRUE(has_gap(found, Gap::gc_info));
}

TEST(StackReferences, ASlotThatCannotBeRead) {
  Process p;
  constexpr Address a = kStack + 0x100;
  p.stand_at(kFoo + 0x50, a, 0x10);
  p.put_return(a, kNative, 0);
  const StackReferences found = p.look();
  EXPECT_EQ(found.references.size(), 3u);
  ASSERT_EQ(found.gaps.size(), 2u);
  EXPECT_EQ(found.gaps[0].gap, Gap::slot);
  EXPECT_EQ(found.gaps[0].error, (Error{ErrorCode::unreadable_memory, 0, 8}));
}

/// A thread in native code, with a Frame whose block of registers lies at `block`.
struct FrameProcess : Process {
  static constexpr Address kFrame = kStack + 0x400, kBlock = kStack + 0x800;
  explicit FrameProcess(FrameType type) {
    stand_at(kNative, kStack + 0x100, 0);
    thread.frame = kFrame;
    t.put_frame(kFrame, type);
    t.memory.put_u64(kFrame + t.layouts.framed_method_frame.transition_block.offset, kBlock);
    t.memory.put_u64(kBlock + t.layouts.transition_block.return_address.offset, kNative);
  }
};

TEST(StackReferences, ArgumentsOfHelpersByTheFramesFlags) {
  FrameProcess p(FrameType::dynamic_helper);
  const Field& flags = p.t.layouts.dynamic_helper_frame.flags;
  const Address first = FrameProcess::kBlock + p.t.layouts.transition_block.argument_registers.offset;
  p.t.memory.put_u64(first, 0x111);
  p.t.memory.put_u64(first + 8, 0x222);
  for (const std::uint32_t bits : {0u, 1u, 2u, 3u}) {
    p.t.memory.put_u32(FrameProcess::kFrame + flags.offset, bits);
    const StackReferences found = p.look();
    std::vector<Address> objects;
    for (const StackReference& r : found.references) objects.push_back(r.object);
    std::vector<Address> expected;
    if ((bits & 1) != 0) expected.push_back(0x111);
    if ((bits & 2) != 0) expected.push_back(0x222);
    EXPECT_EQ(objects, expected);
    for (const StackReference& r : found.references) {
      EXPECT_EQ(r.source, Source::explicit_frame);
      EXPECT_EQ(r.frame, FrameProcess::kFrame);
    }
    EXPECT_TRUE(found.gaps.empty());
  }
}

TEST(StackReferences, WhatAFrameIsNotUnderstoodInIsSaid) {
  FrameProcess dispatch(FrameType::stub_dispatch);
  StackReferences found = dispatch.look();
  ASSERT_EQ(found.references.size(), 1u) << "`this`";
  EXPECT_EQ(found.references[0].slot,
            FrameProcess::kBlock + dispatch.t.layouts.transition_block.argument_registers.offset);
  EXPECT_TRUE(has_gap(found, Gap::arguments));
  FrameProcess unknown(FrameType::protect_value_class);
  found = unknown.look();
  EXPECT_TRUE(found.references.empty());
  EXPECT_TRUE(unknown.t.identifier(FrameType::protect_value_class) == 0 || has_gap(found, Gap::frame_kind));
}

TEST(StackReferences, GcFramesAndExceptions) {
  Process p;
  p.stand_at(kNative, kStack + 0x100, 0);
  const GcFrameLayout& l = p.t.layouts.gc_frame;
  constexpr Address first = kStack + 0x1000, second = kStack + 0x1100, objects = kStack + 0x1200;
  p.t.memory.put_u64(kThread + p.t.layouts.thread.gc_frame.offset, first);
  for (const auto& [at, next, count, flags] : {std::tuple{first, second, 2u, 0u}, {second, Address{0}, 1u, 1u}}) {
    p.t.memory.put_u64(at + l.next.offset, next);
    p.t.memory.put_u64(at + l.references.offset, objects);
    p.t.memory.put_u32(at + l.count.offset, count);
    p.t.memory.put_u32(at + l.flags.offset, flags);
  }
  p.t.memory.put_u64(objects, 0x333);
  constexpr Address exception = kStack + 0x2000;
  p.thread.exception_tracker = exception;
  p.t.memory.put_u64(exception + p.t.layouts.exception_info.thrown_object.offset, 0x444);
  StackReferences found = p.look();
  ASSERT_EQ(found.references.size(), 4u);
  EXPECT_EQ(found.references[0].object, 0x333u);
  EXPECT_EQ(found.references[0].source, Source::gc_frame);
  EXPECT_EQ(found.references[1].slot, objects + 8);
  EXPECT_EQ(found.references[2].frame, second);
  EXPECT_TRUE(found.references[2].is_interior);
  EXPECT_EQ(found.references[3].object, 0x444u);
  EXPECT_EQ(found.references[3].source, Source::exception);
  EXPECT_TRUE(found.gaps.empty());
  // A list that goes round ends.
  p.t.memory.put_u64(second + l.next.offset, first);
  found = p.look();
  EXPECT_TRUE(has_gap(found, Gap::gc_frames));
}

/// Counts how often it is asked.
class CountedMemory final : public MemoryReader {
 public:
  explicit CountedMemory(const MemoryReader& memory) : memory_(memory) {}
  [[nodiscard]] Result<std::size_t> read_some(Address at, std::span<std::byte> out) const override {
    reads++;
    return memory_.read_some(at, out);
  }
  mutable std::size_t reads = 0;

 private:
  const MemoryReader& memory_;
};

// Slots that cannot be read do not fill the list of references.
TEST(StackReferences, GcFramesThatGoRoundEndSoon) {
  Process p;
  p.stand_at(kNative, kStack + 0x100, 0);
  const GcFrameLayout& l = p.t.layouts.gc_frame;
  constexpr Address first = kStack + 0x1000, nowhere = kHeap + 0x100000;
  p.t.memory.put_u64(kThread + p.t.layouts.thread.gc_frame.offset, first);
  p.t.memory.put_u64(first + l.next.offset, first);
  p.t.memory.put_u64(first + l.references.offset, nowhere);
  p.t.memory.put_u32(first + l.count.offset, 10'000);
  const CountedMemory counted(p.t.memory);
  const RuntimeMemory memory(counted, p.t.layouts);
  CodeManager manager(memory, p.t.contracts);
  const auto found = StackWalkContract(manager, memory).walk_stack_references(p.thread, p.registers);
  EXPECT_TRUE(found.references.empty());
  EXPECT_EQ(found.gaps.size(), kMostReferenceGaps);
  EXPECT_LT(counted.reads, 3 * kMostStackReferences);
}

TEST(StackReferences, FramesThatAnExceptionHasLeftAreNotTold) {
  Process p;
  constexpr Address a = kStack + 0x100, b = a + kFrameSize;
  p.stand_at(kFoo + 0x50, a, a + 0x30);
  p.put_return(a, kBar + 0x50, b + 0x30);
  p.put_return(b, kNative, 0);
  const ExceptionInfoLayout& l = p.t.layouts.exception_info;
  constexpr Address exception = kStack + 0x2000;
  p.thread.exception_tracker = exception;
  p.t.memory.put_u64(exception + l.stack_low_bound.offset, a);
  p.t.memory.put_u64(exception + l.stack_high_bound.offset, b);
  const auto frames = [&] {
    std::vector<Address> sps;
    for (const StackReference& r : p.look().references)
      if (r.source == Source::code && (sps.empty() || sps.back() != r.sp)) sps.push_back(r.sp);
    return sps;
  };
  EXPECT_EQ(frames(), (std::vector<Address>{a, b})) << "the second pass has not begun";
  p.t.memory.put_u32(exception + l.flags.offset, 4);
  EXPECT_EQ(frames(), (std::vector<Address>{b}));
}

TEST(StackReferences, WhatTheDescriptorOf10LeavesOutIsSaid) {
  Process p("descriptor-linux-x64-10.0.12.json");
  p.stand_at(kNative, kStack + 0x100, 0);
  p.thread.exception_tracker = kStack + 0x2000;
  const StackReferences found = p.look();
  EXPECT_TRUE(has_gap(found, Gap::gc_frames));
  EXPECT_TRUE(has_gap(found, Gap::unwound_frames));
}

std::vector<GcRefMapEntry> decode(std::initializer_list<std::uint8_t> bytes) {
  std::vector<std::byte> all;
  for (const std::uint8_t b : bytes) all.push_back(std::byte{b});
  return decode_gc_ref_map(all).value_or(std::vector<GcRefMapEntry>{{99, false}});
}

TEST(GcRefMap, Tokens) {
  EXPECT_EQ(decode({0}), std::vector<GcRefMapEntry>{});
  EXPECT_EQ(decode({0b01}), (std::vector<GcRefMapEntry>{{0, false}}));
  EXPECT_EQ(decode({0b011000}), (std::vector<GcRefMapEntry>{{1, true}, {2, false}}));
  // Five words passed (3, then the number 2), a reference: 01 0 010 11.
  EXPECT_EQ(decode({0x80 | 0b0010'11 | 0, 0b0'1}), (std::vector<GcRefMapEntry>{{5, true}}));
  EXPECT_FALSE(decode_gc_ref_map({}));
  const std::byte endless[] = {std::byte{0x80}};
  EXPECT_EQ(decode_gc_ref_map(endless).error().code, ErrorCode::truncated);
}

}  // namespace
}  // namespace mixstack::dotnet
