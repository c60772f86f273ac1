// The descriptor resolved once into plain integers, so that no walk ever looks up a string.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dotnet/code/descriptor.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet {

/// Where a field lies in its structure, or that the runtime's descriptor (and the supplement) does not say.
struct Field {
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t offset = kAbsent;
  [[nodiscard]] constexpr bool present() const { return offset != kAbsent; }
  constexpr explicit operator bool() const { return present(); }
  friend constexpr bool operator==(const Field&, const Field&) = default;
};

/// A global the descriptor may lack.
struct Global {
  std::uint64_t value = 0;
  bool known = false;
  constexpr explicit operator bool() const { return known; }
};

// One struct per type of the descriptor, members named as its fields. `size` is the "!" entry, 0 where indeterminate.
// Comments only where the descriptor's name says too little.
struct ThreadLayout {
  Field id, os_id, state, preemptive_gc_disabled, frame, exception_tracker, gc_handle, last_thrown_object, link_next,
      runtime_thread_locals;
  Field cached_stack_base, cached_stack_limit;  ///< highest and lowest address of the stack
  // In no descriptor yet, by supplement only: the return address a suspension replaced, and the stack slot it is for.
  Field hijacked_return_address, hijacked_return_address_slot;
  std::uint32_t extent = 0;  ///< bytes from the object's start that hold every field above
};
struct ThreadStoreLayout {
  Field first_thread_link, thread_count, unstarted_count, background_count, pending_count, dead_count;
};
struct ExceptionInfoLayout {
  Field thrown_object, previous_nested_info;
};
struct ExceptionLayout {
  Field message, inner_exception, stack_trace, hresult;
};
struct ObjectLayout {
  Field method_table;
};
struct StringLayout {
  Field first_char, length;
};
struct ArrayLayout {
  std::uint32_t size = 0;
  Field num_components;
};

struct ModuleLayout {
  Field assembly, pe_assembly, base, flags, loader_allocator, dynamic_metadata, path, file_name, ready_to_run_info,
      field_def_to_desc_map, method_def_to_desc_map, type_def_to_method_table_map, type_ref_to_method_table_map,
      member_ref_to_desc_map, manifest_module_references_map;
};
struct ModuleLookupMapLayout {
  Field table_data, next, count, supported_flags_mask;
};
struct AssemblyLayout {
  Field is_collectible, module, error;
};
struct PEAssemblyLayout {
  Field pe_image, assembly_binder;
};
struct PEImageLayoutLayout {
  Field base, size, flags;
};
struct PEImageLayout {
  Field loaded_image_layout;
};
struct DynamicMetadataLayout {
  Field size, data;
};
struct AppDomainLayout {
  Field root_assembly, domain_assembly_list, friendly_name;
};

struct MethodTableLayout {
  std::uint32_t size = 0;
  Field flags, base_size, flags2, ee_class_or_canon, module, parent, num_interfaces, num_virtuals, per_inst_info,
      auxiliary_data;
};
struct EEClassLayout {
  Field method_table, method_desc_chunk, num_methods, field_desc_list, cor_type_attr, internal_cor_element_type;
};
struct ArrayClassLayout {
  Field rank;
};
struct GenericsDictInfoLayout {
  Field num_dicts, num_type_args;
};
struct TypeDescLayout {
  Field type_and_flags;
};
struct ParamTypeDescLayout {
  Field type_arg;
};
struct TypeVarTypeDescLayout {
  Field module, token;
};
struct FnPtrTypeDescLayout {
  Field num_args, call_conv, ret_and_arg_types, loader_module;
};

struct MethodDescLayout {
  std::uint32_t size = 0;
  Field chunk_index, slot, flags, flags3_and_token_remainder, entry_point_flags, code_data;
};
struct MethodDescChunkLayout {
  std::uint32_t size = 0;
  Field method_table, next, chunk_size, count, flags_and_token_range;
};
struct InstantiatedMethodDescLayout {
  std::uint32_t size = 0;
  Field per_inst_info, flags2, num_generic_args;
};
struct StoredSigMethodDescLayout {
  Field sig, c_sig, extended_flags;
};
struct DynamicMethodDescLayout {
  std::uint32_t size = 0;
  Field method_name;
};

