#include "dotnet/code/stub_target.h"

#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

using test::DotnetCode;
using test::DotnetMemory;

constexpr Address kHeap = 0x7f1200000000, kStub = kHeap + 0x100, kOther = kHeap + 0x1100;
constexpr Address kStack = 0x7ffc00000000, kRecord = kStack + 0x40;
constexpr std::uint32_t kSharedStub = 0x9001,
                        kDelegateStub = 0x19001;  // DynamicMethodDesc: static IL stub, CLR to native

nlohmann::json later_descriptor(const char* name) {
  auto json = test::load_descriptor(name);
  json["types"]["InlinedCallFrame"]["Datum"] = 16;
  return json;
}

/// A stub that stands in its call, with one InlinedCallFrame in its stack frame.
class StubTarget : public ::testing::TestWithParam<const char*> {
 protected:
  StubTarget() {
    code_.add_heap(kHeap, kHeap + 0x40000);
    const auto& l = t_.layouts;
    t_.memory.map(kTable, 0x3000);
    t_.memory.put_u64(kTable + l.method_table.ee_class_or_canon.offset, kTable + 0x1000);
    t_.memory.put_u64(kTable + 0x1000 + l.ee_class.method_table.offset, kTable);
    t_.memory.put_u64(kTable + 0x2000 + l.method_desc_chunk.method_table.offset, kTable);
    stub_ = method(0, 7), open_ = method(8, 2), launch_ = method(16, 2), ordinary_ = method(24, 0);
    kind_of_stub(kSharedStub);
    code_.add_method(kStub, 0x400, stub_, {{0, 0x400, DotnetCode::push_rbp(64)}});
    code_.add_method(kOther, 0x400, ordinary_, {{0, 0x400, DotnetCode::push_rbp(64)}});
    t_.put_frame(kRecord, FrameType::inlined_call);
    call(kStub + 0x60, launch_, launch_);
    frame_.sp = kStack;
    frame_.method = stub_;
    frame_.kind = FrameKind::managed;
    record(kRecord, FrameType::inlined_call);
  }
  Address method(unsigned index, std::uint16_t kind) {
    const auto& l = t_.layouts;
    const Address at = kTable + 0x2000 + l.method_desc_chunk.size + index * 8;
    t_.memory.put_u8(at + l.method_desc.chunk_index.offset, static_cast<std::uint8_t>(index));
    t_.memory.put_u16(at + l.method_desc.flags.offset, kind);
    return at;
  }
  void kind_of_stub(std::uint32_t flags) {
    t_.memory.put_u32(stub_ + t_.layouts.stored_sig_method_desc.extended_flags.offset, flags);
  }
  void call(Address return_address, Address datum, Address hidden, Address at = kRecord) {
    const auto& l = t_.layouts.inlined_call_frame;
    t_.memory.put_u64(at + l.datum.offset, datum);
    t_.memory.put_u64(at + l.caller_return_address.offset, return_address);
    t_.memory.put_u64(at + l.size, hidden);
  }
  void record(Address at, FrameType type) {
    walk::Checkpoint c;
    c.address = at;
    c.identifier = static_cast<std::uint32_t>(t_.identifier(type));
    checkpoints_.push_back(c);
  }
  Address target(Address caller_sp = kStack + 0x100) {
    CodeManager code(t_.runtime(), t_.contracts);
    return stub_target(code, frame_, caller_sp, checkpoints_);
  }

  static constexpr Address kTable = 0x40000;
  DotnetMemory t_{later_descriptor(GetParam())};
  DotnetCode code_{t_};
  Address stub_ = 0, open_ = 0, launch_ = 0, ordinary_ = 0;
  Frame frame_;
  std::vector<walk::Checkpoint> checkpoints_;
};

INSTANTIATE_TEST_SUITE_P(Releases, StubTarget,
                         ::testing::Values("descriptor-linux-x64-10.0.12.json", "descriptor-linux-x64-11.0.0.json"),
                         test::release_of);

TEST_P(StubTarget, IsWhatTheFrameInItsStackFrameSays) {
  EXPECT_EQ(target(), launch_);
  call(kStub + 0x60, open_, open_);
  EXPECT_EQ(target(), open_);
  call(kStub + 0x60, launch_, 0xdead);  // one of the two is enough
  EXPECT_EQ(target(), launch_);
  call(kStub + 0x60, 0, launch_);
  EXPECT_EQ(target(), launch_);
}

TEST_P(StubTarget, OfACallToComeIsTheHiddenArgumentAlone) {
  call(0, open_, launch_);  // the datum is of an earlier call, or of none
  EXPECT_EQ(target(), launch_);
  call(0, launch_, 0);
  EXPECT_EQ(target(), 0u);
}

TEST_P(StubTarget, IsNotProvedByWhatContradictsItself) {
  call(kStub + 0x60, open_, launch_);
  EXPECT_EQ(target(), 0u);
  call(kOther + 0x60, launch_, launch_);  // a call of another method
  EXPECT_EQ(target(), 0u);
  call(kStub + 0x60, ordinary_, ordinary_);  // no P/Invoke
  EXPECT_EQ(target(), 0u);
  call(kStub + 0x60, launch_ | 1, 0x123457);  // the target of a calli; garbage
  EXPECT_EQ(target(), 0u);
  call(kStub + 0x60, launch_, launch_);
  t_.put_frame(kRecord + 0x60, FrameType::inlined_call);
  record(kRecord + 0x60, FrameType::inlined_call);
  call(kStub + 0x60, launch_, launch_, kRecord + 0x60);
  EXPECT_EQ(target(), 0u);  // a stub has one
  EXPECT_EQ(target(kRecord + 0x60), launch_);
}

TEST_P(StubTarget, IsOfPInvokeStubsAndTheirOwnFramesOnly) {
  kind_of_stub(kDelegateStub);
  EXPECT_EQ(target(), 0u);
  kind_of_stub(kSharedStub);
  EXPECT_EQ(target(kRecord), 0u);  // the Frame lies in the caller's
  frame_.sp = kRecord + 8;
  EXPECT_EQ(target(), 0u);
  frame_.sp = kStack;
  frame_.method = ordinary_;
  EXPECT_EQ(target(), 0u);
  frame_.method = stub_;
  frame_.funclet = FuncletKind::catch_handler;
  EXPECT_EQ(target(), 0u);
  frame_.funclet = FuncletKind::none;
  checkpoints_[0].identifier = static_cast<std::uint32_t>(t_.identifier(FrameType::prestub_method));
  EXPECT_EQ(target(), 0u);
  checkpoints_.clear();
  EXPECT_EQ(target(), 0u);
}

// The Frame on the stack of an overflow's handler comes first in the list, wherever it lies.
TEST_P(StubTarget, IsFoundBehindAFrameOnAnotherStack) {
  walk::Checkpoint handlers;
  handlers.address = kStack + 0x100000;
  checkpoints_.insert(checkpoints_.begin(), handlers);
  EXPECT_EQ(target(), launch_);
}

}  // namespace
}  // namespace mixstack::dotnet
