#include "dotnet/names/inlined_methods.h"

#include <algorithm>

#include "dotnet/names/inlining_record.h"
#include "engine/symbols/demangle.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::size_t kMostDepth = 6, kMostTails = 2, kMostSteps = 2000;

/// Searches all paths from a call to the callee; stops at the second.
class ChainSearch {
 public:
  ChainSearch(CallGraph& graph, MethodKey callee, bool is_guessing)
      : graph_(graph), callee_(callee), method_(graph.method(callee)), is_guessing_(is_guessing) {}

  /// Whether a call that may lead anywhere (delegate, virtual, indirect, unresolved) may lead to the callee. A method
  /// that only its own module calls is not reached through declarations of other modules.
  [[nodiscard]] bool may_lead_there(MethodKey target, bool is_delegate) const {
    if (!is_guessing_) return false;
    if (method_ == nullptr || !method_->is_internal || method_->is_virtual) return true;
    return is_delegate || target.rid == 0 || target.module == callee_.module;
  }

  [[nodiscard]] bool leads_there(MethodKey target, bool is_virtual) const {
    if (target == callee_) return true;
    if (!is_virtual || method_ == nullptr || !method_->is_virtual) return false;
    const CallingMethod* called = graph_.method(target);
    return called != nullptr && called->is_overridable && has_its_name(called->name);
  }

  /// A JIT guesses the targets of delegates, virtual and indirect calls, and inlines those as well. So where there is
  /// such a call, there may be another chain.
  void from(MethodKey target, bool is_virtual) {
    if (is_over() || ++steps_ > kMostSteps || is_on_path(target)) return;
    const CallingMethod* method = graph_.method(target);
    if (method == nullptr || method->is_delegate || (is_virtual && method->is_overridable)) {
      is_ambiguous_ = tails_ == 0 && may_lead_there(target, method == nullptr || method->is_delegate);
      return;
    }
    const bool is_inlined = method->is_small && path_.size() < kMostDepth;
    if (!is_inlined && tails_ > kMostTails) return;
    tails_ += is_inlined ? 0 : 1;
    path_.push_back({target, std::nullopt});
    for (const IlCall& call : method->calls) {
      // A method that is not inlined may still be left by a tail call (jump), which leaves no frame of it.
      if (!is_inlined && !call.is_last) continue;
      const MethodKey next = graph_.target(target.module, call.token);
      path_.back().il = call.offset;
      if (next == callee_ && is_inlined && tails_ == 0) {
        found();
      } else if (next.rid == 0) {
        is_ambiguous_ = tails_ == 0 && may_lead_there(next, true);
      } else if (leads_there(next, call.is_virtual)) {
        is_ambiguous_ = true;
      } else {
        from(next, call.is_virtual);
      }
      if (is_over()) break;
    }
    path_.pop_back();
    tails_ -= is_inlined ? 0 : 1;
  }

  [[nodiscard]] std::vector<ChainLink> result() && {
    return is_over() || steps_ > kMostSteps ? std::vector<ChainLink>{} : std::move(chain_);
  }

 private:
  [[nodiscard]] bool is_over() const { return is_ambiguous_; }
  [[nodiscard]] bool is_on_path(MethodKey key) const {
    return std::any_of(path_.begin(), path_.end(), [&](const ChainLink& l) { return l.method == key; });
  }
  /// Explicit implementations have the interface's name before their own.
  [[nodiscard]] bool has_its_name(std::string_view name) const {
    const std::string_view own = method_->name;
    return own == name || (own.size() > name.size() && own.ends_with(name) && own[own.size() - name.size() - 1] == '.');
  }
  /// Several calls in one method lead through the same methods: one chain, whose lines are not known.
  void found() {
    if (chain_.empty()) {
      chain_ = path_;
      return;
    }
    const bool is_same = std::equal(chain_.begin(), chain_.end(), path_.begin(), path_.end(),
                                    [](const ChainLink& a, const ChainLink& b) { return a.method == b.method; });
    if (!is_same) is_ambiguous_ = true;
    for (std::size_t i = 0; is_same && i < chain_.size(); i++)
      if (chain_[i].il != path_[i].il) chain_[i].il.reset();
  }

  CallGraph& graph_;
  MethodKey callee_;
  const CallingMethod* method_;
  std::vector<ChainLink> path_, chain_;
  bool is_guessing_;
  std::size_t steps_ = 0, tails_ = 0;
  bool is_ambiguous_ = false;
};

}  // namespace

bool may_call(CallGraph& graph, MethodKey method, MethodKey callee) {
  const CallingMethod* caller = graph.method(method);
  if (caller == nullptr) return true;
  const ChainSearch search(graph, callee, true);
  return std::any_of(caller->calls.begin(), caller->calls.end(), [&](const IlCall& call) {
    const MethodKey target = graph.target(method.module, call.token);
    if (target.rid == 0 || search.leads_there(target, call.is_virtual)) return true;
    const CallingMethod* called = graph.method(target);
    return called == nullptr || called->name == "Invoke";  // a delegate's, which may be anything
  });
}

std::vector<ChainLink> only_chain(CallGraph& graph, std::span<const std::pair<MethodKey, bool>> first, MethodKey callee,
                                  bool is_guessing) {
  if (callee.rid == 0) return {};
  ChainSearch search(graph, callee, is_guessing);
  for (const auto& [target, is_virtual] : first)
    if (target.rid == 0 ? search.may_lead_there(target, true) : search.leads_there(target, is_virtual)) return {};
  for (const auto& [target, is_virtual] : first) search.from(target, is_virtual);
  return std::move(search).result();
}

