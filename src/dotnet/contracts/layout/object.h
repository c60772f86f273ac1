// Managed objects (src/coreclr/vm/object.h).
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct ObjectLayout {
  Field method_table;

  template <class Names>
  void describe(Names& names) {
    names.type("Object");
    names.field(method_table, "m_pMethTab", Contract::object);
  }
};

struct StringLayout {
  Field first_char, length;

  template <class Names>
  void describe(Names& names) {
    names.type("String");
    names.field(first_char, "m_FirstChar", Contract::object);
    names.field(length, "m_StringLength", Contract::object);
  }
};

struct ArrayLayout {
  std::uint32_t size = 0;
  Field num_components;

  template <class Names>
  void describe(Names& names) {
    names.type("Array", size);
    names.field(num_components, "m_NumComponents");
  }
};

/// The table of sync blocks (src/coreclr/vm/syncblk.h). In .NET 9 and 10 the object follows the SyncBlock.
struct SyncTableLayout {
  std::uint32_t size = 0;  ///< of an entry
  Field sync_block;
  Field object;  ///< .NET 11
  // .NET 11.
  Field lock;        ///< of a SyncBlock: a handle of the monitor's System.Threading.Lock
  Field free_index;  ///< of the SyncBlockCache: where the used part of the table ends

  template <class Names>
  void describe(Names& names) {
    names.type("SyncTableEntry", size);
    names.field(sync_block, "SyncBlock");
    names.field(object, "Object");
    names.type("SyncBlock");
    names.field(lock, "Lock");
    names.type("SyncBlockCache");
    names.field(free_index, "FreeSyncTableIndex");
  }
};

struct ExceptionLayout {
  Field message, inner_exception, stack_trace, hresult;

  template <class Names>
  void describe(Names& names) {
    names.type("Exception");
    names.field(message, "_message");
    names.field(inner_exception, "_innerException");
    names.field(stack_trace, "_stackTrace");
    names.field(hresult, "_HResult");
  }
};

}  // namespace mixstack::dotnet
