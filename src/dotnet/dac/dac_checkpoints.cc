#include "dotnet/dac/dac_checkpoints.h"

#include <algorithm>
#include <array>

#include "base/arch/cpu.h"

namespace mixstack::dotnet::dac {
namespace {

bool same_place(const Registers& a, const Registers& b) { return a.pc() == b.pc() && a.sp() == b.sp(); }

walk::Checkpoint checkpoint_of(const Element& record, const Element* next) {
  walk::Checkpoint c;
  c.address = record.record;
  c.method = record.method;
  const Arch arch = record.registers.arch();
  c.context = Registers(arch);
  if (next == nullptr || same_place(record.registers, next->registers)) return c;
  const RecordKind kind = record_kind(record.record_name, arch);
  c.context = next->registers;
  c.context.keep(kind.known);
  c.interrupted = kind.interrupted;
  c.resumes = next->registers.pc() != 0;
  return c;
}

}  // namespace

RecordKind record_kind(std::string_view name, Arch arch) {
  const auto numbers = arch_registers(arch);
  const auto bit = [](unsigned reg) { return std::uint64_t{1} << reg; };
  const std::uint64_t place = bit(numbers.pc) | bit(numbers.sp) | bit(numbers.fp);
  if (name == "InlinedCallFrame") return {place, false};
  // Frames that hold a whole CONTEXT of code that was interrupted.
  constexpr std::array<std::string_view, 4> kInterrupted{"FaultingExceptionFrame", "ResumableFrame",
                                                         "RedirectedThreadFrame", "FuncEvalFrame"};
  if (std::find(kInterrupted.begin(), kInterrupted.end(), name) != kInterrupted.end())
    return {bit(numbers.count) - 1, true};
  return {place | arch::cpu(arch).preserved_with_sp(), false};
}

std::vector<walk::Checkpoint> checkpoints_of(std::span<const Element> elements) {
  std::vector<walk::Checkpoint> list;
  for (std::size_t i = 0; i < elements.size(); i++) {
    if (elements[i].kind != ElementKind::record) continue;
    const Element* next = i + 1 < elements.size() ? &elements[i + 1] : nullptr;
    walk::Checkpoint c = checkpoint_of(elements[i], next);
    const auto known =
        std::find_if(list.begin(), list.end(), [&](const walk::Checkpoint& old) { return old.address == c.address; });
    // A Frame is seen again when the walk reaches the method whose own record it is.
    if (known == list.end()) {
      list.push_back(std::move(c));
    } else if (c.resumes && !known->resumes) {
      *known = std::move(c);
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  return list;
}

}  // namespace mixstack::dotnet::dac
