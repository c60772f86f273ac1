// The objects that .NET 11 makes of async methods that it suspends itself (runtime-async): what each tells of itself.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/heap/delegates.h"

namespace mixstack::dotnet::objects {

/// One object of a chain. The chain of a task begins with what is awaited, where that is no object of a method.
struct Continuation {
  Address address = 0;
  Address next = 0;  ///< whose method called this one, and goes on with its result; 0: the outermost
  Address ip = 0;    ///< where the method goes on, in its own code; 0: not known, or there is none
  std::int32_t state = -1;
  bool has_method = false;  ///< false: it stands for what is awaited
  Address awaited = 0;  ///< of one without a method: the task, or source of a value; 0: of one with a method, or unused
};

/// A method by an address in its code.
struct MethodOfCode {
  std::string name;  ///< C# name with its type; empty: no method has its code there
  Address method_desc = 0;
  Address method_start = 0;
  /// The runtime's own, between methods that it suspends and others. No method of the source stands for it.
  bool is_machinery = false;
};

/// Reads them by what the descriptor says of them, and the two classes that stand for what is awaited by the names of
/// their fields. Everything is foreign: only types are checked. Not thread-safe. Borrows everything.
class Continuations {
 public:
  static constexpr std::size_t kMostMethods = 1 << 14;

  Continuations(ManagedObjects& objects, Delegates& delegates) : objects_(objects), delegates_(delegates) {}

  /// Whether objects of the type are tasks of such methods.
  [[nodiscard]] bool is_task_type(Address type) { return objects_.types().is_core(type, bcl::kRuntimeAsyncTask); }
  [[nodiscard]] bool is_continuation(Address object);
  /// Nothing: it is none, or cannot be read.
  [[nodiscard]] std::optional<Continuation> at(Address object);
  /// The task behind which a chain stands that begins with `head`; 0: it does not begin one, or awaits nothing.
  [[nodiscard]] Address task_of_head(Address head);
  /// Objects that a method keeps, as far as words of its data are references: any word may be a number, too.
  [[nodiscard]] std::vector<Address> held_by(const Continuation& continuation, std::size_t most);
  /// Beyond the limit no address is of a method.
  [[nodiscard]] const MethodOfCode& method_at(Address ip);

 private:
  [[nodiscard]] bool is_head(Address object, std::string_view type);
  [[nodiscard]] MethodOfCode read(Address ip);

  ManagedObjects& objects_;
  Delegates& delegates_;
  std::unordered_map<Address, MethodOfCode> known_;
  const MethodOfCode none_;
};

}  // namespace mixstack::dotnet::objects
