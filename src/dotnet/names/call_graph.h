// The methods that a method calls, by its IL: tokens resolved as far as the runtime and the metadata allow.
#pragma once

#include <compare>
#include <map>
#include <string_view>
#include <vector>

#include "dotnet/names/il_body.h"
#include "dotnet/names/runtime_method.h"

namespace mixstack::dotnet::names {

/// A method of a module, whatever its type arguments.
struct MethodKey {
  Address module = 0;
  std::uint32_t rid = 0;                                                  ///< row of MethodDef; 0: not known
  friend auto operator<=>(const MethodKey&, const MethodKey&) = default;  // NOLINT(modernize-use-nullptr): its 0
};

/// The facts that decide whether a JIT may inline it into its callers, and its calls.
struct CallingMethod {
  std::string_view name;        ///< of the metadata
  bool is_small = false;        ///< IL that a JIT would put into callers: short, without handlers, not forbidden
  bool is_overridable = false;  ///< a virtual call may lead elsewhere
  bool is_virtual = false;
  bool is_internal = true;   ///< only its own module can call it (or make a delegate of it)
  bool is_delegate = false;  ///< a delegate's Invoke: may lead anywhere
  bool is_generic = false;   ///< it, or its type
  IlHandlers handlers;
  std::vector<IlCall> calls;
};

/// Borrows its parts; keeps what it found. Everything is bounded; a method that cannot be read calls nothing. Not
/// thread-safe.
class CallGraph {
 public:
  static constexpr std::uint32_t kMaxSmall = 100, kMaxWanted = 2000;  ///< bytes of IL; with AggressiveInlining
  static constexpr std::size_t kMaxMethods = 1 << 14;

  CallGraph(const RuntimeMemory& memory, RuntimeModules& modules, const RuntimeTypes& types)
      : memory_(memory), modules_(modules), types_(types) {}

  [[nodiscard]] MethodKey key_of(Address method_desc) const;
  /// Valid until `forget`. Null beyond the limit.
  [[nodiscard]] const CallingMethod* method(MethodKey key);
  /// The method that a call in the IL of `module` names; a virtual call may lead elsewhere.
  [[nodiscard]] MethodKey target(Address module, std::uint32_t token);
  /// Compilers of images inline such methods (NonVersionableAttribute, on them or their types) without recording it.
  /// Not kept.
  [[nodiscard]] bool is_non_versionable(MethodKey key) const;
  /// The MethodDesc the runtime keeps of it, open definitions of generic ones; 0: none.
  [[nodiscard]] Address method_desc(MethodKey key) const;
  /// The calls of a dynamic method, resolved by the list of its tokens, on the managed heap. Empty where anything there
  /// is not as expected.
  [[nodiscard]] std::vector<MethodKey> calls_of_dynamic(Address method_desc) const;
  /// Forgets all: modules may have changed.
  void forget() { methods_.clear(), targets_.clear(); }

 private:
  struct TypeKey {
    Address module = 0;
    std::uint32_t rid = 0;
  };
  [[nodiscard]] CallingMethod read(MethodKey key) const;
  [[nodiscard]] MethodKey resolve(Address module, std::uint32_t token) const;
  [[nodiscard]] MethodKey member(Address module, const MemberRefRow& row) const;
  [[nodiscard]] MethodKey find(TypeKey type, const MemberRefRow& row, const Metadata& from) const;
  [[nodiscard]] TypeKey type_of(Address module, Token token, unsigned depth = 0) const;
  [[nodiscard]] bool is_a(Address object, std::string_view type) const;
  [[nodiscard]] Address entry(Field map, Address module, std::uint32_t rid) const;

  RuntimeMemory memory_;
  RuntimeModules& modules_;
  const RuntimeTypes& types_;
  std::map<MethodKey, CallingMethod> methods_;
  std::map<std::pair<Address, std::uint32_t>, MethodKey> targets_;
};

}  // namespace mixstack::dotnet::names
