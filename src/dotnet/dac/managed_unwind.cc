#include "dotnet/dac/managed_unwind.h"

#include "dotnet/code/exception_clauses.h"
#include "dotnet/code/function_table.h"
#include "engine/images/pe_image.h"
#include "engine/unwind/windows/format.h"

namespace mixstack::dotnet::dac {
namespace {

// RealCodeHeader of 64-bit runtimes (src/coreclr/vm/codeman.h; the descriptor of .NET 10 says the same).
constexpr unsigned kHandlers = 8, kGcInfo = 16, kMethodDesc = 24, kRowCount = 32, kRows = 36;

/// The parts of the runtime's layouts that are needed here: RUNTIME_FUNCTION, fixed by each CPU's exception format, and
/// the place of a method's exception clauses.
Layouts row_layouts(Arch arch, const unwind::windows::Format& format) {
  Layouts layouts;
  layouts.arch = arch;
  layouts.pointer_size = arch_registers(arch).pointer_size;
  auto& row = layouts.runtime_function;
  row.begin_address.offset = 0;
  if (format.row_has_end) row.end_address.offset = 4;
  row.unwind_data.offset = format.row_has_end ? 8 : 4;
  row.size = row.unwind_data.offset + 4;
  layouts.real_code_header.eh_info.offset = kHandlers;
  return layouts;
}

Result<FunctionTable> jit_table(const RuntimeMemory& memory, const Description& method) {
  auto header = memory.pointer_at(method.start - memory.pointer_size());
  if (!header) return fail(header.error());
  auto owner = memory.pointer_at(*header + kMethodDesc);
  auto gc_info = memory.pointer_at(*header + kGcInfo);
  auto count = memory.reader().read<std::uint32_t>(*header + kRowCount);
  auto first = memory.reader().read<std::uint32_t>(*header + kRows);
  if (!owner || !gc_info || !count || !first) return fail(ErrorCode::unreadable_memory, *header);
  if (*owner != method.method || *gc_info != method.gc_info) return fail(ErrorCode::mismatch, *header);
  // The first row is the method's own, so the base of the rows follows from the method's start.
  if (*first > method.start) return fail(ErrorCode::malformed, *header);
  return FunctionTable{*header + kRows, *count, method.start - *first};
}

Result<FunctionTable> image_table(const RuntimeMemory& memory, const images::ModuleMap& modules, Address code) {
  const ModuleIndex index = modules.find(code);
  if (index == kNoModule || modules.modules()[index].kind != images::ModuleKind::pe)
    return fail(ErrorCode::not_found, code);
  const Address base = modules.modules()[index].load_bias;
  auto image = images::PeImage::from_memory(memory.reader(), base, images::PeLayout::mapped);
  if (!image) return fail(image.error());
  const auto rows = image->directory(images::PeDirectoryId::exception);
  if (rows.empty()) return fail(ErrorCode::not_found, code);
  return FunctionTable{base + rows.rva, rows.size / memory.layouts().runtime_function.size, base};
}

}  // namespace

Result<ManagedRow> managed_row(const MemoryReader& reader, const images::ModuleMap& modules, Arch arch,
                               const Description& method, CodeAddress pc) {
  const auto* format = unwind::windows::format_of(arch);
  if (format == nullptr) return fail(ErrorCode::unsupported_cpu);
  const Layouts layouts = row_layouts(arch, *format);
  const RuntimeMemory memory(reader, layouts);
  auto table = method.is_jitted ? jit_table(memory, method) : image_table(memory, modules, pc.lookup());
  if (!table) return fail(table.error());
  if (pc.lookup() < table->image_base) return fail(ErrorCode::not_found, pc.raw());
  const Address rva = pc.lookup() - table->image_base;
  if (rva > 0xffffffffu) return fail(ErrorCode::not_found, pc.raw());
  std::uint32_t ordinal = 0;
  auto row = method.is_jitted ? table->find_among_few(memory, static_cast<std::uint32_t>(rva), ordinal)
                              : table->find(memory, static_cast<std::uint32_t>(rva));
  if (!row) return fail(row.error());
  const Address begin = table->image_base + row->function.begin;
  const bool is_cold = pc.lookup() - method.cold_start < method.cold_size;
  const bool is_funclet = begin != method.start && !is_cold && !is_fragment(memory, table->image_base, *row);
  ManagedRow found{row->function, table->image_base, is_funclet ? FuncletKind::unknown : FuncletKind::none};
  const auto header = memory.pointer_at(method.start - memory.pointer_size());
  if (is_funclet && method.is_jitted && header && begin > method.start)
    found.funclet = jit_funclet_kind(memory, *header, static_cast<std::uint32_t>(begin - method.start));
  return found;
}

Result<unwind::UnwindRule> managed_rule(const MemoryReader& memory, const ManagedRow& row, Arch arch, CodeAddress pc) {
  const unwind::windows::MemoryUnwindData data(memory, row.image_base);
  const auto rva = static_cast<std::uint32_t>(pc.raw() - row.image_base);
  const auto* format = unwind::windows::format_of(arch);
  if (format == nullptr) return fail(ErrorCode::unsupported_cpu);
  return format->rule(data, {row.row, rva, !pc.is_exact()});
}

}  // namespace mixstack::dotnet::dac
