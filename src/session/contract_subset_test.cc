// The runtime's own StackWalk contract and the mixed walk, over the same capture of real processes: the contract's
// managed frames are an ordered subset of the mixed walk's.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/memory/cached_memory.h"
#include "dotnet/code/stack_walk.h"
#include "dotnet/runtime/runtime_by_contracts.h"
#include "process/live/live_target.h"
#include "session/capture_walk.h"
#include "support/dotnet_process.h"

namespace mixstack::session {
namespace {

struct ManagedFrame {
  Address sp = 0, method = 0;
  friend bool operator==(const ManagedFrame&, const ManagedFrame&) = default;
};

std::vector<ManagedFrame> contract_frames(const dotnet::ManagedThread& thread, const ThreadCapture& captured,
                                          dotnet::CodeManager& code) {
  std::vector<ManagedFrame> frames;
  dotnet::StackWalkContract contract(code, code.memory());
  auto walk = contract.create_stack_walk(
      thread, captured.registers, {captured.stack.base, captured.stack.bytes.data(), captured.stack.bytes.size()});
  while (walk.next()) {
    const dotnet::StackDataFrame& at = walk.current();
    if (at.state != dotnet::StackWalkState::frameless) continue;
    const Address pc = at.context.pc();
    const auto& info = code.find(at.pc_is_return_address ? CodeAddress::after_call(pc) : CodeAddress::exact(pc));
    frames.push_back({at.context.sp(), info.method_desc});
  }
  const dotnet::StackDataFrame& last = walk.current();
  EXPECT_EQ(walk.error().code, ErrorCode::none)
      << "thread " << captured.tid << " after " << frames.size() << " frames, value " << std::hex << walk.error().value
      << ", pc " << last.context.pc() << " sp " << last.context.sp() << ", Frame " << last.frame.address << " of type "
      << static_cast<int>(last.frame.type);
  return frames;
}

std::vector<ManagedFrame> mixed_frames(const Trace& trace) {
  std::vector<ManagedFrame> frames;
  for (const Frame& f : trace.frames)
    if (f.kind == FrameKind::managed) frames.push_back({f.sp, f.method});
  return frames;
}

bool is_ordered_subset(const std::vector<ManagedFrame>& part, const std::vector<ManagedFrame>& whole) {
  auto at = whole.begin();
  for (const ManagedFrame& f : part) {
    at = std::find(at, whole.end(), f);
    if (at == whole.end()) return false;
    ++at;
  }
  return true;
}

class ContractSubset : public ::testing::TestWithParam<const char*> {};

TEST_P(ContractSubset, ContractFramesAreAnOrderedSubsetOfTheMixedWalk) {
  const test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto target = process::open_live(process.pid());
  ASSERT_TRUE(target);
  const auto regions = (*target)->regions();
  ASSERT_TRUE(regions);
  const auto open = [&](const Region& r) { return (*target)->open_file(r); };
  const auto facts = ProcessGeneration::read({**target, open, nullptr}, *regions, nullptr);
  Worker worker({**target, {}, std::make_shared<unwind::UnwindTables>(), {ManagedProvider::descriptor, {}, {}}, {}},
                facts);
  const auto runtimes = worker.runtimes();
  ASSERT_EQ(runtimes.size(), 1u);
  CaptureRequest request;
  request.stop_timeout = std::chrono::seconds(5);
  request.roots = worker.prepare_roots();
  auto capture = (*target)->capture(request);
  ASSERT_TRUE(capture);
  symbols::ElfSymbols symbols(worker.modules(), [&](const std::string& p) { return (*target)->open_path(p); });
  CaptureWalk walk(*capture, **target, worker, *regions, symbols, {}, {});

  std::size_t managed_frames = 0;
  for (const ThreadCapture& thread : capture->threads) {
    const dotnet::ManagedThread* managed = runtimes.front()->thread(thread.ns_tid);
    if (managed == nullptr) continue;
    const auto whole = mixed_frames(walk.walk(thread).trace);
    const auto part = contract_frames(*managed, thread, *runtimes.front()->contracts()->code());
    managed_frames += part.size();
    EXPECT_TRUE(is_ordered_subset(part, whole)) << GetParam() << " thread " << thread.tid << ": " << part.size()
                                                << " contract frames, " << whole.size() << " managed frames";
  }
  EXPECT_GE(managed_frames, 3u);
}

INSTANTIATE_TEST_SUITE_P(Session, ContractSubset,
                         ::testing::Values("funclets", "nested_exceptions", "reverse_pinvoke", "osr", "collectible",
                                           "uco_fnptr", "filter_native"));

}  // namespace
}  // namespace mixstack::session