struct RangeSectionMapLayout {
  Field top_level_data;
};
struct RangeSectionFragmentLayout {
  Field range_begin, range_end_open, range_section, next;
};
struct RangeSectionLayout {
  Field range_begin, range_end_open, jit_manager, flags, heap_list, r2r_module;
  Field next_for_delete;  ///< not null: replaced by another section, kept until nobody can be reading it
  Field range_list;       ///< supplement until a descriptor has it
};
struct CodeRangeListLayout {
  Field type;  ///< CodeRangeMapRangeList.RangeListType: StubCodeBlockKind of every stub in a range list
};
struct CodeHeapListNodeLayout {
  Field next, start_address, end_address, map_base, header_map;
};
struct RealCodeHeaderLayout {
  Field method_desc, gc_info, num_unwind_infos, unwind_infos;
  Field debug_info, eh_info;
};
struct RuntimeFunctionLayout {
  std::uint32_t size = 0;
  Field begin_address, end_address, unwind_data;
};
struct ReadyToRunInfoLayout {
  Field header, composite_info, num_runtime_functions, runtime_functions, num_hot_cold_map, hot_cold_map,
      delay_load_thunks, entry_point_to_method_desc_map;
};
struct ImageDataDirectoryLayout {
  Field virtual_address, size;
};
struct HashMapLayout {
  Field buckets;
};
struct BucketLayout {
  std::uint32_t size = 0;
  Field keys, values;
};

struct PlatformMetadataLayout {
  Field precode_machine_descriptor;
};
struct PrecodeMachineLayout {
  Field invalid_type, pinvoke_import_type, fixup_type, fixup_code_offset, fixup_stub_size, fixup_bytes, fixup_ignored,
      stub_size, stub_type, stub_bytes, stub_ignored, this_ptr_ret_buf_type, um_entry_type, stub_code_page_size;
};
struct StubPrecodeDataLayout {
  Field secret_param, type;
};
struct FixupPrecodeDataLayout {
  Field method_desc;
};
struct ThisPtrRetBufPrecodeDataLayout {
  Field method_desc;
};

struct FrameLayout {
  Field next;
};
struct InlinedCallFrameLayout {
  std::uint32_t size = 0;
  Field call_site_sp, caller_return_address, callee_saved_fp, sp_after_prolog, datum;
  Field thread;
};
struct SoftwareExceptionFrameLayout {
  std::uint32_t size = 0;
  Field target_context, return_address;
};
struct FramedMethodFrameLayout {
  std::uint32_t size = 0;
  Field transition_block, method_desc;
};
struct StubDispatchFrameLayout {
  Field method_desc, representative_mt, representative_slot;
};
struct TransitionBlockLayout {
  std::uint32_t size = 0;
  Field return_address, callee_saved_registers, argument_registers;
};
struct FuncEvalFrameLayout {
  Field debugger_eval;
};
struct DebuggerEvalLayout {
  Field target_context, eval_during_exception;
};
struct ResumableFrameLayout {
  Field target_context;
};
struct FaultingExceptionFrameLayout {
  Field target_context;
};
struct HijackFrameLayout {
  Field return_address, hijack_args;
};
struct TailCallFrameLayout {
  std::uint32_t size = 0;
  Field callee_saved_registers, return_address;
};
struct ExternalMethodFrameLayout {
  Field zap_module, indirection;
};  ///< supplement only

/// Offsets of named registers in a structure of the runtime (CalleeSavedRegisters, HijackArgs, ArgumentRegisters), by
/// the DWARF number of the register.
struct RegisterBlockLayout {
  struct Entry {
    std::uint8_t reg = 0;
    std::uint16_t offset = 0;
  };
  static constexpr unsigned kMax = 34;
  std::array<Entry, kMax> entries{};
  unsigned count = 0;
  std::uint32_t size = 0;
};
struct HijackArgsLayout {
  RegisterBlockLayout registers;  ///< arm64, arm, x86: registers named in HijackArgs itself
  Field callee_saved_registers;   ///< x64: where the CalleeSavedRegisters structure lies
  Field rsp;                      ///< x64 Windows only
  std::uint32_t size = 0;
};

/// The concrete Frame types of every released and announced runtime (src/coreclr/vm/FrameTypes.h and
/// FrameIterator.cs). The number is ours; a runtime's own identifiers are in `Layouts::frame_identifiers`.
enum class FrameType : std::uint8_t {
  unknown,
  inlined_call,
  software_exception,
  framed_method,
  clr_to_com,
  pinvoke_calli,
  prestub_method,
  stub_dispatch,
  call_counting_helper,
  external_method,
  dynamic_helper,
  func_eval,
  resumable,
  redirected_thread,
  faulting_exception,
  hijack,
  tail_call,
  unmanaged_to_managed,
  com_method,
  com_prestub_method,
  protect_value_class,
  debugger_class_init_mark,
  debugger_exit,
  debugger_u2m_catch_handler,
  exception_filter,
  interpreter,
  count
};
inline constexpr std::size_t kFrameTypes = static_cast<std::size_t>(FrameType::count);

