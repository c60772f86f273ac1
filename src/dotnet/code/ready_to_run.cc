// Input: a range section of the runtime's code map, and an address in its image.
// Output: the row that unwinds the address, its method, and whether it is a funclet, cold code or a thunk; tables of
// the method (debug information, inlined methods).
// Algorithm: open() reads Module, ReadyToRunInfo and the header's sections once. find(): thunks first, because they
// have no row; then the row by binary search; the hot row of a cold one; back over fragments to the first row of the
// function; the method at its entry point. Only if there is no method, the exception clauses of the method before
// decide whether the row is a funclet. Cold rows last, because their offsets count from the end of the hot part.
// Bounds: rows at most the bytes of the range, kMaxSections sections, kMaxComponents component assemblies,
// kMaxFragmentRows steps back, InliningTable::kMaxSection bytes of inlining data.
#include "dotnet/code/ready_to_run.h"

#include <algorithm>

#include <array>

#include "dotnet/code/entry_point_map.h"
#include "dotnet/code/native_array.h"

namespace mixstack::dotnet {
namespace {

// ReadyToRunSectionType and READYTORUN_HEADER, src/coreclr/inc/readytorun.h.
constexpr std::uint32_t kSignature = 0x00525452;  // "RTR\0"
constexpr std::uint32_t kImportSections = 101, kRuntimeFunctions = 102, kExceptionInfo = 104, kDebugInfo = 105;
constexpr std::uint32_t kComponentAssemblies = 115, kCrossModuleInlineInfo = 119;
constexpr std::uint32_t kMultiModuleVersionBubble = 0x40;
constexpr unsigned kMajorVersionOffset = 4, kFlagsOffset = 8, kSectionCountOffset = 12;
constexpr unsigned kMaxFragmentRows = 64;

struct SectionEntry {
  std::uint32_t type, rva, size;
};

}  // namespace

Result<ReadyToRunImage> ReadyToRunImage::open(const RuntimeMemory& memory, const RangeSection& section) {
  const auto& l = memory.layouts();
  const auto& i = l.ready_to_run_info;
  auto own = memory.pointer(section.module, l.module.ready_to_run_info);
  if (!own) return fail(own.error());
  auto info = memory.pointer(*own, i.composite_info);
  if (!info) return fail(info.error());
  ReadyToRunImage image;
  image.functions_.image_base = section.range.begin;
  auto rows = memory.pointer(*info, i.runtime_functions);
  auto count = memory.value<std::uint32_t>(*info, i.num_runtime_functions);
  if (!rows || !count) return fail(ErrorCode::unreadable_memory, *info);
  image.functions_.rows = *rows;
  // A row stands for at least one byte of the image.
  if (*count > section.range.size()) return fail(ErrorCode::limit_exceeded, *count);
  image.functions_.count = *count;
  image.entry_points_ = i.entry_point_to_method_desc_map ? *info + i.entry_point_to_method_desc_map.offset : 0;
  if (auto n = memory.value<std::uint32_t>(*info, i.num_hot_cold_map); n && *n != 0 && *n <= 2 * *count) {
    image.hot_cold_map_ = memory.pointer(*info, i.hot_cold_map).value_or(0);
    image.hot_cold_count_ = image.hot_cold_map_ == 0 ? 0 : *n & ~1u;
  }
  if (auto thunks = memory.pointer(*info, i.delay_load_thunks); thunks && *thunks != 0) {
    image.thunks_.rva = memory.value<std::uint32_t>(*thunks, l.image_data_directory.virtual_address).value_or(0);
    image.thunks_.size = memory.value<std::uint32_t>(*thunks, l.image_data_directory.size).value_or(0);
  }
  if (auto header = memory.pointer(*info, i.header); header && *header != 0)
    image.read_header(memory.constants(), *header);
  return image;
}

// Without sections the owner of a funclet cannot be found; everything else works.
void ReadyToRunImage::read_header(const RuntimeMemory& memory, Address header) {
  auto signature = memory.reader().read<std::uint32_t>(header);
  auto flags = memory.reader().read<std::uint32_t>(header + kFlagsOffset);
  auto count = memory.reader().read<std::uint32_t>(header + kSectionCountOffset);
  if (!signature || *signature != kSignature || !flags || !count) return;
  major_version_ = memory.reader().read<std::uint16_t>(header + kMajorVersionOffset).value_or(0);
  has_modules_ = (*flags & kMultiModuleVersionBubble) != 0;
  read_sections(memory, header + kSectionCountOffset + 4, *count);
}

void ReadyToRunImage::read_sections(const RuntimeMemory& memory, Address sections, std::uint32_t count) {
  if (count > kMaxSections) return;
  std::vector<SectionEntry> table(count);
  if (!memory.reader().read_exact(sections, std::as_writable_bytes(std::span(table)))) return;
  std::uint32_t left = kMaxComponents;  // of all sections together
  for (const auto& s : table) {
    if (s.type == kExceptionInfo) exception_tables_.push_back({s.rva, s.size});
    if (s.type == kDebugInfo) debug_info_ = {s.rva, s.size};
    if (s.type == kImportSections) imports_ = {s.rva, s.size};
    if (s.type == kRuntimeFunctions) rows_ = {s.rva, s.size};
    if (s.type == kCrossModuleInlineInfo) inlining_ = {s.rva, s.size};
    if (s.type == kComponentAssemblies) is_composite_ = true;
    if (s.type != kComponentAssemblies) continue;
    // READYTORUN_COMPONENT_ASSEMBLIES_ENTRY: the assembly's COR header, then its core header {flags, sections...}.
    constexpr std::uint32_t kEntrySize = 16, kCoreHeaderRva = 8;
    for (std::uint32_t n = 0; n < s.size / kEntrySize && left > 0; n++, left--) {
      auto core = memory.reader().read<std::uint32_t>(base() + s.rva + n * kEntrySize + kCoreHeaderRva);
      if (!core || *core == 0) continue;
      auto inner = memory.reader().read<std::uint32_t>(base() + *core + 4);
      if (!inner || *inner > kMaxSections) continue;
      std::vector<SectionEntry> own(*inner);
      if (!memory.reader().read_exact(base() + *core + 8, std::as_writable_bytes(std::span(own)))) continue;
      // An assembly has one such table.
      const auto found = std::find_if(own.begin(), own.end(), [](const auto& e) { return e.type == kExceptionInfo; });
      if (found != own.end()) exception_tables_.push_back({found->rva, found->size});
    }
  }
}

Result<bool> ReadyToRunImage::agrees_with_header(const RuntimeMemory& memory) const {
  const std::uint32_t row_size = memory.layouts().runtime_function.size;
  if (rows_.size == 0) return fail(ErrorCode::unreadable_memory, base());
  // The last row in the image only ends the table.
  const bool agrees = row_size != 0 && base() + rows_.rva == functions_.rows &&
                      rows_.size / row_size >= functions_.count && rows_.size / row_size - functions_.count <= 1;
  return agrees ? holds_methods(memory, entry_points_, base()) : Result<bool>(false);
}

Result<Address> ReadyToRunImage::debug_info(const RuntimeMemory& memory, Address method_start) const {
  const Address offset = method_start - base();
  if (debug_info_.size == 0 || method_start < base() || offset > 0xffffffffu)
    return fail(ErrorCode::not_found, method_start);
  const RuntimeMemory tables = memory.constants();
  const auto row = functions_.find(tables, static_cast<std::uint32_t>(offset));
  if (!row) return fail(row.error());
  const Address begin = base() + debug_info_.rva;
  const NativeArray array(tables.reader(), {begin, begin + debug_info_.size});
  const auto element = array.at(row->index);
  if (!element) return element;
  // Equal information is stored once: the element says how far before it.
  const auto back = array.number_at(*element);
  if (!back) return fail(back.error());
  if (back->value == 0) return back->next;
  if (back->value > *element - begin) return fail(ErrorCode::malformed, *element);
  return *element - back->value;
}

Result<InliningTable> ReadyToRunImage::inlining(const RuntimeMemory& memory) const {
  if (inlining_.size == 0 || is_composite_) return fail(ErrorCode::not_found, base());
  if (inlining_.size > InliningTable::kMaxSection) return fail(ErrorCode::limit_exceeded, inlining_.size);
  std::vector<std::byte> section(inlining_.size);
  if (const auto read = memory.constants().reader().read_exact(base() + inlining_.rva, section); !read)
    return fail(read.error());
  return InliningTable::decode(section, has_modules_);
}

Result<ReadyToRunImage::HotCold> ReadyToRunImage::hot_cold(const RuntimeMemory& memory, std::uint32_t index) const {
  HotCold result{false, index, index};
  if (hot_cold_count_ < 2) return result;
  const auto word = [&](std::uint32_t i) {
    return memory.reader().read<std::uint32_t>(hot_cold_map_ + Address{i} * 4);
  };
  auto first = word(0);
  if (!first) return fail(first.error());
  if (index < *first) return result;
  // Pairs {cold row, hot row}, ascending; cold funclets follow their method's cold row.
  std::uint32_t low = 0, high = hot_cold_count_ / 2;
  while (low + 1 < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    auto cold = word(2 * middle);
    if (!cold) return fail(cold.error());
    (*cold <= index ? low : high) = middle;
  }
  auto cold = word(2 * low);
  auto hot = word(2 * low + 1);
  if (!cold || !hot) return fail(ErrorCode::unreadable_memory, hot_cold_map_);
  if (*hot >= functions_.count || *cold > index) return fail(ErrorCode::malformed, hot_cold_map_);
  return HotCold{true, *hot, *cold};
}

// CORCOMPILE_EXCEPTION_LOOKUP_TABLE_ENTRY, src/coreclr/inc/corcompile.h.
Result<ReadyToRunImage::Handlers> ReadyToRunImage::handlers_in(const RuntimeMemory& memory, const Directory& table,
                                                               std::uint32_t rva) const {
  struct Entry {
    std::uint32_t method, clauses;
  };
  const auto entry = [&](std::uint32_t i) { return memory.reader().read<Entry>(base() + table.rva + Address{i} * 8); };
  std::uint32_t low = 0, high = table.size / 8;
  if (high < 2) return fail(ErrorCode::not_found, rva);
  high--;  // the last entry only ends the list of clauses
  while (low + 1 < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    auto e = entry(middle);
    if (!e) return fail(e.error());
    (e->method <= rva ? low : high) = middle;
  }
  auto e = entry(low);
  auto next = entry(low + 1);
  if (!e || !next) return fail(ErrorCode::unreadable_memory, rva);
  if (e->method > rva || next->clauses < e->clauses) return fail(ErrorCode::not_found, rva);
  return Handlers{e->method, {base() + e->clauses, (next->clauses - e->clauses) / kClauseSize, kClauseSize}};
}

// The clauses of a method name the offset of each handler and filter. A row that starts at none of them is no funclet.
Result<ReadyToRunImage::Owner> ReadyToRunImage::owner_of_funclet(const RuntimeMemory& memory, std::uint32_t rva) const {
  const RuntimeMemory tables = memory.constants();
  for (const Directory& table : exception_tables_) {
    const auto before = handlers_in(tables, table, rva);
    if (!before || before->method == rva) continue;
    if (const auto kind = funclet_kind(tables.reader(), before->clauses, rva - before->method))
      return Owner{before->method, *kind};
  }
  return fail(ErrorCode::not_found, rva);
}

FuncletKind ReadyToRunImage::cold_funclet(const RuntimeMemory& memory, std::uint32_t method,
                                          std::uint32_t offset) const {
  for (const Directory& table : exception_tables_)
    if (const auto own = handlers_in(memory, table, method); own && own->method == method)
      return funclet_kind(memory.reader(), own->clauses, offset).value_or(FuncletKind::none);
  return FuncletKind::none;
}

// In a method's tables the cold part goes on where the hot one ends (ReadyToRunJitManager::JitCodeToMethodInfo). It
// often begins with a funclet itself; every other row of it that is no fragment is one.
void ReadyToRunImage::describe_cold(const RuntimeMemory& memory, const HotCold& parts, ReadyToRunCode& code) const {
  code.origin = 0;
  const bool is_first = code.row.index == parts.cold;
  if (!is_first && !is_fragment(memory, base(), code.row)) code.funclet = FuncletKind::unknown;
  const auto first = functions_.row(memory, parts.hot), cold = functions_.row(memory, parts.cold);
  if (!first || !cold) return;
  const auto hot = functions_.find(memory, first->function.begin);  // with its end
  if (!hot || hot->end <= hot->function.begin) return;
  const std::uint32_t size = hot->end - hot->function.begin;
  code.origin = base() + cold->function.begin - size;
  const std::uint32_t offset = code.row.function.begin - cold->function.begin + size;
  const FuncletKind kind = cold_funclet(memory, hot->function.begin, offset);
  if (kind != FuncletKind::none) code.funclet = kind;
}

void ReadyToRunImage::resolve_method(const RuntimeMemory& memory, std::uint32_t first_row_index,
                                     ReadyToRunCode& code) const {
  const RuntimeMemory tables = memory.constants();
  auto first = functions_.row(tables, first_row_index);
  // Later pieces of a large function follow its first row.
  for (unsigned n = 0; first && n < kMaxFragmentRows && first->index != 0 && is_fragment(tables, base(), *first); n++)
    first = functions_.row(tables, first->index - 1);
  if (!first) return;
  code.method_start = base() + first->function.begin;
  if (auto method = method_at_entry_point(memory, entry_points_, code.method_start)) {
    code.method_desc = *method;
    return;
  }
  auto owner = owner_of_funclet(memory, first->function.begin);
  if (!owner) return;
  code.funclet = owner->kind;
  code.method_start = base() + owner->method;
  code.method_desc = method_at_entry_point(memory, entry_points_, code.method_start).value_or(0);
}

Result<ReadyToRunCode> ReadyToRunImage::find(const RuntimeMemory& memory, Address pc) const {
  const Address offset = pc - base();
  if (pc < base() || offset > 0xffffffffu) return fail(ErrorCode::not_found, pc);
  const auto rva = static_cast<std::uint32_t>(offset);
  ReadyToRunCode code;
  if (rva - thunks_.rva < thunks_.size) {
    code.is_thunk = true;
    return code;
  }
  const RuntimeMemory tables = memory.constants();
  auto row = functions_.find(tables, rva);
  if (!row) return fail(row.error());
  code.row = *row;
  auto parts = hot_cold(tables, row->index);
  if (!parts) return fail(parts.error());
  code.is_cold = parts->is_cold;
  resolve_method(memory, parts->hot, code);
  code.origin = code.method_start;
  if (parts->is_cold) describe_cold(tables, *parts, code);
  return code;
}

}  // namespace mixstack::dotnet
