// Precompiled images (src/coreclr/vm/readytoruninfo.h, hash.h).
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct ReadyToRunInfoLayout {
  Field header, composite_info, num_runtime_functions, runtime_functions, num_hot_cold_map, hot_cold_map,
      delay_load_thunks, entry_point_to_method_desc_map;

  template <class Names>
  void describe(Names& names) {
    names.type("ReadyToRunInfo");
    names.field(header, "ReadyToRunHeader");
    names.field(composite_info, "CompositeInfo", Contract::execution_manager);
    names.field(num_runtime_functions, "NumRuntimeFunctions", Contract::execution_manager);
    names.field(runtime_functions, "RuntimeFunctions", Contract::execution_manager);
    names.field(num_hot_cold_map, "NumHotColdMap");
    names.field(hot_cold_map, "HotColdMap");
    names.field(delay_load_thunks, "DelayLoadMethodCallThunks");
    names.field(entry_point_to_method_desc_map, "EntryPointToMethodDescMap", Contract::execution_manager);
  }
};

struct ImageDataDirectoryLayout {
  Field virtual_address, size;

  template <class Names>
  void describe(Names& names) {
    names.type("ImageDataDirectory");
    names.field(virtual_address, "VirtualAddress");
    names.field(size, "Size");
  }
};

struct HashMapLayout {
  Field buckets;

  template <class Names>
  void describe(Names& names) {
    names.type("HashMap");
    names.field(buckets, "Buckets", Contract::execution_manager);
  }
};

struct BucketLayout {
  std::uint32_t size = 0;
  Field keys, values;

  template <class Names>
  void describe(Names& names) {
    names.type("Bucket", size);
    names.field(keys, "Keys", Contract::execution_manager);
    names.field(values, "Values", Contract::execution_manager);
  }
};

}  // namespace mixstack::dotnet
