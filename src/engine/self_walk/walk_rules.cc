// Finds rules that are not cached: from the dynamic linker to the unwind information's entry to the rule.
// Input: an address of our own process, in a signal handler. Output: the rule of the frame there, or why there is none.
// Algorithm: 1. The dynamic linker names the object. 2. Its record is kept, if it has an identity. 3. A binary search
// in .eh_frame_hdr finds the entry, which is interpreted up to the address. 4. PLTs, signal trampolines and known
// faults of entries are proved by bytes. Bounds: no allocation, no lock, no call that is not async-signal-safe; records
// are of a fixed number.
#include <algorithm>

#include "engine/self_walk/walk.h"
#include "engine/unwind/cfi_interpreter.h"
#include "engine/unwind/known_cfi_errors.h"
#include "engine/unwind/plt_stub.h"
#include "engine/unwind/signal_trampoline.h"

namespace mixstack::self_walk {
namespace {

using unwind::CompactKind;

[[nodiscard]] std::span<const std::byte> bytes_at(Address address, std::uint64_t size) {
  return {reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(address)), static_cast<std::size_t>(size)};
}

}  // namespace

std::span<const std::byte> SectionExpressions::expression(std::uint32_t number) const {
  return unwind::read_block(section_, number >> 1);
}

bool Walk::validate(std::uint16_t module, CodeAddress pc) {
  LoadedObject object;
  if (module >= tables_.modules().size()) return false;
  if (!tables_.finder().find(pc.lookup(), object) || !tables_.modules()[module].is(object, memory_)) return false;
  valid_[module / 64] |= std::uint64_t{1} << (module % 64);
  return true;
}

const ModuleRecord* Walk::module_at(Address pc, std::uint16_t& index) {
  LoadedObject object;
  index = ModuleRecords::kNone;
  if (!tables_.finder().find(pc, object)) return nullptr;
  ModuleRecords& modules = tables_.modules();
  index = modules.find(object, memory_);
  if (index == ModuleRecords::kNone) {
    unkept_ = ModuleRecord::read(object, tables_.is_initial(object), memory_);
    if (!unkept_->has_identity()) return &*unkept_;
    index = modules.add(*unkept_);
    if (index == ModuleRecords::kNone) return &*unkept_;
  }
  valid_[index / 64] |= std::uint64_t{1} << (index % 64);
  return &modules[index];
}

