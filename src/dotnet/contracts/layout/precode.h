// Stubs in front of methods (src/coreclr/vm/precode.h).
#pragma once

#include "dotnet/contracts/layout/field.h"

namespace mixstack::dotnet {

struct PlatformMetadataLayout {
  Field precode_machine_descriptor;

  template <class Names>
  void describe(Names& names) {
    names.type("PlatformMetadata");
    names.field(precode_machine_descriptor, "PrecodeMachineDescriptor", Contract::precode_stubs,
                Contract::platform_metadata);
  }
};

struct PrecodeMachineLayout {
  Field invalid_type, pinvoke_import_type, fixup_type, fixup_code_offset, fixup_stub_size, fixup_bytes, fixup_ignored,
      stub_size, stub_type, stub_bytes, stub_ignored, this_ptr_ret_buf_type, um_entry_type, stub_code_page_size;

  template <class Names>
  void describe(Names& names) {
    names.type("PrecodeMachineDescriptor");
    names.field(invalid_type, "InvalidPrecodeType");
    names.field(pinvoke_import_type, "PInvokeImportPrecodeType");
    names.field(fixup_type, "FixupPrecodeType");
    names.field(fixup_code_offset, "FixupCodeOffset");
    names.field(fixup_stub_size, "FixupStubPrecodeSize");
    names.field(fixup_bytes, "FixupBytes");
    names.field(fixup_ignored, "FixupIgnoredBytes");
    names.field(stub_size, "StubPrecodeSize");
    names.field(stub_type, "StubPrecodeType");
    names.field(stub_bytes, "StubBytes");
    names.field(stub_ignored, "StubIgnoredBytes");
    names.field(this_ptr_ret_buf_type, "ThisPointerRetBufPrecodeType");
    names.field(um_entry_type, "UMEntryPrecodeType");
    names.field(stub_code_page_size, "StubCodePageSize");
  }
};

struct StubPrecodeDataLayout {
  Field secret_param, type;

  template <class Names>
  void describe(Names& names) {
    names.type("StubPrecodeData");
    names.field(secret_param, "SecretParam");
    names.field(type, "Type");
  }
};

struct FixupPrecodeDataLayout {
  Field method_desc;

  template <class Names>
  void describe(Names& names) {
    names.type("FixupPrecodeData");
    names.field(method_desc, "MethodDesc");
  }
};

struct ThisPtrRetBufPrecodeDataLayout {
  Field method_desc;

  template <class Names>
  void describe(Names& names) {
    names.type("ThisPtrRetBufPrecodeData");
    names.field(method_desc, "MethodDesc");
  }
};

}  // namespace mixstack::dotnet
