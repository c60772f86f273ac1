#include "dotnet/code/jit_code.h"

#include "dotnet/code/exception_clauses.h"

namespace mixstack::dotnet {
namespace {

Result<Address> method_start(const RuntimeMemory& memory, const RangeSection& section, NibbleMapForm form, Address pc) {
  const auto& l = memory.layouts().code_heap_list_node;
  const Address heap = section.heap_list;
  auto begin = memory.pointer(heap, l.start_address);
  auto end = memory.pointer(heap, l.end_address);
  auto base = memory.pointer(heap, l.map_base);
  auto map = memory.pointer(heap, l.header_map);
  if (!begin || !end || !base || !map) return fail(ErrorCode::unreadable_memory, heap);
  if (pc < *begin || pc > *end) return fail(ErrorCode::not_found, pc);
  auto start = NibbleMap{form, *base, *map}.method_start(memory.reader(), pc);
  if (start && !section.range.contains(*start)) return fail(ErrorCode::malformed, *start);
  return start;
}

}  // namespace

Result<JitCode> find_jit_code(const RuntimeMemory& memory, const RangeSection& section, NibbleMapForm form,
                              Address pc) {
  const auto& l = memory.layouts();
  auto start = method_start(memory, section, form, pc);
  if (!start) return fail(start.error());
  JitCode code;
  code.method_start = *start;
  // CodeHeader: one pointer right before the code, or a small number in its place for stubs.
  auto header = memory.pointer_at(*start - memory.pointer_size());
  if (!header) return fail(header.error());
  if (*header <= l.globals.stub_code_block_last.value) {
    code.is_stub = true;
    code.stub_block = *header;
    return code;
  }
  code.code_header = *header;
  auto method = memory.pointer(*header, l.real_code_header.method_desc);
  if (!method) return fail(method.error());
  code.method_desc = *method;
  auto count = memory.value<std::uint32_t>(*header, l.real_code_header.num_unwind_infos);
  if (!count || !l.real_code_header.unwind_infos) return fail(ErrorCode::unreadable_memory, *header);

  const FunctionTable rows{*header + l.real_code_header.unwind_infos.offset, *count, section.range.begin};
  std::uint32_t ordinal = 0;
  auto row = rows.find_among_few(memory, static_cast<std::uint32_t>(pc - section.range.begin), ordinal);
  // The nibble map does not know where a method ends: behind its last row there is none.
  if (!row) return fail(row.error());
  code.row = *row;
  const Address row_start = section.range.begin + row->function.begin;
  if (row_start != *start && !is_fragment(memory, section.range.begin, *row))
    code.funclet = jit_funclet_kind(memory, *header, static_cast<std::uint32_t>(row_start - *start));
  return code;
}

}  // namespace mixstack::dotnet
