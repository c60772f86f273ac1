// Which method a delegate calls.
#pragma once

#include <string>

#include "dotnet/bcl/types.h"
#include "dotnet/code/code_manager.h"
#include "dotnet/heap/managed_objects.h"

namespace mixstack::dotnet::objects {

/// Names methods of delegates and of types. Borrows everything; not thread-safe.
class Delegates {
 public:
  Delegates(ManagedObjects& objects, CodeManager& code, names::MethodNames& names)
      : objects_(objects), code_(code), names_(names) {}

  [[nodiscard]] CodeManager& code() { return code_; }
  [[nodiscard]] names::MethodNames& names() { return names_; }
  [[nodiscard]] bool is_delegate(Address object) { return objects_.is_a(object, bcl::kMulticastDelegate); }
  /// The object that it is called with; 0: none.
  [[nodiscard]] Address target(Address delegate);
  /// The C# name of its method; empty: it cannot be told.
  [[nodiscard]] std::string method(Address delegate);
  /// The C# name of a method that a type declares, by its name in the metadata: of a state machine's MoveNext the
  /// method of the source. Empty: it cannot be told.
  [[nodiscard]] std::string method_of_type(Address method_table, std::string_view name);

 private:
  ManagedObjects& objects_;
  CodeManager& code_;
  names::MethodNames& names_;
};

}  // namespace mixstack::dotnet::objects
