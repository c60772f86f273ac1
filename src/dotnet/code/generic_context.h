// The generic context of frames: the place where shared code keeps the types it runs for, and the value there.
#pragma once

#include <unordered_map>

#include "dotnet/code/code_manager.h"
#include "dotnet/code/exact_generics.h"

namespace mixstack::dotnet {

/// The place where the frame at an address keeps its generic context.
struct GenericContextPlace {
  GenericContextKind kind = GenericContextKind::none;
  VariablePlace place;
};

/// The place for the frame at `pc`. The GC info of its code comes first, because it holds from prologue to epilogue;
/// else the variables of the debug information (optimised code that does not use the context keeps none, and may still
/// have `this`). Kind none: nowhere, or not recorded.
[[nodiscard]] GenericContextPlace find_generic_context(CodeManager& code, CodeAddress pc);

/// The value there for a frame with these registers: a MethodDesc, a MethodTable, or the MethodTable of `this`, whose
/// object `objects` reads. `not_found`: nothing is kept; `mismatch`: the value proves to be none of this method.
[[nodiscard]] Result<Address> exact_generic_token(CodeManager& code, CodeAddress pc, const Registers& registers,
                                                  const StackView& stack, const MemoryReader& objects);

/// Answers for frames of one capture after the other. Places and proofs are kept as long as their methods. Borrows the
/// code manager. Not thread-safe.
class GenericContexts {
 public:
  explicit GenericContexts(CodeManager& code) : code_(code) {}

  /// Objects are read through `objects` from now on (borrowed); null: they are not read.
  void begin_capture(const MemoryReader* objects);

  /// Images were loaded or unloaded.
  void forget_images() { kept_.places.clear(); }

  /// The context of a frame that stands at `frame` with these registers, which are its own. Handle 0: not known.
  [[nodiscard]] GenericContext of(const Frame& frame, const Registers& registers, const StackView& stack);

  static constexpr std::size_t kMostKnown = 1 << 16;

 private:
  struct Key {
    Address method = 0, found = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return (key.method ^ key.found << 1) * 0x9e3779b97f4a7c15ull; }
  };
  using Proved = std::unordered_map<Key, GenericContext, Hash>;
  struct Known {
    AddressCache<GenericContextPlace> places{kMostKnown};
    Proved proved;
  };
  [[nodiscard]] const GenericContextPlace& place_at(CodeAddress pc);
  [[nodiscard]] GenericContext proved(Address method, GenericContextKind kind, Address found);

  CodeManager& code_;
  const MemoryReader* objects_ = nullptr;
  Known of_capture_, kept_;
};

}  // namespace mixstack::dotnet
