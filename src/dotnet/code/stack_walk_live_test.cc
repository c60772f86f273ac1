// The StackWalk contract against ClrMD on real, stopped processes: same elements, same contexts.
#include <gtest/gtest.h>

#include <map>

#include "base/arch/context.h"
#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"
#include "dotnet/code/exceptions.h"
#include "dotnet/code/stack_walk.h"
#include "process/live/live_target.h"
#include "support/dotnet_process.h"
#include "support/host_cpu.h"
#include "support/stopped_runtime.h"

namespace mixstack::dotnet {
namespace {

struct Element {
  bool is_frame = false;
  Address ip = 0, sp = 0;  // of a Frame: its address
  Address method = 0;
  std::string name;  // of a Frame
  bool is_funclet = false;
  StackDataFrame handle;
};

// The walk of a stopped process by mixstack.
class Observation : public test::StoppedRuntime {
 public:
  using StoppedRuntime::StoppedRuntime;

  [[nodiscard]] std::vector<Element> walk(const ManagedThread& thread) const {
    StackWalkContract contract(code(), memory());
    std::vector<Element> all;
    if (const ThreadCapture* c = capture_of(thread)) {
      auto w = contract.create_stack_walk(thread, c->registers, stack_of(*c));
      while (w.next()) add(contract, w.current(), all);
      EXPECT_EQ(w.error().code, ErrorCode::none) << "thread " << thread.os_id;
    }
    return all;
  }
  [[nodiscard]] std::string name_of(const ManagedThread& thread) const {
    return thread_name(memory(), thread).value_or("");
  }

