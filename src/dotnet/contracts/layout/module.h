// Modules, assemblies and their files (src/coreclr/vm/ceeload.h, assembly.hpp, peimage.h).
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct ModuleLayout {
  Field assembly, pe_assembly, base, flags, loader_allocator, dynamic_metadata, dynamic_il, path, file_name,
      ready_to_run_info, field_def_to_desc_map, method_def_to_desc_map, type_def_to_method_table_map,
      type_ref_to_method_table_map, member_ref_to_desc_map, manifest_module_references_map, available_type_params;
  Field metadata_generation;  ///< .NET 11: how often Hot Reload changed it

  template <class Names>
  void describe(Names& names) {
    names.type("Module");
    names.field(assembly, "Assembly");
    names.field(pe_assembly, "PEAssembly");
    names.field(base, "Base", Contract::loader);
    names.field(flags, "Flags", Contract::loader);
    names.field(loader_allocator, "LoaderAllocator");
    names.field(dynamic_metadata, "DynamicMetadata");
    names.field(dynamic_il, "DynamicILBlobTable");
    names.field(path, "Path");
    names.field(file_name, "FileName");
    names.field(ready_to_run_info, "ReadyToRunInfo", Contract::execution_manager);
    names.field(field_def_to_desc_map, "FieldDefToDescMap");
    names.field(method_def_to_desc_map, "MethodDefToDescMap");
    names.field(type_def_to_method_table_map, "TypeDefToMethodTableMap");
    names.field(type_ref_to_method_table_map, "TypeRefToMethodTableMap");
    names.field(member_ref_to_desc_map, "MemberRefToDescMap");
    names.field(manifest_module_references_map, "ManifestModuleReferencesMap");
    names.field(available_type_params, "AvailableTypeParams");
    names.field(metadata_generation, "MetadataGeneration");
  }
};

struct ModuleLookupMapLayout {
  Field table_data, next, count, supported_flags_mask;

  template <class Names>
  void describe(Names& names) {
    names.type("ModuleLookupMap");
    names.field(table_data, "TableData");
    names.field(next, "Next");
    names.field(count, "Count");
    names.field(supported_flags_mask, "SupportedFlagsMask");
  }
};

/// DacEnumerableHashTable (src/coreclr/vm/dacenumerablehash.h): generic instances that a module keeps.
struct EETypeHashTableLayout {
  Field buckets, entry_value, entry_next;

  template <class Names>
  void describe(Names& names) {
    names.type("EETypeHashTable");
    names.field(buckets, "Buckets");
    names.field(entry_value, "VolatileEntryValue");
    names.field(entry_next, "VolatileEntryNextEntry");
  }
};

/// Heaps of what is loaded; every type and every method lies in one of them (src/coreclr/vm/loaderallocator.hpp).
struct LoaderAllocatorLayout {
  Field high_frequency_heap, low_frequency_heap;  ///< pointers at heaps

  template <class Names>
  void describe(Names& names) {
    names.type("LoaderAllocator");
    names.field(high_frequency_heap, "HighFrequencyHeap");
    names.field(low_frequency_heap, "LowFrequencyHeap");
  }
};

struct SystemDomainLayout {
  Field global_loader_allocator;  ///< the LoaderAllocator itself

  template <class Names>
  void describe(Names& names) {
    names.type("SystemDomain");
    names.field(global_loader_allocator, "GlobalLoaderAllocator");
  }
};

struct AssemblyLayout {
  Field is_collectible, module, error;

  template <class Names>
  void describe(Names& names) {
    names.type("Assembly");
    names.field(is_collectible, "IsCollectible");
    names.field(module, "Module");
    names.field(error, "Error");
  }
};

struct PEAssemblyLayout {
  Field pe_image, assembly_binder;
  Field md_import_is_rw, md_import;  ///< whether the metadata can be written, and then its MDInternalRW

  template <class Names>
  void describe(Names& names) {
    names.type("PEAssembly");
    names.field(pe_image, "PEImage");
    names.field(assembly_binder, "AssemblyBinder");
    names.field(md_import_is_rw, "MDImportIsRW");
    names.field(md_import, "MDImport");
  }
};

struct PEImageLayout {
  Field loaded_image_layout;

  template <class Names>
  void describe(Names& names) {
    names.type("PEImage");
    names.field(loaded_image_layout, "LoadedImageLayout");
  }
};

struct PEImageLayoutLayout {
  Field base, size, flags;

  template <class Names>
  void describe(Names& names) {
    names.type("PEImageLayout");
    names.field(base, "Base");
    names.field(size, "Size");
    names.field(flags, "Flags");
  }
};

struct DynamicMetadataLayout {
  Field size, data;

  template <class Names>
  void describe(Names& names) {
    names.type("DynamicMetadata");
    names.field(size, "Size");
    names.field(data, "Data");
  }
};

struct ArrayListBaseLayout {
  Field count, first_block;

  template <class Names>
  void describe(Names& names) {
    names.type("ArrayListBase");
    names.field(count, "Count");
    names.field(first_block, "FirstBlock");
  }
};

struct ArrayListBlockLayout {
  Field next, size, array_start;

  template <class Names>
  void describe(Names& names) {
    names.type("ArrayListBlock");
    names.field(next, "Next");
    names.field(size, "Size");
    names.field(array_start, "ArrayStart");
  }
};

struct AppDomainLayout {
  Field root_assembly, friendly_name;
  Field domain_assembly_list;  ///< of DomainAssemblies, whose first word is the Assembly
  Field assembly_list;         ///< .NET 11: of Assemblies

  template <class Names>
  void describe(Names& names) {
    names.type("AppDomain");
    names.field(root_assembly, "RootAssembly");
    names.field(domain_assembly_list, "DomainAssemblyList");
    names.field(assembly_list, "AssemblyList");
    names.field(friendly_name, "FriendlyName");
  }
};

}  // namespace mixstack::dotnet
