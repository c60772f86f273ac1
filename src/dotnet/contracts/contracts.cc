#include "dotnet/contracts/contracts.h"

#include <iterator>

namespace mixstack::dotnet {
namespace {

// Versions whose algorithms are implemented (algorithms.h), by the version of the descriptor. layout/ names the fields
// that a contract cannot do without; optional fields (later documents, other CPUs) are judged where they are used.
struct Versions {
  std::uint32_t oldest = 1, newest = 1;
};
constexpr char kCoreClr = 'c';

constexpr std::string_view kNames[] = {"Thread",           "ExecutionManager", "StackWalk",    "PrecodeStubs",
                                       "PlatformMetadata", "Loader",           "EcmaMetadata", "RuntimeTypeSystem",
                                       "Object",           "Exception"};

Versions versions_of(Contract c, std::uint32_t format) {
  if (format == Descriptor::kFormatOfLetters) return {1, 1};
  switch (c) {
    case Contract::execution_manager:  // linear nibble map, constant-time nibble map
      return {1, 2};
    case Contract::precode_stubs:
      return {3, 3};
    default:
      return {1, 1};
  }
}

Diagnosis judge_one(const Descriptor& d, Contract c, const std::vector<NeededField>& needed) {
  const std::string name(contract_name(c));
  const auto version = d.contract(name);
  if (!version) return refusal_of(ErrorCode::not_found, name);
  const char letter = d.format() == Descriptor::kFormatOfLetters ? kCoreClr : '\0';
  if (version->letter != letter)
    return refusal_of(ErrorCode::contract_unsupported, name + " " + version->text(), version->number);
  if (const auto [oldest, newest] = versions_of(c, d.format()); version->number < oldest || version->number > newest)
    return refusal_of(ErrorCode::contract_unsupported, letter == 0 ? name : name + " " + version->text(),
                      version->number);
  for (const NeededField& n : needed)
    if (n.contract == c && !d.offset(n.type, n.field))
      return refusal_of(ErrorCode::field_unavailable, std::string(n.type) + "." + std::string(n.field),
                        version->number);
  return {};
}

// Numbers without which the code look-ups would divide by zero or read past their tables.
Diagnosis judge_numbers(const Layouts& l) {
  if (l.pointer_size == 8 && l.runtime_function.size < 8)
    return refusal_of(ErrorCode::field_unavailable, "RuntimeFunction.!", l.runtime_function.size);
  if (!l.globals.code_range_map) return refusal_of(ErrorCode::field_unavailable, "ExecutionManagerCodeRangeMapAddress");
  if (!l.globals.stub_code_block_last) return refusal_of(ErrorCode::field_unavailable, "StubCodeBlockLast");
  return {};
}

}  // namespace

std::string_view contract_name(Contract contract) {
  const auto i = static_cast<std::size_t>(contract);
  return i < std::size(kNames) ? kNames[i] : std::string_view{};
}

Contracts Contracts::judge(const Descriptor& descriptor, const Layouts& layouts) {
  Contracts result;
  const std::vector<NeededField> needed = needed_fields();
  for (std::size_t i = 0; i < kCount; i++) {
    const auto c = static_cast<Contract>(i);
    Diagnosis why = judge_one(descriptor, c, needed);
    if (why.error.code == ErrorCode::none && c == Contract::execution_manager) why = judge_numbers(layouts);
    if (why.error.code == ErrorCode::none && c == Contract::thread && !layouts.globals.thread_store)
      why = refusal_of(ErrorCode::field_unavailable, "ThreadStore");
    if (why.error.code == ErrorCode::none) {
      result.admitted_[i] = true;
    } else {
      result.refusals_.push_back(why);
      result.refusal_[i] = std::move(why);
    }
  }
  return result;
}

}  // namespace mixstack::dotnet
