// WalkStackReferences against the DAC's own list, asked through ClrMD, on real, stopped processes.
#include "dotnet/code/stack_references.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/arch/cpu.h"
#include "dotnet/code/stack_walk.h"
#include "process/live/live_target.h"
#include "support/dotnet_process.h"
#include "support/stopped_runtime.h"

namespace mixstack::dotnet {
namespace {

/// A line for each reference: what both lists say of it.
std::string line_of(Address slot, std::string_view reg, Address object, bool is_interior, bool is_pinned, Address frame,
                    Address pc, Address sp) {
  std::ostringstream text;
  text << std::hex << (slot != 0 ? "at " : "in ") << slot << (slot != 0 ? "" : reg) << " object " << object
       << (is_interior ? " interior" : "") << (is_pinned ? " pinned" : "") << " sp " << sp;
  // The DAC has no pc where a Frame is the source.
  frame != 0 ? text << " frame " << frame : text << " pc " << pc;
  return text.str();
}
using Lines = std::vector<std::string>;

Address number(const nlohmann::json& j) { return std::stoull(j.get<std::string>(), nullptr, 16); }

/// Without arguments of Frames of which we say that they are not told.
Lines theirs(const nlohmann::json& thread, const StackReferences& found) {
  Lines lines;
  for (const auto& r : thread["roots"]) {
    const Address frame = number(r["frame"]);
    const auto is_said = [&](const ReferenceDiagnosis& g) {
      return g.gap == ReferenceGap::arguments && g.frame == frame;
    };
    const auto is_ours = [&](const StackReference& o) { return o.frame == frame && o.slot == number(r["address"]); };
    if (frame != 0 && std::any_of(found.gaps.begin(), found.gaps.end(), is_said) &&
        std::none_of(found.references.begin(), found.references.end(), is_ours))
      continue;
    const std::string reg = r["register"].is_null() ? "" : r["register"].get<std::string>();
    lines.push_back(line_of(number(r["address"]), reg, number(r["object"]), r["isInterior"], r["isPinned"],
                            number(r["frame"]), number(r["ip"]), number(r["sp"])));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}
/// Without nulls, GCFrames and exceptions: ClrMD leaves out the first, the DAC the others.
Lines ours(const StackReferences& found, Arch arch) {
  Lines lines;
  for (const StackReference& r : found.references) {
    if (r.object == 0 || r.source == ReferenceSource::gc_frame || r.source == ReferenceSource::exception) continue;
    const std::string_view reg = arch::cpu(arch).register_names[r.reg];
    lines.push_back(line_of(r.slot, reg, r.object, r.is_interior, r.is_pinned, r.frame, r.pc, r.sp));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

StackReferences references_of(const test::StoppedRuntime& seen, const ManagedThread& thread) {
  StackWalkContract contract(seen.code(), seen.memory());
  const ThreadCapture* c = seen.capture_of(thread);
  if (c == nullptr) return {};
  return contract.walk_stack_references(thread, c->registers, test::StoppedRuntime::stack_of(*c));
}

std::string gaps_of(const StackReferences& found) {
  std::ostringstream text;
  for (const ReferenceDiagnosis& g : found.gaps)
    text << std::hex << "gap " << int{static_cast<std::uint8_t>(g.gap)} << " frame " << g.frame << " sp " << g.sp
         << " pc " << g.pc << " error " << int{static_cast<std::uint16_t>(g.error.code)} << " value " << g.error.value
         << "\n";
  return text.str();
}

/// The lines that only one of two lists has.
std::string difference(const Lines& ours, const Lines& theirs) {
  Lines only_ours, only_theirs;
  std::set_difference(ours.begin(), ours.end(), theirs.begin(), theirs.end(), std::back_inserter(only_ours));
  std::set_difference(theirs.begin(), theirs.end(), ours.begin(), ours.end(), std::back_inserter(only_theirs));
  std::string text;
  for (const std::string& line : only_ours) text += "only ours:   " + line + "\n";
  for (const std::string& line : only_theirs) text += "only theirs: " + line + "\n";
  return text;
}

/// Whether anybody's stack has the body of a handler that runs.
bool has_funclet(const test::StoppedRuntime& seen) {
  StackWalkContract contract(seen.code(), seen.memory());
  for (const ManagedThread& t : seen.threads().threads) {
    const ThreadCapture* c = seen.capture_of(t);
    if (c == nullptr) continue;
    auto walk = contract.create_stack_walk(t, c->registers, test::StoppedRuntime::stack_of(*c));
    while (walk.next()) {
      const bool is_managed = walk.current().state == StackWalkState::frameless;
      if (is_managed && seen.code().find(code_address(walk.current())).is_funclet()) return true;
    }
  }
  return false;
}

/// The DAC of .NET 10 dies of references of some funclets. That alone, and that ClrMD is not built, may be passed over;
/// of a release that was asked for by name nothing.
bool may_be_passed_over(const test::ClrmdAnswer& answer, const test::StoppedRuntime& seen) {
  if (!test::DotnetProcess::asked_release().empty()) return false;
  if (answer.end == test::ClrmdAnswer::End::not_built) return true;
  return answer.end == test::ClrmdAnswer::End::died && has_funclet(seen);
}

class AgainstDac : public ::testing::TestWithParam<const char*> {};

TEST_P(AgainstDac, EveryReferenceOfEveryThreadIsTheSame) {
  const test::DotnetProcess process(GetParam());
  if (!process.ready() && test::DotnetProcess::asked_release().empty()) GTEST_SKIP() << "the scenarios are not built";
  ASSERT_TRUE(process.ready()) << "the scenarios are not built for the release that was asked for";
  process.stop();
  const test::StoppedRuntime seen(process::open_live(process.pid()));
  ASSERT_TRUE(seen.ok());
  std::map<std::uint64_t, StackReferences> by_id;
  for (const auto& t : seen.threads().threads) {
    if (seen.capture_of(t) == nullptr || t.is_hijacked()) continue;
    const StackReferences& found = by_id[t.os_id] = references_of(seen, t);
    for (const ReferenceDiagnosis& g : found.gaps)
      EXPECT_TRUE(g.gap != ReferenceGap::gc_info && g.gap != ReferenceGap::slot && g.gap != ReferenceGap::stack_walk &&
                  g.gap != ReferenceGap::parent_of_funclet && g.gap != ReferenceGap::frame_kind)
          << gaps_of(found);
  }
  const auto oracle = process.ask_clrmd("--roots");
  const bool is_answer = oracle.end == test::ClrmdAnswer::End::answered;
  if (!is_answer && may_be_passed_over(oracle, seen)) GTEST_SKIP() << oracle.text();
  ASSERT_TRUE(is_answer) << oracle.text();
  std::size_t compared = 0, references = 0;
  for (const auto& t : oracle.json["threads"]) {
    const auto it = by_id.find(t["osId"].get<std::uint64_t>());
    if (it == by_id.end()) continue;
    const Lines mine = ours(it->second, seen.memory().layouts().arch), dac = theirs(t, it->second);
    EXPECT_EQ(difference(mine, dac), "") << GetParam() << " thread " << it->first << "\n" << gaps_of(it->second);
    compared++;
    references += dac.size();
  }
  EXPECT_GE(compared, 2u);
  EXPECT_GE(references, 20u);
}

INSTANTIATE_TEST_SUITE_P(StackReferencesLive, AgainstDac,
                         ::testing::Values("uco_fnptr", "funclets", "nested_exceptions", "hardware_exceptions",
                                           "filter_native", "exception_through_native", "generics", "marshalling",
                                           "reverse_pinvoke", "crash_unhandled", "barrier_field", "barrier_array",
                                           "storms", "collectible", "dynamic_methods", "osr", "tiers", "shared_stubs",
                                           "resolvers", "helpers", "gc_wait"));

/// The tokens of the thread's frames, by pc.
std::map<Address, Address> tokens_of(const test::StoppedRuntime& seen, const ManagedThread& thread) {
  std::map<Address, Address> tokens;
  StackWalkContract contract(seen.code(), seen.memory());
  const ThreadCapture* c = seen.capture_of(thread);
  if (c == nullptr) return tokens;
  const StackView stack = test::StoppedRuntime::stack_of(*c);
  auto walk = contract.create_stack_walk(thread, c->registers, stack);
  while (walk.next())
    if (const auto token = contract.exact_generic_args_token(walk.current(), stack))
      tokens.emplace(walk.current().context.pc(), *token);
  return tokens;
}

// ClrMD says which objects a frame holds, and of which type they are: `this` is one of them.
TEST(ExactGenericArgsTokenLive, OfThisIsTheTypeOfAnObjectOfTheFrame) {
  const test::DotnetProcess process("generics");
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  const test::StoppedRuntime seen(process::open_live(process.pid()));
  ASSERT_TRUE(seen.ok());
  const auto oracle = process.ask_clrmd("--roots");
  const bool is_answer = oracle.end == test::ClrmdAnswer::End::answered;
  if (!is_answer && may_be_passed_over(oracle, seen)) GTEST_SKIP() << oracle.text();
  ASSERT_TRUE(is_answer) << oracle.text();
  std::map<std::string, std::map<Address, Address>> by_name;
  std::map<std::string, std::uint64_t> ids;
  for (const auto& t : seen.threads().threads) {
    const std::string name = thread_name(seen.memory(), t).value_or("");
    by_name[name] = tokens_of(seen, t);
    ids[name] = t.os_id;
  }
  const std::map<std::string, std::string> types{
      {"reference", "Scenarios.Shapes.Box<System.String>"},
      {"nested-argument",
       "Scenarios.Shapes.Box<System.Collections.Generic.List<System.Collections.Generic.Dictionary<"
       "System.Int32, System.String[]>>>"}};
  for (const auto& [name, type] : types) {
    std::size_t agreed = 0;
    for (const auto& t : oracle.json["threads"])
      for (const auto& r : t["roots"]) {
        if (t["osId"] != ids[name] || r["type"] != type) continue;
        const auto token = by_name[name].find(number(r["ip"]));
        if (token == by_name[name].end()) continue;  // the frame that calls it is no shared code
        EXPECT_EQ(token->second, number(r["methodTable"])) << name;
        agreed++;
      }
    EXPECT_GE(agreed, 1u) << name;
  }
  // A MethodDesc, and a MethodTable that no object tells; of one that nothing is shared in, none.
  for (const char* name : {"generic-method-reference", "generic-method-mixed", "static-generic"})
    EXPECT_FALSE(by_name[name].empty()) << name;
  EXPECT_TRUE(by_name["generic-method-value"].empty());
}

}  // namespace
}  // namespace mixstack::dotnet
