// LINK: mixstack_engine_unwind
// .eh_frame, .eh_frame_hdr and .debug_frame of any content. Beyond not crashing: what the compiled table says must be
// what executing the FDE says, and a step must be what apply does.
#include <array>
#include <cstdlib>
#include <vector>

#include "engine/unwind/rule_step.h"

namespace {

using namespace mixstack;          // NOLINT
using namespace mixstack::unwind;  // NOLINT

constexpr Address kStack = 0x7ffe00000000;

/// Without the rules that say of a register nobody preserves that it is not preserved: the table drops them.
std::vector<RegisterRule> meaningful(const UnwindRule& rule, Arch arch) {
  std::vector<RegisterRule> out;
  for (std::size_t i = 0; i < rule.count; i++) {
    const RegisterRule& r = rule.rules[i];
    const bool preserved = (arch::cpu(arch).preserved_with_sp() >> r.reg & 1) != 0 || r.reg == rule.ra_register;
    if (preserved || r.kind != RegisterRuleKind::undefined) out.push_back(r);
  }
  return out;
}

bool same(const UnwindRule& a, const UnwindRule& b, Arch arch) {
  if (a.cfa_kind != b.cfa_kind || a.is_end_of_stack != b.is_end_of_stack || a.ra_register != b.ra_register)
    return false;
  if (a.cfa_register != b.cfa_register || a.cfa_offset != b.cfa_offset) return false;
  return a.ra_is_signed == b.ra_is_signed && a.plt_step == b.plt_step && meaningful(a, arch) == meaningful(b, arch);
}

void look_at(const std::shared_ptr<const UnwindTable>& table, RuleStepper& stepper, std::uint64_t pc) {
  const auto rule = table->rule(pc);
  const auto interpreted = table->interpret(pc);
  if (rule.has_value() != interpreted.has_value()) std::abort();
  if (rule && !same(*rule, *interpreted, table->arch())) std::abort();
  (void)table->function_at(pc);

  static const std::array<std::uint64_t, 512> words{};
  const StackView stack{kStack, reinterpret_cast<const std::byte*>(words.data()), sizeof(words), nullptr};
  Registers registers(table->arch());
  for (unsigned r = 0; r < arch_registers(table->arch()).count; r++) registers.set(r, kStack + 64 + 8 * r);
  registers.set_pc(pc);
  LightFrame light = LightFrame::innermost(registers);
  Registers applied = registers;
  const auto step = stepper.step(CodeAddress::exact(pc), registers, stack);
  (void)stepper.step_light(light, stack);
  if (!rule || step.status != RuleStatus::caller) return;
  const auto caller = apply(*rule, applied, CodeAddress::exact(pc), stack);
  if (!caller || caller->cfa != step.cfa || !(applied == registers)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Flags, size of the header section, addresses of header and section; then the two.
  base::ByteCursor cursor(std::as_bytes(std::span(data, size)));
  const std::uint8_t flags = cursor.u8();
  const std::uint16_t header_size = cursor.u16();
  images::UnwindSections sections;
  sections.arch = (flags & 1) != 0 ? Arch::aarch64 : Arch::x86_64;
  sections.is_64_bit = (flags & 2) == 0;
  sections.eh_frame_hdr.address = cursor.u64();
  auto& section = (flags & 4) != 0 ? sections.debug_frame : sections.eh_frame;
  section.address = cursor.u64();
  sections.text_address = 0x1000;
  sections.data_address = 0x3000;
  sections.eh_frame_hdr.bytes = cursor.bytes(header_size);
  if (!cursor.ok()) return 0;
  section.bytes = cursor.rest();
  section.size = section.bytes.size();

  const auto table = UnwindTable::create(sections, UnwindTable::Options());
  RuleStepper stepper(sections.arch);
  stepper.set_modules(NativeModules({{{0, ~Address{0}}, 0, 0, table}}));
  unsigned left = 12;
  for (const std::uint64_t start : table->function_starts()) {
    if (left-- == 0) break;
    for (const std::uint64_t delta : {0u, 1u, 5u, 100u}) look_at(table, stepper, start + delta);
  }
  return 0;
}
