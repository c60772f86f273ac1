// Threads, objects, types, methods and modules: names as in src/coreclr/vm/datadescriptor/datadescriptor.inc.
#include <algorithm>

#include "dotnet/code/layouts_resolver.h"

namespace mixstack::dotnet {

void update_thread_extent(ThreadLayout& t) {
  for (const Field* f : {&t.id, &t.os_id, &t.state, &t.preemptive_gc_disabled, &t.frame, &t.exception_tracker,
                         &t.gc_handle, &t.last_thrown_object, &t.link_next, &t.cached_stack_base, &t.cached_stack_limit,
                         &t.hijacked_return_address, &t.hijacked_return_address_slot})
    if (f->present() && f->offset < kMaxThreadExtent - 8) t.extent = std::max(t.extent, f->offset + 8);
}

void resolve_thread_layouts(const LayoutResolver& r, Layouts& l) {
  auto& t = l.thread;
  r.fields("Thread", {{&t.id, "Id"},
                      {&t.os_id, "OSId"},
                      {&t.state, "State"},
                      {&t.preemptive_gc_disabled, "PreemptiveGCDisabled"},
                      {&t.frame, "Frame"},
                      {&t.exception_tracker, "ExceptionTracker"},
                      {&t.gc_handle, "GCHandle"},
                      {&t.gc_handle, "ExposedObject"},
                      {&t.last_thrown_object, "LastThrownObject"},
                      {&t.link_next, "LinkNext"},
                      {&t.runtime_thread_locals, "RuntimeThreadLocals"},
                      {&t.cached_stack_base, "CachedStackBase"},
                      {&t.cached_stack_limit, "CachedStackLimit"}});
  update_thread_extent(t);
  auto& s = l.thread_store;
  r.fields("ThreadStore", {{&s.first_thread_link, "FirstThreadLink"},
                           {&s.thread_count, "ThreadCount"},
                           {&s.unstarted_count, "UnstartedCount"},
                           {&s.background_count, "BackgroundCount"},
                           {&s.pending_count, "PendingCount"},
                           {&s.dead_count, "DeadCount"}});
  r.fields("ExceptionInfo", {{&l.exception_info.thrown_object, "ThrownObject"},
                             {&l.exception_info.previous_nested_info, "PreviousNestedInfo"}});
  r.fields("Exception", {{&l.exception.message, "_message"},
                         {&l.exception.inner_exception, "_innerException"},
                         {&l.exception.stack_trace, "_stackTrace"},
                         {&l.exception.hresult, "_HResult"}});
  r.fields("Object", {{&l.object.method_table, "m_pMethTab"}});
  r.fields("String", {{&l.string.first_char, "m_FirstChar"}, {&l.string.length, "m_StringLength"}});
  r.fields("Array", {{&l.array.num_components, "m_NumComponents"}});
  r.size("Array", l.array.size);
}

static void resolve_modules(const LayoutResolver& r, Layouts& l) {
  auto& m = l.module;
  r.fields("Module", {{&m.assembly, "Assembly"},
                      {&m.pe_assembly, "PEAssembly"},
                      {&m.base, "Base"},
                      {&m.flags, "Flags"},
                      {&m.loader_allocator, "LoaderAllocator"},
                      {&m.dynamic_metadata, "DynamicMetadata"},
                      {&m.path, "Path"},
                      {&m.file_name, "FileName"},
                      {&m.ready_to_run_info, "ReadyToRunInfo"},
                      {&m.field_def_to_desc_map, "FieldDefToDescMap"},
                      {&m.method_def_to_desc_map, "MethodDefToDescMap"},
                      {&m.type_def_to_method_table_map, "TypeDefToMethodTableMap"},
                      {&m.type_ref_to_method_table_map, "TypeRefToMethodTableMap"},
                      {&m.member_ref_to_desc_map, "MemberRefToDescMap"},
                      {&m.manifest_module_references_map, "ManifestModuleReferencesMap"}});
  auto& k = l.module_lookup_map;
  r.fields("ModuleLookupMap", {{&k.table_data, "TableData"},
                               {&k.next, "Next"},
                               {&k.count, "Count"},
                               {&k.supported_flags_mask, "SupportedFlagsMask"}});
  r.fields(
      "Assembly",
      {{&l.assembly.is_collectible, "IsCollectible"}, {&l.assembly.module, "Module"}, {&l.assembly.error, "Error"}});
  r.fields("PEAssembly", {{&l.pe_assembly.pe_image, "PEImage"}, {&l.pe_assembly.assembly_binder, "AssemblyBinder"}});
  r.fields("PEImage", {{&l.pe_image.loaded_image_layout, "LoadedImageLayout"}});
  r.fields("PEImageLayout",
           {{&l.pe_image_layout.base, "Base"}, {&l.pe_image_layout.size, "Size"}, {&l.pe_image_layout.flags, "Flags"}});
  r.fields("DynamicMetadata", {{&l.dynamic_metadata.size, "Size"}, {&l.dynamic_metadata.data, "Data"}});
  r.fields("AppDomain", {{&l.app_domain.root_assembly, "RootAssembly"},
                         {&l.app_domain.domain_assembly_list, "DomainAssemblyList"},
                         {&l.app_domain.friendly_name, "FriendlyName"}});
}

static void resolve_methods(const LayoutResolver& r, Layouts& l) {
  auto& d = l.method_desc;
  r.size("MethodDesc", d.size);
  r.fields("MethodDesc", {{&d.chunk_index, "ChunkIndex"},
                          {&d.slot, "Slot"},
                          {&d.flags, "Flags"},
                          {&d.flags3_and_token_remainder, "Flags3AndTokenRemainder"},
                          {&d.entry_point_flags, "EntryPointFlags"},
                          {&d.code_data, "CodeData"}});
  auto& c = l.method_desc_chunk;
  r.size("MethodDescChunk", c.size);
  r.fields("MethodDescChunk", {{&c.method_table, "MethodTable"},
                               {&c.next, "Next"},
                               {&c.chunk_size, "Size"},
                               {&c.count, "Count"},
                               {&c.flags_and_token_range, "FlagsAndTokenRange"}});
  auto& i = l.instantiated_method_desc;
  r.size("InstantiatedMethodDesc", i.size);
  r.fields("InstantiatedMethodDesc",
           {{&i.per_inst_info, "PerInstInfo"}, {&i.flags2, "Flags2"}, {&i.num_generic_args, "NumGenericArgs"}});
  auto& s = l.stored_sig_method_desc;
  r.fields("StoredSigMethodDesc", {{&s.sig, "Sig"}, {&s.c_sig, "cSig"}, {&s.extended_flags, "ExtendedFlags"}});
  r.size("DynamicMethodDesc", l.dynamic_method_desc.size);
  r.fields("DynamicMethodDesc", {{&l.dynamic_method_desc.method_name, "MethodName"}});
}

void resolve_type_layouts(const LayoutResolver& r, Layouts& l) {
  resolve_modules(r, l);
  resolve_methods(r, l);
  auto& t = l.method_table;
  r.size("MethodTable", t.size);
  r.fields("MethodTable", {{&t.flags, "MTFlags"},
                           {&t.base_size, "BaseSize"},
                           {&t.flags2, "MTFlags2"},
                           {&t.ee_class_or_canon, "EEClassOrCanonMT"},
                           {&t.module, "Module"},
                           {&t.parent, "ParentMethodTable"},
                           {&t.num_interfaces, "NumInterfaces"},
                           {&t.num_virtuals, "NumVirtuals"},
                           {&t.per_inst_info, "PerInstInfo"},
                           {&t.auxiliary_data, "AuxiliaryData"}});
  auto& e = l.ee_class;
  r.fields("EEClass", {{&e.method_table, "MethodTable"},
                       {&e.method_desc_chunk, "MethodDescChunk"},
                       {&e.num_methods, "NumMethods"},
                       {&e.field_desc_list, "FieldDescList"},
                       {&e.cor_type_attr, "CorTypeAttr"},
                       {&e.internal_cor_element_type, "InternalCorElementType"}});
  r.fields("ArrayClass", {{&l.array_class.rank, "Rank"}});
  r.fields("GenericsDictInfo",
           {{&l.generics_dict_info.num_dicts, "NumDicts"}, {&l.generics_dict_info.num_type_args, "NumTypeArgs"}});
  r.fields("TypeDesc", {{&l.type_desc.type_and_flags, "TypeAndFlags"}});
  r.fields("ParamTypeDesc", {{&l.param_type_desc.type_arg, "TypeArg"}});
  r.fields("TypeVarTypeDesc", {{&l.type_var_type_desc.module, "Module"}, {&l.type_var_type_desc.token, "Token"}});
  auto& f = l.fn_ptr_type_desc;
  r.fields("FnPtrTypeDesc", {{&f.num_args, "NumArgs"},
                             {&f.call_conv, "CallConv"},
                             {&f.ret_and_arg_types, "RetAndArgTypes"},
                             {&f.loader_module, "LoaderModule"}});
}

void resolve_globals(const LayoutResolver& r, GlobalValues& g) {
  r.global(g.thread_store, "ThreadStore");
  r.global(g.app_domain, "AppDomain");
  r.global(g.system_domain, "SystemDomain");
  r.global(g.object_method_table, "ObjectMethodTable");
  r.global(g.string_method_table, "StringMethodTable");
  r.global(g.exception_method_table, "ExceptionMethodTable");
  r.global(g.object_array_method_table, "ObjectArrayMethodTable");
  r.global(g.finalizer_thread, "FinalizerThread");
  r.global(g.gc_thread, "GCThread");
  r.global(g.sync_table_entries, "SyncTableEntries");
  r.global(g.code_range_map, "ExecutionManagerCodeRangeMapAddress");
  r.global(g.platform_metadata, "PlatformMetadata");
  r.global(g.method_desc_size_table, "MethodDescSizeTable");
  r.global(g.method_desc_alignment, "MethodDescAlignment");
  r.global(g.method_desc_token_remainder_bits, "MethodDescTokenRemainderBitCount");
  r.global(g.object_to_method_table_unmask, "ObjectToMethodTableUnmask");
  r.global(g.stub_code_block_last, "StubCodeBlockLast");
  r.global(g.hash_map_slots_per_bucket, "HashMapSlotsPerBucket");
  r.global(g.hash_map_value_mask, "HashMapValueMask");
  r.global(g.object_header_size, "ObjectHeaderSize");
  r.global(g.gc_info_version, "GCInfoVersion");
  r.global(g.feature_com_interop, "FeatureCOMInterop");
}

}  // namespace mixstack::dotnet
