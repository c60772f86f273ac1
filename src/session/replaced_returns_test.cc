#include "session/replaced_returns.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/memory/buffer_memory.h"
#include "mixstack/session.h"
#include "support/dotnet_process.h"

namespace mixstack::session {
namespace {

constexpr Address kRuntime = 0x10000, kStub = kRuntime + 0x40, kAfterCall = kRuntime + 0x20, kStack = 0x7000;

/// A runtime's code: nothing but `nop`, and one `call` that ends at kAfterCall.
std::vector<std::byte> code() {
  std::vector<std::byte> bytes(0x80, std::byte{0x90});
  bytes[0x1b] = std::byte{0xe8};
  return bytes;
}

Trace trace_through(Address second, Trust third) {
  Trace trace;
  trace.frames.resize(3);
  trace.frames[0] = {.pc = CodeAddress::exact(0x99), .sp = kStack, .kind = FrameKind::managed};
  trace.frames[1] = {.pc = CodeAddress::after_call(second), .sp = kStack + 32, .kind = FrameKind::native};
  trace.frames[2] = {.pc = CodeAddress::after_call(0x55), .sp = kStack + 64, .kind = FrameKind::managed};
  trace.frames[2].trust = third;
  return trace;
}

TEST(ReplacedReturns, AreWhereNobodyCalled) {
  const auto bytes = code();
  memory::BufferMemory memory;
  memory.add(kRuntime, bytes);
  ReplacedReturns returns(memory, Arch::x86_64, {{kRuntime, kRuntime + 0x80}});
  EXPECT_EQ(returns.find(trace_through(kStub, Trust::certain)), 1u);
  EXPECT_EQ(returns.find(trace_through(kAfterCall, Trust::certain)), 0u);
  EXPECT_EQ(returns.find(trace_through(0x5000, Trust::certain)), 0u) << "not the runtime's";
  const std::array addresses{CodeAddress::exact(kStub), CodeAddress::after_call(kAfterCall)};
  EXPECT_FALSE(returns.may_be_in(addresses)) << "interrupted there, and called properly";
  EXPECT_TRUE(returns.may_be_in(std::array{CodeAddress::after_call(kStub)}));
}

TEST(ReplacedReturns, ArePutBackIfTheRuntimeSpeaksOfThisOne) {
  std::vector<std::byte> stack(128);
  const Address stub = kStub;
  std::memcpy(stack.data() + 24, &stub, sizeof stub);
  ThreadCapture thread;
  thread.stack = {kStack, stack};
  const Trace trace = trace_through(kStub, Trust::certain);
  const auto mended = put_back(thread, trace, 1, {kStack + 24, 0x4711});
  ASSERT_TRUE(mended.has_value());
  Address now = 0;
  std::memcpy(&now, mended->data() + 24, sizeof now);
  EXPECT_EQ(now, 0x4711u);
  for (const Address slot : {kStack + 16, kStack + 40, kStack - 8, kStack + 4096, Address{0}})
    EXPECT_FALSE(put_back(thread, trace, 1, {slot, 0x4711}).has_value()) << slot;
}

TEST(ReplacedReturns, ThatNobodyKnowsLeaveAMarkedStack) {
  Trace marked = trace_through(kStub, Trust::frame_pointer);
  leave_out(marked, 1);
  ASSERT_EQ(marked.frames.size(), 2u);
  EXPECT_EQ(marked.stop, StopReason::end_of_stack);
  Trace sure = trace_through(kStub, Trust::certain);
  leave_out(sure, 1);
  EXPECT_EQ(sure.frames.size(), 1u) << "what was found through it is not true";
  EXPECT_EQ(sure.stop, StopReason::bad_return_address);
}

/// Copies of stacks that stand still, walked as samples are: what the runtime's records say is not asked for.
TEST(SampledWalk, NeedsNoCaptureAndBelievesNoFrames) {
  const test::DotnetProcess process("mixtures");
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(process.pid());
  ASSERT_TRUE(session);
  DumpOptions patient;
  patient.stop_timeout = std::chrono::seconds(5);
  auto capture = (*session)->capture(patient);
  ASSERT_TRUE(capture);
  const std::vector<ThreadCapture> samples = capture->threads;
  const auto keep = std::move(capture->storage);
  Capture none;
  none.arch = capture->arch;
  none.consistency = Consistency::not_stopped;
  auto walker = (*session)->walker(std::move(none), {});
  ASSERT_TRUE(walker);
  std::size_t ended = 0, managed = 0;
  for (const ThreadCapture& sample : samples) {
    const Trace trace = walker->walk(sample);
    std::array<CodeAddress, 512> addresses;
    EXPECT_EQ(walker->addresses(sample, addresses).count, trace.frames.size());
    for (const Frame& f : trace.frames) {
      EXPECT_NE(f.found_by, StepperId::explicit_frame);
      managed += f.kind == FrameKind::managed ? 1 : 0;
    }
    ended += trace.stop == StopReason::end_of_stack ? 1 : 0;
  }
  EXPECT_EQ(ended, samples.size());
  EXPECT_GT(managed, 10u);
}

}  // namespace
}  // namespace mixstack::session
