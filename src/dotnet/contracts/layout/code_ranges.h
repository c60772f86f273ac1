// Where code lies and what describes it (src/coreclr/vm/codeman.h).
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct RangeSectionMapLayout {
  Field top_level_data;

  template <class Names>
  void describe(Names& names) {
    names.type("RangeSectionMap");
    names.field(top_level_data, "TopLevelData", Contract::execution_manager);
  }
};

struct RangeSectionFragmentLayout {
  Field range_begin, range_end_open, range_section, next;

  template <class Names>
  void describe(Names& names) {
    names.type("RangeSectionFragment");
    names.field(range_begin, "RangeBegin", Contract::execution_manager);
    names.field(range_end_open, "RangeEndOpen", Contract::execution_manager);
    names.field(range_section, "RangeSection", Contract::execution_manager);
    names.field(next, "Next", Contract::execution_manager);
  }
};

struct RangeSectionLayout {
  Field range_begin, range_end_open, jit_manager, flags, heap_list, r2r_module;
  Field next_for_delete;  ///< not null: replaced by another section, kept until nobody can be reading it
  Field range_list;       ///< supplement until a descriptor has it

  template <class Names>
  void describe(Names& names) {
    names.type("RangeSection");
    names.field(range_begin, "RangeBegin", Contract::execution_manager);
    names.field(range_end_open, "RangeEndOpen", Contract::execution_manager);
    names.field(next_for_delete, "NextForDelete");
    names.field(jit_manager, "JitManager");
    names.field(flags, "Flags", Contract::execution_manager);
    names.field(heap_list, "HeapList", Contract::execution_manager);
    names.field(r2r_module, "R2RModule", Contract::execution_manager);
    names.field(range_list, "RangeList");
  }
};

struct CodeRangeListLayout {
  Field type;  ///< CodeRangeMapRangeList.RangeListType: StubCodeBlockKind of every stub in a range list

  template <class Names>
  void describe(Names& names) {
    names.type("CodeRangeMapRangeList");
    names.field(type, "RangeListType");
  }
};

struct CodeHeapListNodeLayout {
  Field next, start_address, end_address, map_base, header_map;

  template <class Names>
  void describe(Names& names) {
    names.type("CodeHeapListNode");
    names.field(next, "Next");
    names.field(start_address, "StartAddress", Contract::execution_manager);
    names.field(end_address, "EndAddress", Contract::execution_manager);
    names.field(map_base, "MapBase", Contract::execution_manager);
    names.field(header_map, "HeaderMap", Contract::execution_manager);
  }
};

struct RealCodeHeaderLayout {
  Field method_desc, gc_info, num_unwind_infos, unwind_infos;
  Field debug_info, eh_info;

  template <class Names>
  void describe(Names& names) {
    names.type("RealCodeHeader");
    names.field(method_desc, "MethodDesc", Contract::execution_manager);
    names.field(gc_info, "GCInfo");
    names.field(num_unwind_infos, "NumUnwindInfos");
    names.field(unwind_infos, "UnwindInfos");
    names.field(debug_info, "DebugInfo");
    names.field(eh_info, "EHInfo");
  }
};

struct RuntimeFunctionLayout {
  std::uint32_t size = 0;
  Field begin_address, end_address, unwind_data;

  template <class Names>
  void describe(Names& names) {
    names.type("RuntimeFunction", size);
    names.field(begin_address, "BeginAddress", Contract::execution_manager);
    names.field(end_address, "EndAddress");
    names.field(unwind_data, "UnwindData");
  }
};

}  // namespace mixstack::dotnet
