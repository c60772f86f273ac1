#include "dotnet/code/code_of_9.h"

#include <algorithm>
#include <array>
#include <optional>

#include "dotnet/code/range_sections.h"
#include "dotnet/code/ready_to_run.h"
#include "dotnet/contracts/contracts.h"
#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {
namespace {

constexpr std::string_view kSubject = "ExecutionManager";

// In the words of a descriptor (docs/design/datacontracts/data_descriptor.md): offsets as they are in 9.0.18,
// linux-x64, read on live processes; most are those that 10.0 describes. Globals are entries of g_dacTable: its
// variables as listed in src/coreclr/inc/dacvars.h, then the vtables of src/coreclr/inc/vptr_list.h.
constexpr std::string_view kCodeOf9 = R"({
"version":0,"baseline":"empty",
"contracts":{"ExecutionManager":1,"StackWalk":1},
"types":{
"Module":{"ReadyToRunInfo":984},
"ModuleLookupMap":{"Next":0,"Count":16,"SupportedFlagsMask":24},
"Assembly":{"Module":16},
"MethodTable":{"!":64,"AuxiliaryData":32},
"EEClass":{"FieldDescList":24,"MethodDescChunk":32},
"GenericsDictInfo":{"NumDicts":4},
"MethodDesc":{"!":16},
"InstantiatedMethodDesc":{"!":40},
"DynamicMethodDesc":{"!":48},
"RangeSectionMap":{"TopLevelData":0},
"RangeSectionFragment":{"Next":0,"RangeBegin":8,"RangeEndOpen":16,"RangeSection":24},
"RangeSection":{"RangeBegin":0,"RangeEndOpen":8,"Flags":16,"JitManager":24,"R2RModule":32,"HeapList":40,"NextForDelete":64},
"CodeHeapListNode":{"Next":0,"StartAddress":16,"EndAddress":24,"MapBase":32,"HeaderMap":40},
"RealCodeHeader":{"GCInfo":16,"MethodDesc":24,"NumUnwindInfos":32,"UnwindInfos":36},
"RuntimeFunction":{"!":12,"BeginAddress":0,"EndAddress":4,"UnwindData":8},
"ReadyToRunInfo":{"ReadyToRunHeader":16,"CompositeInfo":40,"RuntimeFunctions":80,"NumRuntimeFunctions":88,"HotColdMap":96,"NumHotColdMap":104,"DelayLoadMethodCallThunks":112,"EntryPointToMethodDescMap":432},
"ImageDataDirectory":{"!":8,"VirtualAddress":0,"Size":4},
"HashMap":{"Buckets":16},
"Bucket":{"!":64,"Keys":0,"Values":32},
"Frame":{"Next":8},
"InlinedCallFrame":{"!":56,"CallSiteSP":24,"CallerReturnAddress":32,"CalleeSavedFP":40},
"FramedMethodFrame":{"!":32,"TransitionBlockPtr":16},
"TransitionBlock":{"!":104,"ReturnAddress":96,"CalleeSavedRegisters":48},
"CalleeSavedRegisters":{"!":48,"R12":0,"R13":8,"R14":16,"R15":24,"Rbx":32,"Rbp":40},
"ArgumentRegisters":{"!":48},
"FaultingExceptionFrame":{"TargetContext":32},
"FuncEvalFrame":{"DebuggerEvalPtr":24},
"ResumableFrame":{"!":24,"TargetContextPtr":16},
"HijackFrame":{"!":40,"ReturnAddress":16,"HijackArgsPtr":32},
"HijackArgs":{"!":80,"CalleeSavedRegisters":24}
},
"globals":{
"Architecture":["x64","string"],
"OperatingSystem":["1","string"],
"StubCodeBlockLast":["0xf","uint8"],
"HashMapSlotsPerBucket":["0x4","uint32"],
"HashMapValueMask":["0x7fffffffffffffff","uint64"],
"ExecutionManagerCodeRangeMapAddress":[[0],"pointer"],
"DebuggerClassInitMarkFrameIdentifier":["126","nuint"],"DebuggerClassInitMarkFrameVTable":[[126],"pointer"],
"DebuggerExitFrameIdentifier":["127","nuint"],"DebuggerExitFrameVTable":[[127],"pointer"],
"DebuggerU2MCatchHandlerFrameIdentifier":["128","nuint"],"DebuggerU2MCatchHandlerFrameVTable":[[128],"pointer"],
"FaultingExceptionFrameIdentifier":["129","nuint"],"FaultingExceptionFrameVTable":[[129],"pointer"],
"FuncEvalFrameIdentifier":["130","nuint"],"FuncEvalFrameVTable":[[130],"pointer"],
"HelperMethodFrameIdentifier":["131","nuint"],"HelperMethodFrameVTable":[[131],"pointer"],
"HelperMethodFrame_1OBJIdentifier":["132","nuint"],"HelperMethodFrame_1OBJVTable":[[132],"pointer"],
"HelperMethodFrame_2OBJIdentifier":["133","nuint"],"HelperMethodFrame_2OBJVTable":[[133],"pointer"],
"HelperMethodFrame_3OBJIdentifier":["134","nuint"],"HelperMethodFrame_3OBJVTable":[[134],"pointer"],
"HelperMethodFrame_PROTECTOBJIdentifier":["135","nuint"],"HelperMethodFrame_PROTECTOBJVTable":[[135],"pointer"],
"HijackFrameIdentifier":["136","nuint"],"HijackFrameVTable":[[136],"pointer"],
"InlinedCallFrameIdentifier":["137","nuint"],"InlinedCallFrameVTable":[[137],"pointer"],
"PInvokeCalliFrameIdentifier":["138","nuint"],"PInvokeCalliFrameVTable":[[138],"pointer"],
"PrestubMethodFrameIdentifier":["139","nuint"],"PrestubMethodFrameVTable":[[139],"pointer"],
"ProtectByRefsFrameIdentifier":["140","nuint"],"ProtectByRefsFrameVTable":[[140],"pointer"],
"ProtectValueClassFrameIdentifier":["141","nuint"],"ProtectValueClassFrameVTable":[[141],"pointer"],
"ResumableFrameIdentifier":["142","nuint"],"ResumableFrameVTable":[[142],"pointer"],
"RedirectedThreadFrameIdentifier":["143","nuint"],"RedirectedThreadFrameVTable":[[143],"pointer"],
"StubDispatchFrameIdentifier":["144","nuint"],"StubDispatchFrameVTable":[[144],"pointer"],
"CallCountingHelperFrameIdentifier":["145","nuint"],"CallCountingHelperFrameVTable":[[145],"pointer"],
"ExternalMethodFrameIdentifier":["146","nuint"],"ExternalMethodFrameVTable":[[146],"pointer"],
"DynamicHelperFrameIdentifier":["147","nuint"],"DynamicHelperFrameVTable":[[147],"pointer"],
"ExceptionFilterFrameIdentifier":["148","nuint"],"ExceptionFilterFrameVTable":[[148],"pointer"]
}})";

