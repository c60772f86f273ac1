#include "engine/unwind/unwind_table.h"

#include <new>

#include "engine/unwind/compact_rule.h"
#include "engine/unwind/known_cfi_errors.h"
#include "engine/unwind/signal_trampoline.h"

namespace mixstack::unwind {

std::shared_ptr<const UnwindTable> UnwindTable::create(const images::UnwindSections& sections, Options options) {
  return std::make_shared<const UnwindTable>(sections, std::move(options));
}

std::shared_ptr<const UnwindTable> UnwindTable::create(std::shared_ptr<const images::ElfImage> image,
                                                       bool corrects_known_errors) {
  Options options;
  options.corrects_known_errors = corrects_known_errors;
  options.bytes_at = [raw = image.get()](std::uint64_t address, std::size_t size) {
    return raw->bytes_at(address, size);
  };
  const auto lazy = lazy_unwind_sections(*image);
  if (lazy) {
    options.lazy_eh_frame = std::make_unique<const LazySection>(*image, lazy->eh_frame.address, lazy->eh_frame.size);
  }
  const auto sections = lazy ? *lazy : image->unwind_sections();
  options.keep_alive = std::move(image);
  return create(sections, std::move(options));
}

UnwindTable::UnwindTable(const images::UnwindSections& sections, Options options)
    : arch_(sections.arch),
      options_(std::move(options)),
      parts_{{section(CfiFlavour::eh_frame, sections), sections.eh_frame_hdr},
             {section(CfiFlavour::debug_frame, sections), {}}},
      rows_(sections.arch, sections.eh_frame.size + sections.debug_frame.size) {}

UnwindTable::Part::Part(CfiSection cfi, const images::Section& header)
    : section(cfi), index(section, header.bytes, header.address) {
  if (index.size() == 0) return;
  // calloc: pages that no look-up touches stay untouched. All zero is RowRun::kEmpty.
  void* zeros = std::calloc(index.size(), sizeof(std::atomic<std::uint32_t>));
  if (zeros == nullptr) throw std::bad_alloc();
  runs.reset(static_cast<std::atomic<std::uint32_t>*>(zeros));
  compiler = std::make_unique<CfiCompiler>(section);
}

/// A compiler may leave a function that is never called without code: its FDE is empty and starts where the next
/// function does. lld lists only the first of the two in .eh_frame_hdr (28 functions of .NET 10's libcoreclr.so for
/// ARM64 are hidden so), and the other may be anywhere in the section: read it all, once.
std::optional<std::uint64_t> UnwindTable::Part::hidden_by(const Fde& empty) const {
  std::call_once(has_scanned, [&] {
    scanned = std::make_unique<const FdeIndex>(section, std::span<const std::byte>(), std::uint64_t{0});
  });
  const std::size_t i = scanned->find(empty.pc_begin);
  if (i == scanned->size() || scanned->code(i) != empty.pc_begin) return std::nullopt;
  return scanned->fde_offset(i);
}

CfiSection UnwindTable::section(CfiFlavour flavour, const images::UnwindSections& sections) const {
  const bool is_eh = flavour == CfiFlavour::eh_frame;
  const auto& from = is_eh ? sections.eh_frame : sections.debug_frame;
  CfiSection out;
  out.flavour = flavour;
  out.arch = sections.arch;
  out.address_size = sections.is_64_bit ? 8 : 4;
  out.bytes = from.bytes;
  out.address = is_eh ? from.address : 0;
  out.text_address = sections.text_address;
  out.data_address = sections.data_address;
  out.image = &options_.bytes_at;
  out.corrects_known_errors = options_.corrects_known_errors;
  if (is_eh && from.bytes.empty() && options_.lazy_eh_frame != nullptr) {
    out.lazy = options_.lazy_eh_frame.get();
    out.bytes = out.lazy->bytes();
  }
  return out;
}

RowRun UnwindTable::compile(const Part& part, std::size_t i) const {
  const std::lock_guard lock(mutex_);
  const RowRun known(part.runs[i].load(std::memory_order_relaxed));
  if (known.word() != RowRun::kEmpty) return known;
  RowRun run(RowRun::kNotCompiled);
  auto compiled = part.compiler->compile(part.index.fde_offset(i));
  if (compiled && compiled->fde.pc_begin == compiled->fde.pc_end)
    if (const auto hidden = part.hidden_by(compiled->fde)) compiled = part.compiler->compile(*hidden);
  // Rows are relative to the index's start of the function: a header that names another one is not trusted.
  if (compiled && compiled->fde.pc_begin == part.index.code(i))
    run = rows_.add(compiled->rows, static_cast<std::uint32_t>(compiled->fde.pc_end - compiled->fde.pc_begin));
  part.runs[i].store(run.word(), std::memory_order_release);
  return run;
}

const CompactRule& UnwindTable::not_compiled(const Part& part, std::size_t i, std::uint64_t pc) const {
  const auto found = read_at(part, i);
  const bool covers = found && found->fde.pc_begin == part.index.code(i) && pc < found->fde.pc_end;
  return rows_.rule(covers ? RowStore::kInterpret : RowStore::kNoRule);
}

/// FDEs that overlap hide one another in a table sorted by start; look a few entries back, then in .debug_frame.
const CompactRule& UnwindTable::find_elsewhere(std::uint64_t pc) const {
  for (const Part& part : parts_) {
    const std::size_t last = part.index.find(pc);
    if (last == part.index.size()) continue;
    for (std::size_t back = 0; back < kLookBack && back <= last; back++) {
      const CompactRule& rule = find_at(part, last - back, pc);
      if (rule.kind != CompactKind::none) return rule;
    }
  }
  return rows_.rule(RowStore::kNoRule);
}

Result<UnwindTable::Found> UnwindTable::read_fde_of(const Part& part, std::uint64_t offset) {
  const auto entry = read_entry(part.section, offset);
  if (!entry) return fail(entry.error());
  if (entry->is_terminator || entry->is_cie) return fail(ErrorCode::malformed, entry->offset);
  const auto cie = read_cie(part.section, entry->cie_offset);
  if (!cie) return fail(cie.error());
  const auto fde = read_fde(part.section, *entry, *cie);
  if (!fde) return fail(fde.error());
  return Found{&part, *cie, *fde};
}

Result<UnwindTable::Found> UnwindTable::read_at(const Part& part, std::size_t i) {
  auto found = read_fde_of(part, part.index.fde_offset(i));
  if (!found || found->fde.pc_begin != found->fde.pc_end) return found;
  const auto hidden = part.hidden_by(found->fde);
  return hidden ? read_fde_of(part, *hidden) : found;
}

Result<UnwindTable::Found> UnwindTable::fde_at(std::uint64_t pc) const {
  Error error{ErrorCode::no_unwind_info, 0, pc};
  for (const Part& part : parts_) {
    const std::size_t last = part.index.find(pc);
    if (last == part.index.size()) continue;
    for (std::size_t back = 0; back < kLookBack && back <= last; back++) {
      auto found = read_at(part, last - back);
      const bool is_meant = found && found->fde.pc_begin == part.index.code(last - back);
      if (is_meant && pc < found->fde.pc_end) return found;
      if (!found && back == 0) error = found.error();
    }
  }
  return fail(error);
}

Result<UnwindRule> UnwindTable::interpret(std::uint64_t pc, std::uint64_t load_bias) const {
  const auto found = fde_at(pc);
  if (!found) return fail(found.error());
  auto rule = interpret_fde(found->part->section, found->cie, found->fde, pc);
  if (!rule) return rule;
  correct_known_errors(found->part->section, found->fde, *rule);
  correct_old_trampoline(found->part->section.arch, *rule);
  rule->pool = this;
  rule->load_bias = load_bias;
  return rule;
}

Result<UnwindRule> UnwindTable::rule(std::uint64_t pc, std::uint64_t load_bias) const {
  const CompactRule& compact = find(pc);
  if (compact.kind == CompactKind::none || compact.kind == CompactKind::interpret) return interpret(pc, load_bias);
  return expand(compact, arch_);
}

std::optional<AddressRange> UnwindTable::function_at(std::uint64_t pc) const {
  const auto found = fde_at(pc);
  if (!found) return std::nullopt;
  return AddressRange{found->fde.pc_begin, found->fde.pc_end};
}

std::span<const std::byte> UnwindTable::expression(std::uint32_t number) const {
  const Part& part = parts_[expression_flavour(number) == CfiFlavour::debug_frame ? 1 : 0];
  return read_block(part.section, number >> 1);
}

void UnwindTable::compile_all() const {
  for (const Part& part : parts_)
    for (std::size_t i = 0; i < part.index.size(); i++) (void)compile(part, i);
}

UnwindTable::Statistics UnwindTable::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics s;
  s.rows = rows_.row_count();
  s.rules = rows_.rule_count();
  s.bytes = rows_.memory_size();
  for (const Part& part : parts_) {
    s.functions += part.index.size();
    s.bytes += part.index.memory_size() + part.index.size() * sizeof(std::uint32_t);
    s.section_bytes += part.section.bytes.size();
  }
  return s;
}

std::vector<std::uint64_t> UnwindTable::function_starts() const {
  std::vector<std::uint64_t> starts;
  for (const Part& part : parts_)
    for (std::size_t i = 0; i < part.index.size(); i++) starts.push_back(part.index.code(i));
  return starts;
}

}  // namespace mixstack::unwind