std::optional<SymbolInfo> InlinedMethods::symbol(Address method, std::optional<std::uint32_t> il, Inlining how) {
  const auto name = names_.describe(method);
  if (!name || (*name)->name.empty()) return std::nullopt;
  SymbolInfo info;
  info.name = (*name)->name;
  info.raw_name = (*name)->raw_name;
  info.module = (*name)->module;
  info.module_path = (*name)->module_path;
  info.inlining = how;
  if (il)
    if (auto line = lines_.of_il(**name, *il)) {
      info.file = symbols::printable(line->file);
      info.line = line->line;
    }
  return info;
}

std::vector<SymbolInfo> InlinedMethods::at(const Frame& frame, const Frame* callee) {
  if (++questions_ > kMaxQuestions) return {};
  // A thunk has the token of its method, but none of its IL.
  if (const auto name = names_.describe(frame.method); name && (*name)->is_async_thunk) return {};
  const CodeInfo info = code_.find(frame.pc);
  const Address pc = frame.pc.lookup();
  if (!info.is_managed() || pc < info.method_start) return {};
  const MethodKey called = callee == nullptr ? MethodKey{} : names_.call_graph().key_of(callee->method);
  if (!frame.pc.is_exact() && called.rid == 0) return {};
  if (const auto rich = code_.rich_debug_info(info))
    return recorded(*rich, static_cast<std::uint32_t>(pc - info.method_start), called);
  return frame.pc.is_exact() ? std::vector<SymbolInfo>{} : inferred(frame, called);
}

std::vector<SymbolInfo> InlinedMethods::may_contain(CodeAddress pc) {
  std::vector<SymbolInfo> contained;
  const CodeInfo info = code_.find(pc);
  if (++questions_ > kMaxQuestions || !info.is_managed()) return contained;
  CallGraph& graph = names_.call_graph();
  const MethodKey own = graph.key_of(info.method_desc);
  const CallingMethod* caller = own.rid == 0 ? nullptr : graph.method(own);
  if (caller == nullptr) return contained;
  std::vector<MethodKey> seen{own};
  for (const IlCall& call : caller->calls) {
    const MethodKey target = graph.target(own.module, call.token);
    if (target.rid == 0 || target.module != own.module || std::find(seen.begin(), seen.end(), target) != seen.end())
      continue;
    seen.push_back(target);
    const CallingMethod* called = graph.method(target);
    if (called == nullptr || !called->is_small || called->is_delegate || (call.is_virtual && called->is_overridable))
      continue;
    if (auto made = symbol(graph.method_desc(target), std::nullopt, Inlining::inferred))
      contained.push_back(std::move(*made));
    if (contained.size() == kMaxContained) break;
  }
  return contained;
}

std::vector<SymbolInfo> InlinedMethods::recorded(const RichDebugInfo& rich, std::uint32_t native, MethodKey callee) {
  CallGraph& graph = names_.call_graph();
  std::vector<InlinedMethod> methods = methods_at(rich, native);
  if (callee.rid != 0)
    while (methods.size() > 1 && !may_call(graph, graph.key_of(methods.front().method), callee))
      methods.erase(methods.begin());
  std::vector<SymbolInfo> symbols;
  for (std::size_t i = 0; i + 1 < methods.size(); i++) {
    auto made = symbol(methods[i].method, methods[i].il, Inlining::runtime);
    if (!made) return {};
    symbols.push_back(std::move(*made));
  }
  return symbols;
}

/// The calls in the IL of the frame's place; for dynamic methods all calls.
std::vector<std::pair<MethodKey, bool>> InlinedMethods::calls_of(const Frame& caller) {
  CallGraph& graph = names_.call_graph();
  std::vector<std::pair<MethodKey, bool>> calls;
  const MethodKey own = graph.key_of(caller.method);
  if (own.rid == 0) {
    for (const MethodKey key : graph.calls_of_dynamic(caller.method)) calls.emplace_back(key, false);
    return calls;
  }
  const CallingMethod* method = graph.method(own);
  const auto range = lines_.il_range(caller);
  if (method == nullptr || !range) return calls;
  for (const IlCall& call : method->calls)
    if (call.offset >= range->first && call.offset < range->second)
      calls.emplace_back(graph.target(own.module, call.token), call.is_virtual);
  return calls;
}

/// For precompiled code the image has the record. Code of other modules' generic methods in it is recorded differently.
Record InlinedMethods::recorded_in_image(const Frame& caller, std::span<const ChainLink> chain) {
  CallGraph& graph = names_.call_graph();
  const CodeInfo info = code_.find(caller.pc);
  const MethodKey own = graph.key_of(caller.method);
  if (info.kind != CodeKind::r2r || own.module != info.module) return Record::silent;
  const InliningTable* table = code_.inlining(info);
  return table == nullptr ? Record::silent : what_is_recorded(graph, *table, own, chain);
}

std::vector<SymbolInfo> InlinedMethods::inferred(const Frame& caller, MethodKey callee) {
  CallGraph& graph = names_.call_graph();
  std::vector<SymbolInfo> symbols;
  // Dynamic methods are compiled once, without a profile to guess by.
  const bool is_dynamic = graph.key_of(caller.method).rid == 0;
  const auto chain = only_chain(graph, calls_of(caller), callee, !is_dynamic);
  if (chain.empty()) return symbols;
  const Record record = recorded_in_image(caller, chain);
  if (record == Record::denies) return symbols;
  const Inlining how = record == Record::proves ? Inlining::runtime : Inlining::inferred;
  for (const ChainLink& link : chain) {
    auto made = symbol(graph.method_desc(link.method), link.il, how);
    if (!made) return {};
    symbols.push_back(std::move(*made));
  }
  std::reverse(symbols.begin(), symbols.end());
  return symbols;
}

}  // namespace mixstack::dotnet::names
