// Methods that the JIT inlined into others: as the runtime recorded them, or inferred from the IL.
#pragma once

#include <optional>
#include <vector>

#include "dotnet/code/code_manager.h"
#include "dotnet/names/call_graph.h"
#include "dotnet/names/method_names.h"
#include "dotnet/names/source_lines.h"
#include "mixstack/symbol.h"

namespace mixstack::dotnet::names {

/// Whether a call in the IL of `method` may be one of `callee`: it names it, or its target is not known.
[[nodiscard]] bool may_call(CallGraph& graph, MethodKey method, MethodKey callee);

/// A chain of calls from a method to another, without both: outermost first.
struct ChainLink {
  MethodKey method;
  std::optional<std::uint32_t> il;  ///< of the call to the next one; nothing where more than one leads there
  friend bool operator==(const ChainLink&, const ChainLink&) = default;
};
/// The chain of small methods that leads from one of `first` (called outermost) to `callee`, if there is exactly one
/// and `callee` itself is not among `first`. Nothing if the search takes too many steps. `is_guessing`: the JIT may
/// have guessed the targets of delegates and virtual calls, and inlined them.
[[nodiscard]] std::vector<ChainLink> only_chain(CallGraph& graph, std::span<const std::pair<MethodKey, bool>> first,
                                                MethodKey callee, bool is_guessing);

enum class Record : std::uint8_t;

/// Borrows its parts. To be asked when the target runs again. Not thread-safe.
class InlinedMethods {
 public:
  static constexpr std::size_t kMaxQuestions = 1 << 14;  ///< of one capture
  static constexpr std::size_t kMaxContained = 8;

  InlinedMethods(CodeManager& code, MethodNames& names, SourceLines& lines)
      : code_(code), names_(names), lines_(lines) {}

  /// The methods inlined at a frame: as the JIT recorded them, else inferred. Innermost first. `callee`: the managed
  /// frame that it has called; null: it has called none.
  [[nodiscard]] std::vector<SymbolInfo> at(const Frame& frame, const Frame* callee);
  /// Small methods of its own module that the method at `pc` calls by its IL, and that a JIT may therefore have put
  /// into its code: at most kMaxContained, without places, as their definitions are named. Virtual calls that may lead
  /// elsewhere are left out.
  [[nodiscard]] std::vector<SymbolInfo> may_contain(CodeAddress pc);
  void new_capture() { questions_ = 0; }

 private:
  /// Records follow the code only roughly: after inlined code, calls of the method itself may still be counted to it.
  /// So the first of them must be able to call `callee`.
  [[nodiscard]] std::vector<SymbolInfo> recorded(const RichDebugInfo& rich, std::uint32_t native, MethodKey callee);
  /// The chain between a frame and its callee. Empty where nothing is inlined, or more than one chain fits.
  [[nodiscard]] std::vector<SymbolInfo> inferred(const Frame& caller, MethodKey callee);
  [[nodiscard]] Record recorded_in_image(const Frame& caller, std::span<const ChainLink> chain);
  [[nodiscard]] std::vector<std::pair<MethodKey, bool>> calls_of(const Frame& caller);
  [[nodiscard]] std::optional<SymbolInfo> symbol(Address method, std::optional<std::uint32_t> il, Inlining how);

  CodeManager& code_;
  MethodNames& names_;
  SourceLines& lines_;
  std::size_t questions_ = 0;
};

}  // namespace mixstack::dotnet::names