/// Binary search in the table of .eh_frame_hdr: the address of the FDE of the last entry at or below `pc`.
Result<Address> Walk::entry_at(const ModuleRecord& module, Address pc) {
  const auto key = static_cast<std::int64_t>(pc - module.eh_frame_hdr);
  std::uint64_t low = 0, high = module.count;
  std::int32_t code = 0, entry = 0;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (!memory_.load(module.table + middle * 8, code)) return fail(ErrorCode::unreadable_memory, module.table);
    if (code <= key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return fail(ErrorCode::no_unwind_info, pc);
  if (!memory_.load(module.table + (low - 1) * 8 + 4, entry)) return fail(ErrorCode::unreadable_memory, module.table);
  return module.eh_frame_hdr + static_cast<Address>(std::int64_t{entry});
}

/// Whether all bytes of the entry, by its length, are readable; later reads stay within them.
bool Walk::entry_is_readable(Address entry, const ModuleRecord& module) {
  constexpr std::uint64_t kLongestHead = 20;
  if (entry < module.eh_frame || entry >= module.range.end) return false;
  std::uint32_t length = 0;
  if (!memory_.load(entry, length)) return false;
  // 64-bit entries do not occur in .eh_frame below 4 GiB; refusing them keeps sizes small.
  if (length >= 0xfffffff0u) return false;
  const std::uint64_t size = std::max<std::uint64_t>(length + std::uint64_t{4}, kLongestHead);
  return memory_.is_readable(entry, std::min<std::uint64_t>(size, module.range.end - entry));
}

/// An empty FDE may hide another of the same start from .eh_frame_hdr (see UnwindTable::hidden_by): reads the section
/// from its start to find it. Some 100 us at most, once for each address, since the rule is cached.
std::optional<std::uint64_t> Walk::entry_hidden_by(const Site& site, const ModuleRecord& module) {
  constexpr unsigned kMostEntries = 1u << 18;  // the largest images have some 100,000
  constexpr std::uint64_t kSmallestFde = 16;
  std::uint64_t offset = 0;
  for (unsigned i = 0; i < kMostEntries; i++) {
    std::uint32_t length = 0;
    std::int32_t start = 0;
    const Address at = module.eh_frame + offset;
    if (at + kSmallestFde > module.range.end || !memory_.load(at, length) || length == 0) break;
    if (length >= 0xfffffff0u) break;
    // In images with a sorted table, starts are 32 bits relative to their own place; a match is then read completely.
    const bool is_it = length + std::uint64_t{4} >= kSmallestFde && memory_.load(at + 8, start) &&
                       at + 8 + static_cast<Address>(std::int64_t{start}) == site.fde.pc_begin;
    if (is_it && offset != site.fde.offset && entry_is_readable(at, module)) return offset;
    offset += length + std::uint64_t{4};
  }
  return std::nullopt;
}

/// Reads the FDE at `offset` of the section, and its CIE, into `site`.
Result<void> Walk::read_site(Site& site, std::uint64_t offset, const ModuleRecord& module) {
  const auto entry = unwind::read_entry(site.section, offset);
  if (!entry) return fail(entry.error());
  if (entry->is_cie || entry->is_terminator) return fail(ErrorCode::malformed, module.eh_frame + offset);
  const Address cie = module.eh_frame + entry->cie_offset;
  if (!initial_ || initial_at_ != cie) {
    if (!entry_is_readable(cie, module)) return fail(ErrorCode::unreadable_memory, cie);
    auto initial = unwind::read_initial_row(site.section, entry->cie_offset);
    if (!initial) return fail(initial.error());
    initial_ = *initial;
    initial_at_ = cie;
  }
  site.initial = &*initial_;
  const auto fde = unwind::read_fde(site.section, *entry, initial_->cie);
  if (!fde) return fail(fde.error());
  site.fde = *fde;
  return {};
}

Result<Walk::Site> Walk::site_at(CodeAddress pc) {
  Site site;
  const Address address = pc.lookup();
  const ModuleRecord* module = module_at(address, site.module);
  if (module == nullptr) return fail(ErrorCode::not_found, address);
  if (module->count == 0) return fail(ErrorCode::no_unwind_info, address);
  const auto at = entry_at(*module, address);
  if (!at) return fail(at.error());
  if (!entry_is_readable(*at, *module)) return fail(ErrorCode::unreadable_memory, *at);
  site.section.arch = host::arch();
  site.section.address = module->eh_frame;
  site.section.bytes = bytes_at(module->eh_frame, module->range.end - module->eh_frame);
  if (const auto read = read_site(site, *at - module->eh_frame, *module); !read) return fail(read.error());
  if (site.fde.pc_begin == site.fde.pc_end)
    if (const auto hidden = entry_hidden_by(site, *module))
      if (const auto read = read_site(site, *hidden, *module); !read) return fail(read.error());
  if (address < site.fde.pc_begin || address >= site.fde.pc_end) return fail(ErrorCode::no_unwind_info, address);
  return site;
}

PackedRule Walk::look_up(Address key) {
  PackedRule rule;
  if (!tables_.slots().find_second(key, rule)) return make_rule(key);
  // Only now and then, so that rules in use end up in the small table, but two with the same slot do not replace each
  // other in every walk.
  if (tables_.count_second_hit() % 61 == 0) keep_rule(key, rule);
  return rule;
}

PackedRule Walk::look_up_again(Address key, PackedRule found) {
  return validate(found.module(), code_address(key)) ? found : make_rule(key);
}

/// `rule`: a row or a rule of the function.
template <class Rule>
void Walk::correct_known_error(Rule& rule, const unwind::Fde& fde) {
  if (!unwind::may_have_known_error(host::arch(), rule, fde.pc_end - fde.pc_begin)) return;
  if (memory_.is_readable(fde.pc_begin, unwind::kKnownErrorBytes))
    unwind::correct_known_error(host::arch(), rule, bytes_at(fde.pc_begin, unwind::kKnownErrorBytes));
}

unwind::CompactRule Walk::row_at(const Site& site, CodeAddress pc) {
  auto row = unwind::compact_row(site.section, *site.initial, site.fde, pc.lookup());
  correct_known_error(row, site.fde);
  return row;
}

PackedRule Walk::make_rule(Address key) {
  constexpr PackedRule kUnknown{0, 0, 0, step_kind::kNotPlain << 16, CodeRules::kUnknownOwner};
  const CodeAddress pc = code_address(key);
  if (is_replaced(pc)) return kUnknown;
  const auto site = site_at(pc);
  // The general step handles code without unwind information, and reports errors.
  if (!site) return site.error().code == ErrorCode::not_found ? made_code_rule(key) : kUnknown;
  trace_.rules_found++;
  unwind::CompactRule row = row_at(*site, pc);
  row.depth = *std::max_element(row.slots.begin(), row.slots.end());
  const bool is_kept = site->module != ModuleRecords::kNone;
  const bool may_go = is_kept && !tables_.modules()[site->module].is_initial;
  const auto rule = arch::dispatch(host::arch(), kUnknown,
                                   [&]<Arch A>() { return PackedRule::from<A>(row, pc, site->module, may_go); });
  if (is_kept) keep_rule(key, rule);
  return rule;
}

/// The rule of code generated at run time.
PackedRule Walk::made_code_rule(Address key) {
  constexpr PackedRule kUnknown{0, 0, 0, step_kind::kNotPlain << 16, CodeRules::kUnknownOwner};
  const CodeAddress pc = code_address(key);
  CodeRules::Answer answer;
  if (sources_.code == nullptr || !sources_.code->compact(pc, memory_, answer)) return kUnknown;
  trace_.rules_found++;
  answer.rule.depth = *std::max_element(answer.rule.slots.begin(), answer.rule.slots.end());
  auto rule = arch::dispatch(host::arch(), kUnknown, [&]<Arch A>() {
    return PackedRule::from<A>(answer.rule, pc, ModuleRecords::kNone, false);
  });
  rule.owner = answer.owner;
  keep_rule(key, rule);
  return rule;
}

void Walk::keep_rule(Address key, const PackedRule& rule) {
  if (turn_ == 0) return;
  arch::dispatch(host::arch(), [&]<Arch A>() {
    const RuleSlots& slots = tables_.slots();
    const auto put = slots.put<A>(key, rule);
    if (put.has_replaced) tables_.count_replaced();
    if (!tables_.turns().is_over(turn_)) return;
    slots.drop<A>(key);
    if (put.moved != 0) slots.drop<A>(put.moved);
  });
}

Result<unwind::UnwindRule> Walk::general_rule(CodeAddress pc) {
  const auto site = site_at(pc);
  if (!site) {
    if (site.error().code == ErrorCode::not_found && sources_.code != nullptr) {
      auto made = sources_.code->general(pc, memory_);
      if (made || made.error().code != ErrorCode::not_found) return made;
    }
    if (auto trampoline = trampoline_rule(pc)) return trampoline;
    if (const auto stub = plt_stub_rule(pc)) return *stub;
    if (auto bare = tables_.bare().rule(pc)) return bare;
    return fail(site.error());
  }
  const auto row = row_at(*site, pc);
  if (row.kind != CompactKind::interpret) return unwind::expand(row, host::arch());
  auto rule = unwind::interpret_fde_in_place(site->section, site->initial->cie, site->fde, pc.lookup());
  if (!rule) return rule;
  correct_known_error(*rule, site->fde);
  unwind::correct_old_trampoline(host::arch(), *rule);
  rule->pool = &expressions_.emplace(site->section);
  return rule;
}

/// Only interrupted code can be in a stub: stubs jump.
std::optional<unwind::UnwindRule> Walk::plt_stub_rule(CodeAddress pc) {
  constexpr Address kPage = 4096;
  if (!pc.is_exact()) return std::nullopt;
  // Code may begin and end with a page; only the page of the pc itself is known to be there.
  const Address in_page = pc.raw() & (kPage - 1);
  Address before = unwind::kPltStubBefore, after = unwind::kPltStubAfter;
  if (!memory_.is_readable(pc.raw() - before, before)) before = std::min(before, in_page);
  if (!memory_.is_readable(pc.raw(), after)) after = std::min(after, kPage - in_page);
  if (!memory_.is_readable(pc.raw() - before, before + after)) return std::nullopt;
  return unwind::match_plt_stub(host::arch(), bytes_at(pc.raw() - before, before + after), before);
}

Result<unwind::UnwindRule> Walk::trampoline_rule(CodeAddress pc) {
  const std::uint64_t size = unwind::kSignalTrampolineBytes;
  if (!memory_.is_readable(pc.raw(), size)) return fail(ErrorCode::bad_return_address, pc.raw());
  if (auto rule = unwind::match_signal_trampoline(host::arch(), bytes_at(pc.raw(), size))) return *rule;
  return fail(ErrorCode::no_unwind_info, pc.raw());
}

}  // namespace mixstack::self_walk