 private:
  void add(StackWalkContract& contract, const StackDataFrame& at, std::vector<Element>& all) const {
    Element e;
    e.handle = at;
    e.ip = at.context.pc();
    e.is_frame = StackWalkContract::frame_address(at) != 0;
    e.sp = e.is_frame ? StackWalkContract::frame_address(at) : at.context.sp();
    e.name = e.is_frame ? contract.frame_name(at.frame.identifier) : "";
    e.method = contract.method_desc(at).value_or(0);
    if (at.state == StackWalkState::native) return;
    if (!e.is_frame) e.is_funclet = code().find(code_address(at)).is_funclet();
    all.push_back(std::move(e));
  }
};

Address number(const nlohmann::json& j) { return j.is_string() ? std::stoull(j.get<std::string>(), nullptr, 16) : 0; }

// Registers ClrMD's context and ours both define: ip, sp, fp and the callee-saved ones that we claim to know.
void compare_contexts(const StackDataFrame& ours, const std::string& hex, const std::string& where) {
  std::vector<std::byte> theirs;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    theirs.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  auto decoded = arch::decode_context(ours.context.arch(), theirs);
  ASSERT_TRUE(decoded) << where;
  std::vector<std::byte> raw(arch::context_layout(ours.context.arch())->size);
  ASSERT_EQ(arch::encode_context(ours.context, raw, ours.context_flags).value(), theirs.size()) << where;
  const arch::Cpu& cpu = arch::cpu(ours.context.arch());
  const std::uint64_t compared =
      cpu.preserved.platform_unix | arch::bit(cpu.registers.sp) | arch::bit(cpu.registers.pc);
  for (unsigned r = 0; r < Registers::kMax; r++) {
    if ((compared & arch::bit(r)) != 0 && ours.context.is_known(r)) {
      EXPECT_EQ(ours.context.get(r), decoded->get(r)) << where << " register " << r;
    }
  }
}

void compare_thread(const std::vector<Element>& ours, const nlohmann::json& thread, const std::string& where) {
  const auto& frames = thread["frames"];
  ASSERT_EQ(ours.size(), frames.size()) << where;
  for (std::size_t i = 0; i < ours.size(); i++) {
    const auto& theirs = frames[i];
    const std::string at = where + " element " + std::to_string(i);
    EXPECT_EQ(ours[i].ip, number(theirs["ip"])) << at;
    EXPECT_EQ(ours[i].sp, number(theirs["sp"])) << at;
    EXPECT_EQ(ours[i].is_frame, theirs["kind"] == "runtime") << at;
    if (ours[i].is_frame) {
      EXPECT_EQ(ours[i].name, theirs["frameName"].get<std::string>()) << at;
    } else {
      compare_contexts(ours[i].handle, theirs["context"], at);
    }
    // For Frames the DAC's own answer is compared, too.
    EXPECT_EQ(ours[i].method, number(theirs["methodDesc"])) << at;
  }
}

class AgainstClrMd : public ::testing::TestWithParam<const char*> {};

TEST_P(AgainstClrMd, EveryElementOfEveryThreadIsTheSame) {
  if (test::kHostCpu == Arch::aarch64)
    GTEST_SKIP() << "ClrMD has no contexts of explicit Frames there; tests/live compares what it has";
  const test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  const Observation seen(process::open_live(process.pid()));
  ASSERT_TRUE(seen.ok());
  EXPECT_TRUE(seen.runtime().can_walk());
  const auto oracle = process.ask_clrmd();
  const bool may_lack = test::DotnetProcess::asked_release().empty();
  if (oracle.end == test::ClrmdAnswer::End::not_built && may_lack) GTEST_SKIP() << oracle.text();
  ASSERT_EQ(oracle.end, test::ClrmdAnswer::End::answered) << oracle.text();
  std::map<std::uint64_t, const ManagedThread*> by_id;
  for (const auto& t : seen.threads().threads) by_id[t.os_id] = &t;
  std::size_t compared = 0;
  for (const auto& t : oracle.json["threads"]) {
    const auto it = by_id.find(t["osId"].get<std::uint64_t>());
    if (it == by_id.end() || t["frames"].empty()) continue;
    EXPECT_EQ(it->second->id, t["managedId"].get<std::uint32_t>());
    EXPECT_EQ(it->second->cooperative, t["gcMode"] == "Cooperative");
    // That of a stack overflow is never thrown: the runtime notes it as last thrown, nothing handles it.
    const bool in_flight = !t["exceptionType"].is_null() && t["exceptionType"] != "System.StackOverflowException";
    EXPECT_EQ(current_exceptions(seen.memory(), *it->second).exceptions.empty(), !in_flight);
    // ClrMD repeats another thread's frame for threads that have none (dotnet-oddities: managed once, native now).
    const auto ours = seen.walk(*it->second);
    if (ours.empty()) continue;
    if (it->second->is_hijacked()) continue;  // ClrMD ends where the suspension's stub stands for the return address
    compare_thread(ours, t, std::string(GetParam()) + " thread " + std::to_string(it->first));
    compared++;
  }
  EXPECT_GE(compared, 2u);
  for (const auto& e : seen.runtime().supplement().entries())
    EXPECT_NE(e.state, SupplementEntry::State::contradicted) << e.field;
}

INSTANTIATE_TEST_SUITE_P(StackWalkLive, AgainstClrMd,
                         ::testing::Values("funclets", "nested_exceptions", "hardware_exceptions", "marshalling",
                                           "reverse_pinvoke", "osr", "collectible", "crash_stack_overflow_small",
                                           "crash_unhandled_native",
                                           // Prestub and StubDispatch, DynamicHelper, Hijack
                                           "resolvers", "helpers", "gc_storm", "gc_wait", "tiers",
                                           "exception_through_native", "filter_native", "shared_stubs", "uco_fnptr"));

const ManagedThread* find_thread(const Observation& seen, const std::string& name) {
  for (const auto& t : seen.threads().threads)
    if (seen.name_of(t) == name) return &t;
  return nullptr;
}

// The first worked example of the document, on a real process: native code under a filter, a SoftwareExceptionFrame
// behind it that leads to the throwing method.
TEST(StackWalkLive, FirstWorkedExampleThroughABlockedFilter) {
  const test::DotnetProcess process("filter_native");
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  const Observation seen(process::open_live(process.pid()));
  ASSERT_TRUE(seen.ok());
  const auto* thread = find_thread(seen, "filter-native");
  ASSERT_NE(thread, nullptr);
  const auto all = seen.walk(*thread);
  std::size_t i = 0;
  while (i < all.size() && all[i].name != "SoftwareExceptionFrame") i++;
  ASSERT_LT(i + 1, all.size());
  EXPECT_EQ(all[i].handle.state, StackWalkState::frame);  // <A>: native, the Frame is next
  const auto& b = all[i + 1];                             // <B>: managed, from the Frame's context
  EXPECT_EQ(b.handle.state, StackWalkState::frameless);
  EXPECT_GT(b.handle.context.sp(), all[i].sp);
  EXPECT_NE(b.method, 0u);
  bool funclet = false;
  for (std::size_t k = 0; k < i; k++) funclet = funclet || all[k].is_funclet;
  EXPECT_TRUE(funclet);
}

// The second: an [UnmanagedCallersOnly] method called through a function pointer; the caller's InlinedCallFrame lies
// in its own stack frame.
TEST(StackWalkLive, SecondWorkedExampleSkipsTheInlinedCallFrame) {
  const test::DotnetProcess process("uco_fnptr");
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  const Observation seen(process::open_live(process.pid()));
  ASSERT_TRUE(seen.ok());
  const auto* thread = find_thread(seen, "uco-spin");
  ASSERT_NE(thread, nullptr);
  const auto all = seen.walk(*thread);
  ASSERT_GE(all.size(), 4u);
  EXPECT_EQ(all[0].handle.state, StackWalkState::frameless);  // <A>: managed
  std::size_t i = 0;
  while (i < all.size() && all[i].name != "InlinedCallFrame") i++;
  ASSERT_LT(i + 1, all.size());
  EXPECT_EQ(all[i].handle.state, StackWalkState::skipped_frame);
  EXPECT_EQ(all[i + 1].handle.state, StackWalkState::frameless);
  EXPECT_EQ(all[i].ip, all[i + 1].ip);  // <B>, twice
  EXPECT_GE(all[i].sp, all[i + 1].sp);  // the Frame lies in its stack frame
}

}  // namespace
}  // namespace mixstack::dotnet
