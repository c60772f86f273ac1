// Which method a stub goes on with that the runtime made for an async method without a state machine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dotnet/heap/delegates.h"

namespace mixstack::dotnet::objects {

/// A method that goes on through a stub.
struct ResumedMethod {
  /// C# name with its type, where that is proved; else the method's own name, as the stub bears it. Empty: it is no
  /// such stub.
  std::string name;
  bool is_proved = false;
  /// The runtime's own: what awaits for a method, or turns a task into a call. No method of the source stands for it.
  bool is_machinery = false;
};

/// Stubs are kept by address; facts of one reading. Not thread-safe. Borrows everything.
///
/// A stub (`IL_STUB_AsyncResume_METHOD_TIER`) names its method without the type. It calls the method through a word
/// that holds where the method's code begins, whose place is a constant in the stub's IL or, once that was compiled, in
/// its code. That it is this word is proved by the method there, which has the name (x64 alone for compiled stubs).
class ResumeStubs {
 public:
  static constexpr std::size_t kMostStubs = 1 << 14;
  static constexpr std::size_t kMostBytes = 512;  ///< of a stub that are looked at

  ResumeStubs(ManagedObjects& objects, Delegates& delegates) : objects_(objects), delegates_(delegates) {}

  /// The method that goes on when `resume` is called. Beyond the limit nothing is a stub.
  [[nodiscard]] const ResumedMethod& method_at(Address resume);

 private:
  [[nodiscard]] ResumedMethod read(Address resume);
  [[nodiscard]] const names::MethodName* method_behind(Address stub, std::string_view name);
  [[nodiscard]] std::vector<std::byte> il_of(Address stub) const;
  [[nodiscard]] std::vector<std::byte> code_of(Address stub, Address& begin);
  [[nodiscard]] const names::MethodName* method_in(Address slot, std::string_view name);
  [[nodiscard]] std::optional<names::MethodDefRow> row_of(const names::MethodName& method) const;

  ManagedObjects& objects_;
  Delegates& delegates_;
  std::unordered_map<Address, ResumedMethod> known_;
  const ResumedMethod none_;
};

}  // namespace mixstack::dotnet::objects
