#include "unwind/unwind_table.h"

#include "unwind/compact_rule.h"

namespace mixstack::unwind {

std::shared_ptr<const UnwindTable> UnwindTable::create(const object::UnwindSections& sections, Options options) {
  return std::make_shared<const UnwindTable>(sections, std::move(options));
}

std::shared_ptr<const UnwindTable> UnwindTable::create(std::shared_ptr<const object::ElfImage> image) {
  Options options;
  options.bytes_at = [raw = image.get()](std::uint64_t address, std::size_t size) {
    return raw->bytes_at(address, size);
  };
  const auto sections = image->unwind_sections();
  options.keep_alive = std::move(image);
  return create(sections, std::move(options));
}

UnwindTable::UnwindTable(const object::UnwindSections& sections, Options options)
    : arch_(sections.arch), options_(std::move(options)), rows_(sections.arch) {
  add_part(parts_[0], CfiFlavour::eh_frame, sections);
  add_part(parts_[1], CfiFlavour::debug_frame, sections);
}

void UnwindTable::add_part(Part& part, CfiFlavour flavour, const object::UnwindSections& sections) {
  const bool is_eh = flavour == CfiFlavour::eh_frame;
  const auto& section = is_eh ? sections.eh_frame : sections.debug_frame;
  part.section.flavour = flavour;
  part.section.arch = sections.arch;
  part.section.address_size = sections.is_64_bit ? 8 : 4;
  part.section.bytes = section.bytes;
  part.section.address = is_eh ? section.address : 0;
  part.section.text_address = sections.text_address;
  part.section.data_address = sections.data_address;
  part.section.image = &options_.bytes_at;
  if (section.bytes.empty()) return;
  const auto header = is_eh ? sections.eh_frame_hdr.bytes : std::span<const std::byte>{};
  part.index = FdeIndex::create(part.section, header, sections.eh_frame_hdr.address);
  part.runs = std::make_unique<std::atomic<std::uint32_t>[]>(part.index.size());
  part.compiler = std::make_unique<CfiCompiler>(part.section);
}

RowRun UnwindTable::compile(const Part& part, std::size_t i) const {
  const std::lock_guard lock(mutex_);
  const RowRun known(part.runs[i].load(std::memory_order_relaxed));
  if (known.word() != RowRun::kEmpty) return known;
  RowRun run(RowRun::kNotCompiled);
  const auto compiled = part.compiler->compile(part.index.fde_offset(i));
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

Result<UnwindTable::Found> UnwindTable::read_at(const Part& part, std::size_t i) {
  const auto entry = read_entry(part.section, part.index.fde_offset(i));
  if (!entry) return fail(entry.error());
  if (entry->is_terminator || entry->is_cie) return fail(ErrorCode::malformed, entry->offset);
  const auto cie = read_cie(part.section, entry->cie_offset);
  if (!cie) return fail(cie.error());
  const auto fde = read_fde(part.section, *entry, *cie);
  if (!fde) return fail(fde.error());
  return Found{&part, *cie, *fde};
}

Result<UnwindTable::Found> UnwindTable::fde_at(std::uint64_t pc) const {
  Error error{ErrorCode::no_unwind_info, 0, pc};
  for (const Part& part : parts_) {
    const std::size_t last = part.index.find(pc);
    if (last == part.index.size()) continue;
    for (std::size_t back = 0; back < kLookBack && back <= last; back++) {
      auto found = read_at(part, last - back);
      if (found && pc >= found->fde.pc_begin && pc < found->fde.pc_end) return found;
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