constexpr std::size_t kTableEntries = 158, kFirstFrame = 126, kLastFrame = 148;

// Entries that the descriptor tells as well: they prove that the table and the structures are those of 9.0.
struct KnownEntry {
  std::string_view global;
  std::size_t entry;
};
constexpr std::array<KnownEntry, 10> kKnownEntries{{{"ThreadStore", 16},
                                                    {"FinalizerThread", 17},
                                                    {"GCThread", 18},
                                                    {"AppDomain", 21},
                                                    {"ArrayBoundsZero", 29},
                                                    {"ObjectMethodTable", 43},
                                                    {"StringMethodTable", 46},
                                                    {"ExceptionMethodTable", 50},
                                                    {"FreeObjectMethodTable", 57},
                                                    {"SyncTableEntries", 82}}};
struct KnownField {
  std::string_view type, field;
  std::uint32_t offset;
};
constexpr std::array<KnownField, 9> kKnownFields{{{"Module", "Base", 288},
                                                  {"Module", "Assembly", 312},
                                                  {"Module", "MethodDefToILCodeVersioningStateMap", 688},
                                                  {"Module", "ThunkHeap", 1032},
                                                  {"Module", "DynamicMetadata", 1120},
                                                  {"Thread", "Frame", 8},
                                                  {"Thread", "LinkNext", 112},
                                                  {"EEClass", "NumMethods", 52},
                                                  {"MethodDescChunk", "FlagsAndTokenRange", 18}}};

using Table = std::array<std::uint64_t, kTableEntries>;

