#include "dotnet/heap/delegates.h"

#include "dotnet/bcl/types.h"

namespace mixstack::dotnet::objects {

Address Delegates::target(Address delegate) { return objects_.reference(delegate, bcl::Delegate::kTarget).value_or(0); }

// A delegate of a static method is called through a stub that drops its first argument; the method is in the other
// pointer then (System.Delegate in src/coreclr/System.Private.CoreLib/src/System/Delegate.CoreCLR.cs).
std::string Delegates::method(Address delegate) {
  for (const std::string_view field : {bcl::Delegate::kMethodAux, bcl::Delegate::kMethod}) {
    const Address code = objects_.value<std::uint64_t>(delegate, field).value_or(0);
    if (code == 0) continue;
    const Address method_desc = code_.find(CodeAddress::exact(code)).method_desc;
    if (method_desc == 0) continue;
    const auto name = names_.describe(method_desc);
    if (name && !(*name)->is_il_stub) return (*name)->name;
  }
  return {};
}

std::string Delegates::method_of_type(Address method_table, std::string_view name) {
  return names_.method_of_type(method_table, name).value_or(std::string());
}

}  // namespace mixstack::dotnet::objects