struct GlobalValues {
  // Addresses; those marked * hold a pointer to the thing, the others point at it directly.
  Global thread_store;               ///< *
  Global app_domain;                 ///< *
  Global system_domain;              ///< *
  Global object_method_table;        ///< *
  Global string_method_table;        ///< *
  Global exception_method_table;     ///< *
  Global object_array_method_table;  ///< *
  Global finalizer_thread;           ///< *
  Global gc_thread;                  ///< *
  Global sync_table_entries;         ///< *
  Global code_range_map;             ///< the RangeSectionMap itself
  Global platform_metadata;          ///< the structure itself
  Global method_desc_size_table;     ///< bytes, indexed by classification and flags
  // Numbers.
  Global method_desc_alignment, method_desc_token_remainder_bits, object_to_method_table_unmask, stub_code_block_last,
      hash_map_slots_per_bucket, hash_map_value_mask, object_header_size, gc_info_version, feature_com_interop;
};

struct Layouts {
  Arch arch = Arch::unknown;
  bool is_windows = false;  ///< the OperatingSystem global: "1" Unix, "0" Windows (RuntimeInfo contract)
  unsigned pointer_size = 8;

  ThreadLayout thread;
  ThreadStoreLayout thread_store;
  ExceptionInfoLayout exception_info;
  ExceptionLayout exception;
  ObjectLayout object;
  StringLayout string;
  ArrayLayout array;
  ModuleLayout module;
  ModuleLookupMapLayout module_lookup_map;
  AssemblyLayout assembly;
  PEAssemblyLayout pe_assembly;
  PEImageLayout pe_image;
  PEImageLayoutLayout pe_image_layout;
  DynamicMetadataLayout dynamic_metadata;
  AppDomainLayout app_domain;
  MethodTableLayout method_table;
  EEClassLayout ee_class;
  ArrayClassLayout array_class;
  GenericsDictInfoLayout generics_dict_info;
  TypeDescLayout type_desc;
  ParamTypeDescLayout param_type_desc;
  TypeVarTypeDescLayout type_var_type_desc;
  FnPtrTypeDescLayout fn_ptr_type_desc;
  MethodDescLayout method_desc;
  MethodDescChunkLayout method_desc_chunk;
  InstantiatedMethodDescLayout instantiated_method_desc;
  StoredSigMethodDescLayout stored_sig_method_desc;
  DynamicMethodDescLayout dynamic_method_desc;
  RangeSectionMapLayout range_section_map;
  RangeSectionFragmentLayout range_section_fragment;
  RangeSectionLayout range_section;
  CodeRangeListLayout code_range_list;
  CodeHeapListNodeLayout code_heap_list_node;
  RealCodeHeaderLayout real_code_header;
  RuntimeFunctionLayout runtime_function;
  ReadyToRunInfoLayout ready_to_run_info;
  ImageDataDirectoryLayout image_data_directory;
  HashMapLayout hash_map;
  BucketLayout bucket;
  PlatformMetadataLayout platform_metadata;
  PrecodeMachineLayout precode_machine;
  StubPrecodeDataLayout stub_precode_data;
  FixupPrecodeDataLayout fixup_precode_data;
  ThisPtrRetBufPrecodeDataLayout this_ptr_ret_buf_precode_data;
  FrameLayout frame;
  InlinedCallFrameLayout inlined_call_frame;
  SoftwareExceptionFrameLayout software_exception_frame;
  FramedMethodFrameLayout framed_method_frame;
  StubDispatchFrameLayout stub_dispatch_frame;
  ExternalMethodFrameLayout external_method_frame;
  TransitionBlockLayout transition_block;
  FuncEvalFrameLayout func_eval_frame;
  DebuggerEvalLayout debugger_eval;
  ResumableFrameLayout resumable_frame;
  FaultingExceptionFrameLayout faulting_exception_frame;
  HijackFrameLayout hijack_frame;
  TailCallFrameLayout tail_call_frame;
  RegisterBlockLayout callee_saved_registers, argument_registers;
  HijackArgsLayout hijack_args;
  GlobalValues globals;
  /// Identifier of each Frame type; 0 where the runtime has no such type.
  std::array<std::uint64_t, kFrameTypes> frame_identifiers{};
};

/// What ThreadLayout::extent may be at most: more is a hostile descriptor.
inline constexpr std::uint32_t kMaxThreadExtent = 1u << 14;
/// Recomputes `extent` after a field was filled in.
void update_thread_extent(ThreadLayout& layout);

/// Resolves a descriptor. Never fails: what is not described is absent; contracts.h judges whether that is enough.
[[nodiscard]] Layouts resolve_layouts(const Descriptor& descriptor);

/// The runtime's class name of a Frame type ("InlinedCallFrame"); empty for `unknown`.
[[nodiscard]] std::string_view frame_type_name(FrameType type);

}  // namespace mixstack::dotnet
