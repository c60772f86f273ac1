// Managed objects (src/coreclr/vm/object.h).
#pragma once

#include "dotnet/code/layout/field.h"

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

/// An entry of the table of sync blocks (src/coreclr/vm/syncblk.h); the object follows the SyncBlock.
struct SyncTableEntryLayout {
  std::uint32_t size = 0;
  Field sync_block;

  template <class Names>
  void describe(Names& names) {
    names.type("SyncTableEntry", size);
    names.field(sync_block, "SyncBlock");
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
