// Types (src/coreclr/vm/methodtable.h, class.h, typedesc.h).
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct MethodTableLayout {
  std::uint32_t size = 0;
  Field flags, base_size, flags2, ee_class_or_canon, module, parent, num_interfaces, num_virtuals, per_inst_info,
      auxiliary_data;

  template <class Names>
  void describe(Names& names) {
    names.type("MethodTable", size);
    names.field(flags, "MTFlags", Contract::runtime_type_system);
    names.field(base_size, "BaseSize");
    names.field(flags2, "MTFlags2", Contract::runtime_type_system);
    names.field(ee_class_or_canon, "EEClassOrCanonMT", Contract::runtime_type_system);
    names.field(module, "Module", Contract::runtime_type_system);
    names.field(parent, "ParentMethodTable");
    names.field(num_interfaces, "NumInterfaces");
    names.field(num_virtuals, "NumVirtuals");
    names.field(per_inst_info, "PerInstInfo");
    names.field(auxiliary_data, "AuxiliaryData");
  }
};

/// The same structure of NativeAOT (src/coreclr/nativeaot/Runtime/inc/MethodTable.h).
struct AotMethodTableLayout {
  Field flags, base_size, related_type, num_vtable_slots, num_interfaces, vtable;

  template <class Names>
  void describe(Names& names) {
    names.type("MethodTable");
    names.field(flags, "Flags");
    names.field(base_size, "BaseSize");
    names.field(related_type, "RelatedType");
    names.field(num_vtable_slots, "NumVtableSlots");
    names.field(num_interfaces, "NumInterfaces");
    names.field(vtable, "VTable");
  }
};

struct EEClassLayout {
  Field method_table, method_desc_chunk, num_methods, field_desc_list, cor_type_attr, internal_cor_element_type,
      num_instance_fields, num_static_fields;

  template <class Names>
  void describe(Names& names) {
    names.type("EEClass");
    names.field(method_table, "MethodTable");
    names.field(method_desc_chunk, "MethodDescChunk");
    names.field(num_methods, "NumMethods");
    names.field(field_desc_list, "FieldDescList");
    names.field(cor_type_attr, "CorTypeAttr");
    names.field(internal_cor_element_type, "InternalCorElementType");
    names.field(num_instance_fields, "NumInstanceFields");
    names.field(num_static_fields, "NumStaticFields");
  }
};

/// Where statics of a type lie; stands right before its MethodTableAuxiliaryData.
struct DynamicStaticsInfoLayout {
  std::uint32_t size = 0;
  Field gc_statics, non_gc_statics;

  template <class Names>
  void describe(Names& names) {
    names.type("DynamicStaticsInfo", size);
    names.field(gc_statics, "GCStatics");
    names.field(non_gc_statics, "NonGCStatics");
  }
};

/// Where thread statics of a type lie; stands before its MethodTableAuxiliaryData, too, and holds the one above.
struct ThreadStaticsInfoLayout {
  std::uint32_t size = 0;
  Field gc_tls_index, non_gc_tls_index;

  template <class Names>
  void describe(Names& names) {
    names.type("ThreadStaticsInfo", size);
    names.field(gc_tls_index, "GCTlsIndex");
    names.field(non_gc_tls_index, "NonGCTlsIndex");
  }
};

struct ArrayClassLayout {
  Field rank;

  template <class Names>
  void describe(Names& names) {
    names.type("ArrayClass");
    names.field(rank, "Rank");
  }
};

struct GenericsDictInfoLayout {
  Field num_dicts, num_type_args;

  template <class Names>
  void describe(Names& names) {
    names.type("GenericsDictInfo");
    names.field(num_dicts, "NumDicts");
    names.field(num_type_args, "NumTypeArgs");
  }
};

struct TypeDescLayout {
  Field type_and_flags;

  template <class Names>
  void describe(Names& names) {
    names.type("TypeDesc");
    names.field(type_and_flags, "TypeAndFlags");
  }
};

struct ParamTypeDescLayout {
  Field type_arg;

  template <class Names>
  void describe(Names& names) {
    names.type("ParamTypeDesc");
    names.field(type_arg, "TypeArg");
  }
};

struct TypeVarTypeDescLayout {
  Field module, token;

  template <class Names>
  void describe(Names& names) {
    names.type("TypeVarTypeDesc");
    names.field(module, "Module");
    names.field(token, "Token");
  }
};

struct FnPtrTypeDescLayout {
  Field num_args, call_conv, ret_and_arg_types, loader_module;

  template <class Names>
  void describe(Names& names) {
    names.type("FnPtrTypeDesc");
    names.field(num_args, "NumArgs");
    names.field(call_conv, "CallConv");
    names.field(ret_and_arg_types, "RetAndArgTypes");
    names.field(loader_module, "LoaderModule");
  }
};

}  // namespace mixstack::dotnet
