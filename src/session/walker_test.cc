// The walker in a user's hands: lazy frames, addresses, the runtime's answers.
#include "mixstack/walker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/dotnet_process.h"
#include "support/patient_walker.h"

namespace mixstack {
namespace {

using test::walker_of;

class DotnetWalker : public ::testing::TestWithParam<const char*> {};

TEST_P(DotnetWalker, LazyFramesAreThoseOfTheWholeWalk) {
  const test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  ASSERT_TRUE(session);
  auto walker = walker_of(**session);
  ASSERT_TRUE(walker);
  std::size_t managed = 0;
  for (const ThreadCapture& thread : walker->capture().threads) {
    const Trace trace = walker->walk(thread);
    FrameRange lazy = walker->frames(thread);
    std::size_t i = 0;
    for (const Frame& f : lazy) {
      ASSERT_LT(i, trace.frames.size());
      EXPECT_EQ(f.pc, trace.frames[i].pc);
      EXPECT_EQ(f.sp, trace.frames[i].sp);
      EXPECT_EQ(f.kind, trace.frames[i].kind);
      EXPECT_GE(f.trust, trace.frames[i].trust);
      managed += f.kind == FrameKind::managed ? 1 : 0;
      i++;
    }
    EXPECT_EQ(i, trace.frames.size()) << thread.tid;
    EXPECT_EQ(lazy.stop(), trace.stop) << thread.tid;
  }
  EXPECT_GT(managed, 3u);
}

TEST_P(DotnetWalker, AddressesAreThoseOfTheWholeWalk) {
  const test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  ASSERT_TRUE(session);
  auto walker = walker_of(**session);
  ASSERT_TRUE(walker);
  for (const ThreadCapture& thread : walker->capture().threads) {
    const Trace trace = walker->walk(thread);
    std::vector<CodeAddress> out(trace.frames.size() + 1);
    const AddressTrace all = walker->addresses(thread, out);
    ASSERT_EQ(all.count, trace.frames.size()) << thread.tid;
    EXPECT_EQ(all.stop, trace.stop) << thread.tid;
    for (std::size_t i = 0; i < all.count; i++) EXPECT_EQ(out[i], trace.frames[i].pc) << thread.tid << " " << i;
    if (trace.frames.size() < 2) continue;
    const AddressTrace some = walker->addresses(thread, std::span(out).first(trace.frames.size() - 1));
    EXPECT_EQ(some.count, trace.frames.size() - 1) << thread.tid;
    EXPECT_EQ(some.stop, StopReason::max_frames) << thread.tid;
  }
}

/// For samples: the same frames without a decision, or no answer.
TEST_P(DotnetWalker, PlainAddressesAreThoseOfTheWholeWalk) {
  const test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  ASSERT_TRUE(session);
  auto stopped = walker_of(**session);
  ASSERT_TRUE(stopped);
  std::vector<CodeAddress> out(1 << 17);  // one of the scenarios is deep
  auto walker = (*session)->walker_of({}, {});
  ASSERT_TRUE(walker);
  std::size_t plain = 0, managed = 0;
  for (const ThreadCapture& thread : stopped->capture().threads) {
    EXPECT_FALSE(stopped->plain_addresses(thread, out)) << "no sample";
    const auto count = walker->plain_addresses(thread, out);
    if (!count) continue;
    plain++;
    const Trace trace = walker->walk(thread);
    EXPECT_EQ(trace.stop, StopReason::end_of_stack);
    ASSERT_EQ(*count, trace.frames.size()) << thread.tid;
    for (std::size_t i = 0; i < *count; i++) {
      const Frame& frame = trace.frames[i];
      EXPECT_EQ(out[i], frame.pc) << thread.tid << " " << i;
      EXPECT_EQ(frame.trust, Trust::certain);
      // These programs free no code.
      EXPECT_TRUE(walker->keeps_name(frame)) << thread.tid << " " << i;
      managed += frame.kind == FrameKind::managed ? 1 : 0;
    }
    EXPECT_FALSE(walker->plain_addresses(thread, std::span(out).first(*count - 1)));
  }
  EXPECT_GT(plain, 3u);
  EXPECT_GT(managed, 3u);
}

TEST_P(DotnetWalker, TheRuntimeAnswersForThreadsCodeFramesAndTheContract) {
  const test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  ASSERT_TRUE(session);
  auto walker = walker_of(**session);
  ASSERT_TRUE(walker);
  const auto runtimes = walker->runtimes();
  ASSERT_EQ(runtimes.size(), 1u);
  const dotnet::Runtime& runtime = runtimes.front();
  EXPECT_EQ(runtime.version().rfind("10.", 0), 0u);
  EXPECT_GE(runtime.threads().size(), 2u);
  EXPECT_EQ(runtime.frame_name(0x1234), "");
  std::size_t elements = 0, frames = 0;
  for (const ThreadCapture& thread : walker->capture().threads) {
    if (!walker->managed(thread)) {
      EXPECT_EQ(runtime.explicit_frames(thread).error().code, ErrorCode::no_such_thread);
      continue;
    }
    for (const Frame& f : walker->walk(thread).frames) {
      if (f.kind != FrameKind::managed) continue;
      const auto code = runtime.code_at(f.pc.lookup());
      ASSERT_TRUE(code);
      EXPECT_EQ(code->method, f.method);
      // A stub that many methods share is called by the one of this call.
      const auto expected = f.stub_target == 0 ? *runtime.method_name(f.method)
                                               : "[stub: P/Invoke] -> " + *runtime.method_name(f.stub_target);
      EXPECT_EQ(walker->name(f).name, expected);
    }
    if (const auto list = runtime.explicit_frames(thread)) {
      frames += list->size();
      for (const dotnet::FrameFacts& f : *list) {
        EXPECT_EQ(runtime.frame_name(f.identifier), f.name);
        EXPECT_EQ(runtime.frame_method(f.address).value_or(1), f.method);
      }
    }
    auto contract = runtime.stack_walk(thread);
    ASSERT_TRUE(contract);
    std::vector<dotnet::WalkElement> earlier;
    std::vector<std::vector<std::byte>> contexts;
    for (; contract->next(); elements++) {
      earlier.push_back(contract->current());
      ASSERT_TRUE(contract->raw_context(contexts.emplace_back(2048)));
    }
    EXPECT_EQ(contract->error().code, ErrorCode::none);
    std::vector<std::byte> again(2048);
    for (std::size_t i = 0; i < earlier.size(); i++) {
      ASSERT_TRUE(dotnet::StackWalk::raw_context(earlier[i], again));
      EXPECT_EQ(again, contexts[i]) << "an element is the same after the walk has gone on";
    }
  }
  EXPECT_GT(elements, 3u);
  EXPECT_GT(frames, 1u);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, DotnetWalker, ::testing::Values("reverse_pinvoke", "nested_exceptions", "deep"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace mixstack