bool is_table_of_9(const Table& table, const Descriptor& described) {
  return std::all_of(kKnownEntries.begin(), kKnownEntries.end(), [&](const KnownEntry& e) {
    return described.global_number(e.global) == std::optional(table[e.entry]);
  });
}

bool has_structures_of_9(const Descriptor& described) {
  return described.pointer_size() == 8 &&
         std::all_of(kKnownFields.begin(), kKnownFields.end(),
                     [&](const KnownField& f) { return described.offset(f.type, f.field) == std::optional(f.offset); });
}

// Every class has a vtable of its own, in the image.
bool has_frame_vtables(const Table& table, Address image_base) {
  constexpr Address kMostImage = 64u << 20;
  std::array<std::uint64_t, kLastFrame - kFirstFrame + 1> vtables{};
  std::copy_n(table.begin() + kFirstFrame, vtables.size(), vtables.begin());
  std::sort(vtables.begin(), vtables.end());
  return vtables.front() > image_base && vtables.back() - image_base < kMostImage &&
         std::adjacent_find(vtables.begin(), vtables.end()) == vtables.end();
}

Result<Address> tables_of(const RuntimeMemory& memory, Address module) {
  const Layouts& l = memory.layouts();
  const auto own = memory.pointer(module, l.module.ready_to_run_info);
  return own ? memory.pointer(*own, l.ready_to_run_info.composite_info) : own;
}

// The core library is always there and always precompiled. The class of System.Object leads to its module, the module
// to the tables of its image; these lie in a range whose section names a module of the same image. An error: one of the
// reads failed, so nothing is proved.
Result<bool> leads_to_core_library(const RuntimeMemory& memory) {
  const Layouts& l = memory.layouts();
  const auto object = memory.through(l.globals.object_method_table);
  const auto module = object ? memory.pointer(*object, l.method_table.module) : object;
  const auto tables = module ? tables_of(memory, *module) : module;
  const auto rows = tables ? memory.pointer(*tables, l.ready_to_run_info.runtime_functions) : tables;
  if (!rows) return fail(rows.error());
  RangeSections ranges(memory);
  const auto section = ranges.find(*rows);
  if (!section) return fail(section.error());
  if (section->kind != RangeSection::Kind::ready_to_run) return false;
  const auto owner = tables_of(memory, section->module);  // in a composite image it may be another module's
  if (!owner) return fail(owner.error());
  if (*owner != *tables) return false;
  const auto image = ReadyToRunImage::open(memory, *section);
  return image ? image->agrees_with_header(memory) : fail(image.error());
}

}  // namespace

bool leaves_out_code(const Descriptor& described) {
  return described.contract("Thread") && described.contract("RuntimeTypeSystem") && !described.contract(kSubject) &&
         !described.contract("StackWalk");
}

Diagnosed<Descriptor> describe_code_of_9(const MemoryReader& memory, const DacTablePlace& place,
                                         const Descriptor& described, const MemoryReader* constants) {
  const auto refused = [](ErrorCode code) { return refuse(code, std::string(kSubject)); };
  if (!has_structures_of_9(described)) return refused(ErrorCode::contract_unsupported);
  Table table{};
  if (place.table == 0) return refused(ErrorCode::not_found);
  if (const auto r = memory.read_exact(place.table, std::as_writable_bytes(std::span(table))); !r)
    return refuse(r.error().code, std::string(kSubject), r.error().value);
  if (table[0] == 0) return refused(ErrorCode::not_found);
  if (!is_table_of_9(table, described) || !has_frame_vtables(table, place.image_base))
    return refused(ErrorCode::contract_unsupported);
  const auto code = Descriptor::parse(std::as_bytes(std::span(kCodeOf9)), table, 8);
  if (!code) return tl::unexpected(code.error());
  Descriptor whole = described;
  whole.complete(*code);
  const Layouts layouts = resolve_layouts(whole);
  if (layouts.arch != place.arch) return refused(ErrorCode::unsupported_cpu);
  // A small core lacks much. In a release that is known by its build id, absent memory is no contradiction.
  const auto proof = leads_to_core_library(RuntimeMemory(memory, layouts, constants));
  const bool is_absent = !proof && proof.error().code == ErrorCode::unreadable_memory && place.is_known_release;
  if (!is_absent && !proof.value_or(false)) return refused(ErrorCode::mismatch);
  return whole;
}

}  // namespace mixstack::dotnet
