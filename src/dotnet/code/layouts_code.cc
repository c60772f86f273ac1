// Code heaps, ReadyToRun images, stubs and Frames: names as in src/coreclr/vm/datadescriptor/datadescriptor.inc.
#include <algorithm>
#include <cctype>
#include <string>

#include "dotnet/code/layouts_resolver.h"

namespace mixstack::dotnet {
namespace {

// DWARF number of a register as datadescriptor.inc spells it ("Rbx", "X19", "Fp", "Lr", "R4", "Edi").
int register_number(Arch arch, std::string_view name) {
  struct Named {
    std::string_view name;
    unsigned reg;
  };
  static constexpr Named x64[] = {{"Rax", x86_64_reg::rax}, {"Rdx", x86_64_reg::rdx}, {"Rcx", x86_64_reg::rcx},
                                  {"Rbx", x86_64_reg::rbx}, {"Rsi", x86_64_reg::rsi}, {"Rdi", x86_64_reg::rdi},
                                  {"Rbp", x86_64_reg::rbp}, {"R8", x86_64_reg::r8},   {"R9", x86_64_reg::r9},
                                  {"R10", x86_64_reg::r10}, {"R11", x86_64_reg::r11}, {"R12", x86_64_reg::r12},
                                  {"R13", x86_64_reg::r13}, {"R14", x86_64_reg::r14}, {"R15", x86_64_reg::r15}};
  static constexpr Named x86[] = {{"Eax", x86_reg::eax}, {"Ecx", x86_reg::ecx}, {"Edx", x86_reg::edx},
                                  {"Ebx", x86_reg::ebx}, {"Ebp", x86_reg::ebp}, {"Esi", x86_reg::esi},
                                  {"Edi", x86_reg::edi}};
  const auto find = [&](auto& table) {
    for (const auto& n : table)
      if (n.name == name) return static_cast<int>(n.reg);
    return -1;
  };
  const auto numbered = [&](char prefix, unsigned limit) {
    if (name.size() < 2 || name.size() > 3 || name[0] != prefix) return -1;
    unsigned n = 0;
    for (const char c : name.substr(1)) {
      if (c < '0' || c > '9') return -1;
      n = n * 10 + static_cast<unsigned>(c - '0');
    }
    return n < limit ? static_cast<int>(n) : -1;
  };
  switch (arch) {
    case Arch::x86_64:
      return find(x64);
    case Arch::x86:
      return find(x86);
    case Arch::aarch64:
      if (name == "Fp") return aarch64_reg::fp;
      if (name == "Lr") return aarch64_reg::lr;
      return numbered('X', 31);
    case Arch::arm:
      if (name == "Lr") return arm_reg::lr;
      return numbered('R', 13);
    case Arch::unknown:
      break;
  }
  return -1;
}

void resolve_block(const LayoutResolver& r, Arch arch, std::string_view type, RegisterBlockLayout& block) {
  r.size(type, block.size);
  const auto* t = r.descriptor().type(type);
  if (t == nullptr) return;
  for (const auto& [name, field] : t->fields) {
    const int reg = register_number(arch, name);
    if (reg < 0 || field.offset > 0xffff || block.count == RegisterBlockLayout::kMax) continue;
    block.entries[block.count++] = {static_cast<std::uint8_t>(reg), static_cast<std::uint16_t>(field.offset)};
  }
}

void resolve_precode(const LayoutResolver& r, Layouts& l) {
  r.fields("PlatformMetadata", {{&l.platform_metadata.precode_machine_descriptor, "PrecodeMachineDescriptor"}});
  auto& p = l.precode_machine;
  r.fields("PrecodeMachineDescriptor", {{&p.invalid_type, "InvalidPrecodeType"},
                                        {&p.pinvoke_import_type, "PInvokeImportPrecodeType"},
                                        {&p.fixup_type, "FixupPrecodeType"},
                                        {&p.fixup_code_offset, "FixupCodeOffset"},
                                        {&p.fixup_stub_size, "FixupStubPrecodeSize"},
                                        {&p.fixup_bytes, "FixupBytes"},
                                        {&p.fixup_ignored, "FixupIgnoredBytes"},
                                        {&p.stub_size, "StubPrecodeSize"},
                                        {&p.stub_type, "StubPrecodeType"},
                                        {&p.stub_bytes, "StubBytes"},
                                        {&p.stub_ignored, "StubIgnoredBytes"},
                                        {&p.this_ptr_ret_buf_type, "ThisPointerRetBufPrecodeType"},
                                        {&p.um_entry_type, "UMEntryPrecodeType"},
                                        {&p.stub_code_page_size, "StubCodePageSize"}});
  r.fields("StubPrecodeData",
           {{&l.stub_precode_data.secret_param, "SecretParam"}, {&l.stub_precode_data.type, "Type"}});
  r.fields("FixupPrecodeData", {{&l.fixup_precode_data.method_desc, "MethodDesc"}});
  r.fields("ThisPtrRetBufPrecodeData", {{&l.this_ptr_ret_buf_precode_data.method_desc, "MethodDesc"}});
}

void resolve_ready_to_run(const LayoutResolver& r, Layouts& l) {
  auto& i = l.ready_to_run_info;
  r.fields("ReadyToRunInfo", {{&i.header, "ReadyToRunHeader"},
                              {&i.composite_info, "CompositeInfo"},
                              {&i.num_runtime_functions, "NumRuntimeFunctions"},
                              {&i.runtime_functions, "RuntimeFunctions"},
                              {&i.num_hot_cold_map, "NumHotColdMap"},
                              {&i.hot_cold_map, "HotColdMap"},
                              {&i.delay_load_thunks, "DelayLoadMethodCallThunks"},
                              {&i.entry_point_to_method_desc_map, "EntryPointToMethodDescMap"}});
  r.fields("ImageDataDirectory",
           {{&l.image_data_directory.virtual_address, "VirtualAddress"}, {&l.image_data_directory.size, "Size"}});
  r.fields("HashMap", {{&l.hash_map.buckets, "Buckets"}});
  r.size("Bucket", l.bucket.size);
  r.fields("Bucket", {{&l.bucket.keys, "Keys"}, {&l.bucket.values, "Values"}});
}

}  // namespace

void resolve_code_layouts(const LayoutResolver& r, Layouts& l) {
  r.fields("RangeSectionMap", {{&l.range_section_map.top_level_data, "TopLevelData"}});
  auto& f = l.range_section_fragment;
  r.fields("RangeSectionFragment", {{&f.range_begin, "RangeBegin"},
                                    {&f.range_end_open, "RangeEndOpen"},
                                    {&f.range_section, "RangeSection"},
                                    {&f.next, "Next"}});
  auto& s = l.range_section;
  r.fields("RangeSection", {{&s.range_begin, "RangeBegin"},
                            {&s.range_end_open, "RangeEndOpen"},
                            {&s.next_for_delete, "NextForDelete"},
                            {&s.jit_manager, "JitManager"},
                            {&s.flags, "Flags"},
                            {&s.heap_list, "HeapList"},
                            {&s.r2r_module, "R2RModule"},
                            {&s.range_list, "RangeList"}});
  r.fields("CodeRangeMapRangeList", {{&l.code_range_list.type, "RangeListType"}});
  auto& n = l.code_heap_list_node;
  r.fields("CodeHeapListNode", {{&n.next, "Next"},
                                {&n.start_address, "StartAddress"},
                                {&n.end_address, "EndAddress"},
                                {&n.map_base, "MapBase"},
                                {&n.header_map, "HeaderMap"}});
  auto& h = l.real_code_header;
  r.fields("RealCodeHeader", {{&h.method_desc, "MethodDesc"},
                              {&h.gc_info, "GCInfo"},
                              {&h.num_unwind_infos, "NumUnwindInfos"},
                              {&h.unwind_infos, "UnwindInfos"},
                              {&h.debug_info, "DebugInfo"},
                              {&h.eh_info, "EHInfo"}});
  auto& u = l.runtime_function;
  r.size("RuntimeFunction", u.size);
  r.fields("RuntimeFunction",
           {{&u.begin_address, "BeginAddress"}, {&u.end_address, "EndAddress"}, {&u.unwind_data, "UnwindData"}});
  resolve_ready_to_run(r, l);
  resolve_precode(r, l);
}

static void resolve_method_frames(const LayoutResolver& r, Layouts& l) {
  auto& i = l.inlined_call_frame;
  r.size("InlinedCallFrame", i.size);
  r.fields("InlinedCallFrame", {{&i.call_site_sp, "CallSiteSP"},
                                {&i.caller_return_address, "CallerReturnAddress"},
                                {&i.callee_saved_fp, "CalleeSavedFP"},
                                {&i.sp_after_prolog, "SPAfterProlog"},
                                {&i.datum, "Datum"}});
  auto& m = l.framed_method_frame;
  r.size("FramedMethodFrame", m.size);
  r.fields("FramedMethodFrame", {{&m.transition_block, "TransitionBlockPtr"}, {&m.method_desc, "MethodDescPtr"}});
  auto& s = l.stub_dispatch_frame;
  r.fields("StubDispatchFrame", {{&s.method_desc, "MethodDescPtr"},
                                 {&s.representative_mt, "RepresentativeMTPtr"},
                                 {&s.representative_slot, "RepresentativeSlot"}});
  auto& t = l.transition_block;
  r.size("TransitionBlock", t.size);
  r.fields("TransitionBlock", {{&t.return_address, "ReturnAddress"},
                               {&t.callee_saved_registers, "CalleeSavedRegisters"},
                               {&t.argument_registers, "ArgumentRegisters"}});
}

void resolve_frame_layouts(const LayoutResolver& r, Layouts& l) {
  r.fields("Frame", {{&l.frame.next, "Next"}});
  resolve_method_frames(r, l);
  r.size("SoftwareExceptionFrame", l.software_exception_frame.size);
  r.fields("SoftwareExceptionFrame", {{&l.software_exception_frame.target_context, "TargetContext"},
                                      {&l.software_exception_frame.return_address, "ReturnAddress"}});
  r.fields("FuncEvalFrame", {{&l.func_eval_frame.debugger_eval, "DebuggerEvalPtr"}});
  r.fields("DebuggerEval", {{&l.debugger_eval.target_context, "TargetContext"},
                            {&l.debugger_eval.eval_during_exception, "EvalDuringException"}});
  r.fields("ResumableFrame", {{&l.resumable_frame.target_context, "TargetContextPtr"}});
  r.fields("FaultingExceptionFrame", {{&l.faulting_exception_frame.target_context, "TargetContext"}});
  r.fields("HijackFrame",
           {{&l.hijack_frame.return_address, "ReturnAddress"}, {&l.hijack_frame.hijack_args, "HijackArgsPtr"}});
  r.size("TailCallFrame", l.tail_call_frame.size);
  r.fields("TailCallFrame", {{&l.tail_call_frame.callee_saved_registers, "CalleeSavedRegisters"},
                             {&l.tail_call_frame.return_address, "ReturnAddress"}});
  resolve_block(r, l.arch, "CalleeSavedRegisters", l.callee_saved_registers);
  resolve_block(r, l.arch, "ArgumentRegisters", l.argument_registers);
  auto& h = l.hijack_args;
  resolve_block(r, l.arch, "HijackArgs", h.registers);
  r.size("HijackArgs", h.size);
  r.fields("HijackArgs", {{&h.callee_saved_registers, "CalleeSavedRegisters"}, {&h.rsp, "Rsp"}});
}

}  // namespace mixstack::dotnet
