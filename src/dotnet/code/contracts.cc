#include "dotnet/code/contracts.h"

#include <iterator>
#include <span>

namespace mixstack::dotnet {
namespace {

struct Need {
  std::string_view type, field;
};

// Versions whose algorithms are implemented, and the fields each contract cannot do without. Optional fields (later
// documents, other CPUs) are judged where they are used.
struct Rule {
  std::string_view name;
  std::uint32_t oldest, newest;
  std::span<const Need> needs;
};

constexpr std::string_view kNames[] = {"Thread",           "ExecutionManager", "StackWalk",    "PrecodeStubs",
                                       "PlatformMetadata", "Loader",           "EcmaMetadata", "RuntimeTypeSystem",
                                       "Object",           "Exception"};

// docs/design/datacontracts/Thread.md
constexpr Need kThread[] = {{"Thread", "Id"},
                            {"Thread", "OSId"},
                            {"Thread", "Frame"},
                            {"Thread", "LinkNext"},
                            {"Thread", "State"},
                            {"Thread", "PreemptiveGCDisabled"},
                            {"ThreadStore", "FirstThreadLink"}};
// ExecutionManager.md, versions 1 (linear nibble map) and 2 (constant-time nibble map)
constexpr Need kExecutionManager[] = {{"RangeSectionMap", "TopLevelData"},
                                      {"RangeSectionFragment", "RangeBegin"},
                                      {"RangeSectionFragment", "RangeEndOpen"},
                                      {"RangeSectionFragment", "RangeSection"},
                                      {"RangeSectionFragment", "Next"},
                                      {"RangeSection", "RangeBegin"},
                                      {"RangeSection", "RangeEndOpen"},
                                      {"RangeSection", "Flags"},
                                      {"RangeSection", "HeapList"},
                                      {"RangeSection", "R2RModule"},
                                      {"CodeHeapListNode", "MapBase"},
                                      {"CodeHeapListNode", "HeaderMap"},
                                      {"CodeHeapListNode", "StartAddress"},
                                      {"CodeHeapListNode", "EndAddress"},
                                      {"RealCodeHeader", "MethodDesc"},
                                      {"Module", "ReadyToRunInfo"},
                                      {"ReadyToRunInfo", "CompositeInfo"},
                                      {"ReadyToRunInfo", "RuntimeFunctions"},
                                      {"ReadyToRunInfo", "NumRuntimeFunctions"},
                                      {"ReadyToRunInfo", "EntryPointToMethodDescMap"},
                                      {"RuntimeFunction", "BeginAddress"},
                                      {"HashMap", "Buckets"},
                                      {"Bucket", "Keys"},
                                      {"Bucket", "Values"}};
// StackWalk.md, the early form: what every released version 1 has
constexpr Need kStackWalk[] = {{"Frame", "Next"},
                               {"InlinedCallFrame", "CallSiteSP"},
                               {"InlinedCallFrame", "CallerReturnAddress"},
                               {"InlinedCallFrame", "CalleeSavedFP"}};
constexpr Need kPrecode[] = {{"PlatformMetadata", "PrecodeMachineDescriptor"}};
constexpr Need kLoader[] = {{"Module", "Base"}, {"Module", "Flags"}};
constexpr Need kTypes[] = {{"MethodTable", "MTFlags"},          {"MethodTable", "MTFlags2"},
                           {"MethodTable", "EEClassOrCanonMT"}, {"MethodTable", "Module"},
                           {"MethodDesc", "ChunkIndex"},        {"MethodDesc", "Flags"},
                           {"MethodDescChunk", "MethodTable"}};
constexpr Need kObject[] = {{"Object", "m_pMethTab"}, {"String", "m_FirstChar"}, {"String", "m_StringLength"}};
constexpr Need kException[] = {
    {"Thread", "ExceptionTracker"}, {"ExceptionInfo", "ThrownObject"}, {"ExceptionInfo", "PreviousNestedInfo"}};

Rule rule_of(Contract c) {
  const auto name = contract_name(c);
  switch (c) {
    case Contract::thread:
      return {name, 1, 1, kThread};
    case Contract::execution_manager:
      return {name, 1, 2, kExecutionManager};
    case Contract::stack_walk:
      return {name, 1, 1, kStackWalk};
    case Contract::precode_stubs:
      return {name, 3, 3, kPrecode};
    case Contract::platform_metadata:
      return {name, 1, 1, kPrecode};
    case Contract::loader:
      return {name, 1, 1, kLoader};
    case Contract::ecma_metadata:
      return {name, 1, 1, {}};
    case Contract::runtime_type_system:
      return {name, 1, 1, kTypes};
    case Contract::object:
      return {name, 1, 1, kObject};
    case Contract::exception:
      return {name, 1, 1, kException};
    case Contract::count:
      break;
  }
  return {{}, 1, 0, {}};
}

Diagnosis judge_one(const Descriptor& d, const Rule& rule) {
  const auto version = d.contract(rule.name);
  if (!version) return {ErrorCode::not_found, std::string(rule.name), 0};
  if (*version < rule.oldest || *version > rule.newest)
    return {ErrorCode::contract_unsupported, std::string(rule.name), *version};
  for (const Need& n : rule.needs)
    if (!d.offset(n.type, n.field))
      return {ErrorCode::field_unavailable, std::string(n.type) + "." + std::string(n.field), *version};
  return {};
}

// Numbers without which the code look-ups would divide by zero or read past their tables.
Diagnosis judge_numbers(const Layouts& l) {
  if (l.pointer_size == 8 && l.runtime_function.size < 8)
    return {ErrorCode::field_unavailable, "RuntimeFunction.!", l.runtime_function.size};
  if (!l.globals.code_range_map) return {ErrorCode::field_unavailable, "ExecutionManagerCodeRangeMapAddress", 0};
  if (!l.globals.stub_code_block_last) return {ErrorCode::field_unavailable, "StubCodeBlockLast", 0};
  return {};
}

}  // namespace

std::string_view contract_name(Contract contract) {
  const auto i = static_cast<std::size_t>(contract);
  return i < std::size(kNames) ? kNames[i] : std::string_view{};
}

Contracts Contracts::judge(const Descriptor& descriptor, const Layouts& layouts) {
  Contracts result;
  for (std::size_t i = 0; i < kCount; i++) {
    const auto c = static_cast<Contract>(i);
    Diagnosis why = judge_one(descriptor, rule_of(c));
    if (why.code == ErrorCode::none && c == Contract::execution_manager) why = judge_numbers(layouts);
    if (why.code == ErrorCode::none && c == Contract::thread && !layouts.globals.thread_store)
      why = {ErrorCode::field_unavailable, "ThreadStore", 0};
    if (why.code == ErrorCode::none) {
      result.version_[i] = descriptor.contract(contract_name(c)).value_or(0);
    } else {
      result.refusals_.push_back(why);
      result.refusal_[i] = std::move(why);
    }
  }
  return result;
}

}  // namespace mixstack::dotnet
