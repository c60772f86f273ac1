// Globals of the runtime.
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct GlobalValues {
  // Addresses; those marked * hold a pointer to the thing, the others point at it directly.
  Global thread_store;               ///< *
  Global runtime_instance;           ///< * NativeAOT
  Global app_domain;                 ///< *
  Global system_domain;              ///< *
  Global object_method_table;        ///< *
  Global string_method_table;        ///< *
  Global exception_method_table;     ///< *
  Global free_object_method_table;   ///< * of the gaps between objects
  Global object_array_method_table;  ///< *
  Global finalizer_thread;           ///< *
  Global gc_thread;                  ///< *
  Global global_alloc_context;       ///< .NET 11: the EEAllocContext itself that threads without one share
  Global sync_table_entries;         ///< *
  Global sync_block_cache;           ///< * .NET 11
  Global continuation_method_table;  ///< * null until the first runtime-async method runs
  Global continuation_ee_class;      ///< * one for all types of continuations
  Global code_range_map;             ///< the RangeSectionMap itself
  Global platform_metadata;          ///< the structure itself
  Global method_desc_size_table;     ///< bytes, indexed by classification and flags
  // Numbers.
  Global array_base_size, method_desc_alignment, method_desc_token_remainder_bits, object_to_method_table_unmask,
      stub_code_block_last, hash_map_slots_per_bucket, hash_map_value_mask, object_header_size, gc_info_version,
      feature_com_interop, statics_pointer_mask;

  template <class Names>
  void describe(Names& names) {
    names.global(thread_store, "ThreadStore");
    names.global(runtime_instance, "RuntimeInstance");
    names.global(app_domain, "AppDomain");
    names.global(system_domain, "SystemDomain");
    names.global(object_method_table, "ObjectMethodTable");
    names.global(string_method_table, "StringMethodTable");
    names.global(exception_method_table, "ExceptionMethodTable");
    names.global(free_object_method_table, "FreeObjectMethodTable");
    names.global(object_array_method_table, "ObjectArrayMethodTable");
    names.global(finalizer_thread, "FinalizerThread");
    names.global(gc_thread, "GCThread");
    names.global(global_alloc_context, "GlobalAllocContext");
    names.global(sync_table_entries, "SyncTableEntries");
    names.global(sync_block_cache, "SyncBlockCache");
    names.global(continuation_method_table, "ContinuationMethodTable");
    names.global(continuation_ee_class, "ContinuationSingletonEEClass");
    names.global(array_base_size, "ArrayBaseSize");
    names.global(code_range_map, "ExecutionManagerCodeRangeMapAddress");
    names.global(platform_metadata, "PlatformMetadata");
    names.global(method_desc_size_table, "MethodDescSizeTable");
    names.global(method_desc_alignment, "MethodDescAlignment");
    names.global(method_desc_token_remainder_bits, "MethodDescTokenRemainderBitCount");
    names.global(object_to_method_table_unmask, "ObjectToMethodTableUnmask");
    names.global(stub_code_block_last, "StubCodeBlockLast");
    names.global(hash_map_slots_per_bucket, "HashMapSlotsPerBucket");
    names.global(hash_map_value_mask, "HashMapValueMask");
    names.global(object_header_size, "ObjectHeaderSize");
    names.global(gc_info_version, "GCInfoVersion");
    names.global(feature_com_interop, "FeatureCOMInterop");
    names.global(statics_pointer_mask, "StaticsPointerMask");
  }
};

}  // namespace mixstack::dotnet
