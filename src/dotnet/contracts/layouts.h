// The descriptor resolved once into plain integers, so that no walk ever looks up a string.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "dotnet/contracts/algorithms.h"
#include "dotnet/contracts/layout/async.h"
#include "dotnet/contracts/layout/code_ranges.h"
#include "dotnet/contracts/layout/collector.h"
#include "dotnet/contracts/layout/edited_metadata.h"
#include "dotnet/contracts/layout/frame.h"
#include "dotnet/contracts/layout/globals.h"
#include "dotnet/contracts/layout/method_desc.h"
#include "dotnet/contracts/layout/module.h"
#include "dotnet/contracts/layout/object.h"
#include "dotnet/contracts/layout/precode.h"
#include "dotnet/contracts/layout/ready_to_run.h"
#include "dotnet/contracts/layout/register_block.h"
#include "dotnet/contracts/layout/thread.h"
#include "dotnet/contracts/layout/type.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet {

struct Layouts {
  Arch arch = Arch::unknown;
  bool is_native_aot = false;  ///< of a program that was compiled ahead of time
  bool is_windows = false;     ///< the OperatingSystem global: "1" Unix, "0" Windows (RuntimeInfo contract)
  unsigned pointer_size = 8;
  Algorithms algorithms;

  ThreadLayout thread;
  ThreadLocalDataLayout thread_local_data;
  RuntimeThreadLocalsLayout runtime_thread_locals;
  EEAllocContextLayout ee_alloc_context;
  GCAllocContextLayout gc_alloc_context;
  ThreadStoreLayout thread_store;
  ExceptionInfoLayout exception_info;
  GcFrameLayout gc_frame;
  ExceptionLayout exception;
  ObjectLayout object;
  StringLayout string;
  ArrayLayout array;
  SyncTableLayout sync_table;
  ContinuationObjectLayout continuation_object;
  AsyncResumeInfoLayout async_resume_info;
  AsyncMethodDataLayout async_method_data;
  ModuleLayout module;
  ModuleLookupMapLayout module_lookup_map;
  EETypeHashTableLayout ee_type_hash_table;
  LoaderAllocatorLayout loader_allocator;
  SystemDomainLayout system_domain;
  AssemblyLayout assembly;
  PEAssemblyLayout pe_assembly;
  PEImageLayout pe_image;
  PEImageLayoutLayout pe_image_layout;
  DynamicMetadataLayout dynamic_metadata;
  EditedMetadataLayout edited_metadata;
  AppDomainLayout app_domain;
  ArrayListBaseLayout array_list_base;
  ArrayListBlockLayout array_list_block;
  MethodTableLayout method_table;
  AotMethodTableLayout aot_method_table;
  EEClassLayout ee_class;
  ArrayClassLayout array_class;
  DynamicStaticsInfoLayout dynamic_statics_info;
  ThreadStaticsInfoLayout thread_statics_info;
  GenericsDictInfoLayout generics_dict_info;
  TypeDescLayout type_desc;
  ParamTypeDescLayout param_type_desc;
  TypeVarTypeDescLayout type_var_type_desc;
  FnPtrTypeDescLayout fn_ptr_type_desc;
  MethodDescLayout method_desc;
  MethodSizesLayout method_sizes;
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
  DynamicHelperFrameLayout dynamic_helper_frame;
  TransitionBlockLayout transition_block;
  FuncEvalFrameLayout func_eval_frame;
  DebuggerEvalLayout debugger_eval;
  ResumableFrameLayout resumable_frame;
  FaultingExceptionFrameLayout faulting_exception_frame;
  HijackFrameLayout hijack_frame;
  TailCallFrameLayout tail_call_frame;
  RegisterBlockLayout callee_saved_registers, argument_registers;
  HijackArgsLayout hijack_args;
  CollectorLayout collector;
  GlobalValues globals;
  /// Identifier of each Frame type; 0 where the runtime has no such type.
  std::array<std::uint64_t, kFrameTypes> frame_identifiers{};
  /// .NET 9: a Frame's first word is not its identifier but the vtable of its class; 0 where there is none.
  std::array<Address, kFrameTypes> frame_vtables{};
  bool frames_have_vtables = false;

  /// Every structure's names, in turn.
  template <class Names>
  void describe(Names& names) {
    thread.describe(names);
    thread_local_data.describe(names);
    runtime_thread_locals.describe(names);
    ee_alloc_context.describe(names);
    gc_alloc_context.describe(names);
    thread_store.describe(names);
    exception_info.describe(names);
    gc_frame.describe(names);
    exception.describe(names);
    object.describe(names);
    string.describe(names);
    array.describe(names);
    sync_table.describe(names);
    continuation_object.describe(names);
    async_resume_info.describe(names);
    async_method_data.describe(names);
    module.describe(names);
    module_lookup_map.describe(names);
    ee_type_hash_table.describe(names);
    loader_allocator.describe(names);
    system_domain.describe(names);
    assembly.describe(names);
    pe_assembly.describe(names);
    pe_image.describe(names);
    pe_image_layout.describe(names);
    dynamic_metadata.describe(names);
    edited_metadata.describe(names);
    app_domain.describe(names);
    array_list_base.describe(names);
    array_list_block.describe(names);
    method_table.describe(names);
    aot_method_table.describe(names);
    ee_class.describe(names);
    array_class.describe(names);
    dynamic_statics_info.describe(names);
    thread_statics_info.describe(names);
    generics_dict_info.describe(names);
    type_desc.describe(names);
    param_type_desc.describe(names);
    type_var_type_desc.describe(names);
    fn_ptr_type_desc.describe(names);
    method_desc.describe(names);
    method_sizes.describe(names);
    method_desc_chunk.describe(names);
    instantiated_method_desc.describe(names);
    stored_sig_method_desc.describe(names);
    dynamic_method_desc.describe(names);
    range_section_map.describe(names);
    range_section_fragment.describe(names);
    range_section.describe(names);
    code_range_list.describe(names);
    code_heap_list_node.describe(names);
    real_code_header.describe(names);
    runtime_function.describe(names);
    ready_to_run_info.describe(names);
    image_data_directory.describe(names);
    hash_map.describe(names);
    bucket.describe(names);
    platform_metadata.describe(names);
    precode_machine.describe(names);
    stub_precode_data.describe(names);
    fixup_precode_data.describe(names);
    this_ptr_ret_buf_precode_data.describe(names);
    describe_frames(names);
    collector.describe(names);
    globals.describe(names);
  }

 private:
  template <class Names>
  void describe_frames(Names& names) {
    frame.describe(names);
    inlined_call_frame.describe(names);
    software_exception_frame.describe(names);
    framed_method_frame.describe(names);
    stub_dispatch_frame.describe(names);
    external_method_frame.describe(names);
    dynamic_helper_frame.describe(names);
    transition_block.describe(names);
    func_eval_frame.describe(names);
    debugger_eval.describe(names);
    resumable_frame.describe(names);
    faulting_exception_frame.describe(names);
    hijack_frame.describe(names);
    tail_call_frame.describe(names);
    hijack_args.describe(names);
  }
};

/// Resolves a descriptor. Never fails: what is not described is absent; contracts.h judges whether that is enough.
[[nodiscard]] Layouts resolve_layouts(const Descriptor& descriptor);

/// A field that a contract cannot do without.
struct NeededField {
  Contract contract = Contract::count;
  std::string_view type, field;
};
[[nodiscard]] std::vector<NeededField> needed_fields();

}  // namespace mixstack::dotnet
