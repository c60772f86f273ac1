#include "dotnet/code/supplement.h"

#include <algorithm>

#include "base/arch/cpu.h"
#include "dotnet/code/frames/frame_chain.h"
#include "dotnet/code/method_check.h"
#include "dotnet/code/threads.h"

namespace mixstack::dotnet {
namespace {

// Offsets of .NET 10.0 (10.0.9 arm64, 10.0.12 x64), read on live processes; the order of the members is that of
// src/coreclr/vm/{frames.h,threads.h,codeman.h}. Structures have the same shape on all 64-bit Unix targets.
constexpr unsigned kEnoughThreads = 24;      // whose evidence is looked at
constexpr std::size_t kEnoughFrames = 4096;  // of each of them

struct Shape {
  Field field;
  std::uint32_t offset;
};

bool looks_like(std::initializer_list<Shape> shapes) {
  return std::all_of(shapes.begin(), shapes.end(), [](const Shape& s) { return s.field.offset == s.offset; });
}

constexpr std::string_view kDatum = "InlinedCallFrame.Datum";
constexpr std::string_view kMethodDescPtr = "FramedMethodFrame.MethodDescPtr";
constexpr std::string_view kDispatch = "StubDispatchFrame.RepresentativeMTPtr";
constexpr std::string_view kExternal = "ExternalMethodFrame.Indirection";
constexpr std::string_view kDebugInfo = "RealCodeHeader.DebugInfo";
constexpr std::string_view kRangeListType = "CodeRangeMapRangeList.RangeListType";
constexpr std::string_view kStackBounds = "Thread.CachedStackBase";
constexpr std::string_view kDynamicIl = "Module.DynamicILBlobTable";
constexpr std::string_view kEditedMetadata = "PEAssembly.MDImport";
constexpr std::string_view kHijack = "Thread.HijackedReturnAddress";

bool is_unix_64(const Layouts& l) { return l.pointer_size == 8 && !l.is_windows && arch::cpu(l.arch).is_walked; }

bool inlined_call_frame_of_10(const Layouts& l) {
  const auto& i = l.inlined_call_frame;
  return is_unix_64(l) && i.size == 56 &&
         looks_like({{i.call_site_sp, 24}, {i.caller_return_address, 32}, {i.callee_saved_fp, 40}});
}
bool framed_method_frame_of_10(const Layouts& l) {
  return is_unix_64(l) && l.framed_method_frame.size == 32 &&
         looks_like({{l.framed_method_frame.transition_block, 16}});
}
bool code_header_of_10(const Layouts& l) {
  return is_unix_64(l) && looks_like({{l.real_code_header.gc_info, 16}, {l.real_code_header.method_desc, 24}});
}
bool range_section_of_10(const Layouts& l) {
  return is_unix_64(l) &&
         looks_like(
             {{l.range_section.jit_manager, 24}, {l.range_section.r2r_module, 32}, {l.range_section.heap_list, 40}});
}
// Module: the debugger's changes lie before the metadata that it emitted; .NET 11 describes both so. Nothing in a
// process proves it, so it is used only for modules that can be edited, and can only remove lines.
bool module_of_10(const Layouts& l) {
  return is_unix_64(l) && looks_like({{l.module.dynamic_metadata, 840}, {l.module.ready_to_run_info, 704}});
}
// The metadata that Hot Reload writes to has the shape that .NET 11 describes. The reader proves it each time: all
// tables must be as long as their rows, and the module must be the same.
bool pe_assembly_of_10(const Layouts& l) {
  return module_of_10(l) && looks_like({{l.pe_assembly.pe_image, 8}, {l.pe_assembly.assembly_binder, 64}});
}
// Thread: link, stack base and limit, two more limits, hijacked return address, its slot, its method, ..., OS id.
bool thread_of_10(const Layouts& l) {
  const auto& t = l.thread;
  if (!is_unix_64(l) || !t.link_next || !t.os_id) return false;
  const std::uint32_t link = t.link_next.offset;
  return looks_like({{t.os_id, link + 184}, {t.gc_handle, link + 192}, {t.last_thrown_object, link + 224}});
}
// The same words, fewer of them between the hijacked method and the OS id: on ARM64 one more than on x64.
bool thread_of_11(const Layouts& l) {
  const auto& t = l.thread;
  if (!is_unix_64(l) || !t.link_next || !t.os_id) return false;
  const std::uint32_t link = t.link_next.offset;
  const auto with_os_id = [&](std::uint32_t at) {
    return looks_like({{t.os_id, at}, {t.gc_handle, at + 8}, {t.last_thrown_object, at + 40}});
  };
  return with_os_id(link + 112) || with_os_id(link + 120);
}

// glibc's stacks are whole pages; musl has its own data at the top of one, so that the bounds are only words.
bool could_be_stack(const AddressRange& stack) {
  constexpr std::uint64_t kLeast = 16u << 10, kMost = std::uint64_t{1} << 30;
  return stack.begin % 8 == 0 && stack.end % 8 == 0 && stack.begin < stack.end && stack.size() >= kLeast &&
         stack.size() <= kMost;
}

}  // namespace

Supplement Supplement::apply(Layouts& l) {
  using State = SupplementEntry::State;
  Supplement s;
  const auto supply = [&](std::string_view name, bool known_shape,
                          std::initializer_list<std::pair<Field*, std::uint32_t>> fields) {
    const bool described = std::all_of(fields.begin(), fields.end(), [](auto& f) { return f.first->present(); });
    if (described) return s.note(name, State::described);
    if (!known_shape) return s.note(name, State::no_match);
    for (const auto& [field, offset] : fields)
      if (!field->present()) field->offset = offset;
    s.note(name, State::unproved);
  };
  supply(kDatum, inlined_call_frame_of_10(l), {{&l.inlined_call_frame.datum, 16}});
  const bool framed = framed_method_frame_of_10(l);
  supply(kMethodDescPtr, framed, {{&l.framed_method_frame.method_desc, 24}});
  supply(kDispatch, framed,
         {{&l.stub_dispatch_frame.method_desc, 24},
          {&l.stub_dispatch_frame.representative_mt, 32},
          {&l.stub_dispatch_frame.representative_slot, 40}});
  supply(kExternal, framed, {{&l.external_method_frame.indirection, 40}});
  supply(kDebugInfo, code_header_of_10(l), {{&l.real_code_header.debug_info, 0}, {&l.real_code_header.eh_info, 8}});
  supply(kRangeListType, range_section_of_10(l), {{&l.range_section.range_list, 48}, {&l.code_range_list.type, 288}});
  supply(kDynamicIl, module_of_10(l), {{&l.module.dynamic_il, 792}});
  if (pe_assembly_of_10(l)) {  // of others nothing is missed: without it added methods have no names
    EditedMetadataLayout& edited = l.edited_metadata;
    supply(kEditedMetadata, true,
           {{&l.pe_assembly.md_import_is_rw, 16},
            {&l.pe_assembly.md_import, 24},
            {&edited.stgdb, 16},
            {&edited.mini_md, 0},
            {&edited.schema, 8},
            {&edited.table_count, 216},
            {&edited.tables, 1368},
            {&edited.string_heap, 5328},
            {&edited.blob_heap, 5456},
            {&edited.guid_heap, 5696},
            {&edited.heaps, 6},
            {&edited.sorted, 16},
            {&edited.record_counts, 24},
            {&edited.pool_data, 8},
            {&edited.pool_next, 16},
            {&edited.pool_used, 28},
            {&edited.segment_data, 0},
            {&edited.segment_next, 8},
            {&edited.segment_used, 20}});
    if (edited.table_size == 0) edited.table_size = 80;
  }
  const bool thread = thread_of_10(l) || thread_of_11(l);
  const std::uint32_t link = thread ? l.thread.link_next.offset : 0;
  supply(kStackBounds, thread, {{&l.thread.cached_stack_base, link + 8}, {&l.thread.cached_stack_limit, link + 16}});
  supply(kHijack, thread,
         {{&l.thread.hijacked_return_address, link + 40}, {&l.thread.hijacked_return_address_slot, link + 48}});
  update_thread_extent(l.thread);
  return s;
}

void Supplement::conclude(std::string_view field, unsigned agreed, unsigned disagreed,
                          std::initializer_list<Field*> fields) {
  using State = SupplementEntry::State;
  for (auto& e : entries_) {
    if (e.field != field || (e.state != State::unproved && e.state != State::verified)) continue;
    if (disagreed > agreed) {
      e.state = State::contradicted;
      for (Field* f : fields) *f = {};
    } else if (agreed != 0) {
      e.state = State::verified;
    }
  }
}

// Every started thread's stack bounds are plausible and hold its newest Frame; the hijack words are the pattern the
// constructor leaves (0xcc...) or belong to a thread that says it was hijacked once: a slot on its own stack.
void Supplement::verify_threads(const MemoryReader& reader, Layouts& l) {
  const RuntimeMemory memory(reader, l);
  unsigned bounds_good = 0, bounds_bad = 0, hijack_good = 0, hijack_bad = 0;
  (void)visit_threads(memory, [&](const ManagedThread& t) {
    if (bounds_good + bounds_bad == kEnoughThreads) return false;
    if (t.os_id == 0 || t.is_unstarted() || t.is_dead()) return true;
    const bool holds = t.frame == memory.all_ones() || t.stack.contains(t.frame);
    (could_be_stack(t.stack) && holds ? bounds_good : bounds_bad)++;
    auto slot = memory.pointer(t.address, l.thread.hijacked_return_address_slot);
    constexpr Address kUnset = 0xcccccccccccccccc;
    const bool plausible = slot && (*slot == kUnset || *slot == 0 || t.stack.contains(*slot));
    (plausible ? hijack_good : hijack_bad)++;
    return true;
  });
  conclude(kStackBounds, bounds_good, bounds_bad, {&l.thread.cached_stack_base, &l.thread.cached_stack_limit});
  conclude(kHijack, hijack_good, hijack_bad,
           {&l.thread.hijacked_return_address, &l.thread.hijacked_return_address_slot});
}

// The datum of an active call is 0, marked as a calli target, or a method the runtime calls natively.
void Supplement::verify_frames(const MemoryReader& reader, Layouts& l) {
  const RuntimeMemory memory(reader, l);
  unsigned good = 0, bad = 0, framed_good = 0, framed_bad = 0, looked = 0;
  (void)visit_threads(memory, [&](const ManagedThread& t) {
    if (t.os_id == 0) return true;
    if (++looked > kEnoughThreads) return false;
    for (const FrameRecord& f : read_frame_chain(memory, t.frame, t.stack, kEnoughFrames).frames) {
      if (f.type == FrameType::prestub_method) {
        auto md = memory.pointer(f.address, l.framed_method_frame.method_desc);
        if (md) (is_method_desc(memory, *md) ? framed_good : framed_bad)++;
      }
      if (f.type != FrameType::inlined_call) continue;
      auto active = memory.pointer(f.address, l.inlined_call_frame.caller_return_address);
      auto datum = memory.pointer(f.address, l.inlined_call_frame.datum);
      if (!active || *active == 0 || !datum || *datum < 0x10000 || (*datum & 1) != 0) continue;
      const Address method = *datum & ~Address{7};
      auto kind = is_method_desc(memory, method) ? method_class(memory, method) : fail(ErrorCode::mismatch);
      (kind && (*kind == MethodClass::pinvoke || *kind == MethodClass::dynamic) ? good : bad)++;
    }
    return true;
  });
  conclude(kDatum, good, bad, {&l.inlined_call_frame.datum});
  conclude(kMethodDescPtr, framed_good, framed_bad, {&l.framed_method_frame.method_desc});
}

void Supplement::verify(const MemoryReader& memory, Layouts& layouts) {
  verify_threads(memory, layouts);
  verify_frames(memory, layouts);
}

}  // namespace mixstack::dotnet
