// Methods (src/coreclr/vm/method.hpp).
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct MethodDescLayout {
  std::uint32_t size = 0;
  Field chunk_index, slot, flags, flags3_and_token_remainder, entry_point_flags, code_data;

  template <class Names>
  void describe(Names& names) {
    names.type("MethodDesc", size);
    names.field(chunk_index, "ChunkIndex", Contract::runtime_type_system);
    names.field(slot, "Slot");
    names.field(flags, "Flags", Contract::runtime_type_system);
    names.field(flags3_and_token_remainder, "Flags3AndTokenRemainder");
    names.field(entry_point_flags, "EntryPointFlags");
    names.field(code_data, "CodeData");
  }
};

/// Sizes of the classes of methods and of their optional slots; 0: not described.
struct MethodSizesLayout {
  std::uint32_t fcall = 0, pinvoke = 0, ee_impl = 0, array = 0, com_interop = 0;
  std::uint32_t non_vtable_slot = 0, method_impl = 0, native_code_slot = 0, async_method_data = 0;

  template <class Names>
  void describe(Names& names) {
    names.type("FCallMethodDesc", fcall);
    names.type("PInvokeMethodDesc", pinvoke);
    names.type("EEImplMethodDesc", ee_impl);
    names.type("ArrayMethodDesc", array);
    names.type("CLRToCOMCallMethodDesc", com_interop);
    names.type("NonVtableSlot", non_vtable_slot);
    names.type("MethodImpl", method_impl);
    names.type("NativeCodeSlot", native_code_slot);
    names.type("AsyncMethodData", async_method_data);
  }
};

struct MethodDescChunkLayout {
  std::uint32_t size = 0;
  Field method_table, next, chunk_size, count, flags_and_token_range;

  template <class Names>
  void describe(Names& names) {
    names.type("MethodDescChunk", size);
    names.field(method_table, "MethodTable", Contract::runtime_type_system);
    names.field(next, "Next");
    names.field(chunk_size, "Size");
    names.field(count, "Count");
    names.field(flags_and_token_range, "FlagsAndTokenRange");
  }
};

struct InstantiatedMethodDescLayout {
  std::uint32_t size = 0;
  Field per_inst_info, flags2, num_generic_args;

  template <class Names>
  void describe(Names& names) {
    names.type("InstantiatedMethodDesc", size);
    names.field(per_inst_info, "PerInstInfo");
    names.field(flags2, "Flags2");
    names.field(num_generic_args, "NumGenericArgs");
  }
};

struct StoredSigMethodDescLayout {
  Field sig, c_sig, extended_flags;

  template <class Names>
  void describe(Names& names) {
    names.type("StoredSigMethodDesc");
    names.field(sig, "Sig");
    names.field(c_sig, "cSig");
    names.field(extended_flags, "ExtendedFlags");
  }
};

struct DynamicMethodDescLayout {
  std::uint32_t size = 0;
  Field method_name;

  template <class Names>
  void describe(Names& names) {
    names.type("DynamicMethodDesc", size);
    names.field(method_name, "MethodName");
  }
};

}  // namespace mixstack::dotnet
