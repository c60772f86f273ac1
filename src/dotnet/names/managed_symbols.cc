#include "dotnet/names/managed_symbols.h"

#include "dotnet/code/frames/frame_chain.h"
#include "dotnet/names/call_graph.h"

namespace mixstack::dotnet::names {

std::optional<SymbolInfo> ManagedSymbols::describe(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::managed:
      return method(frame);
    case FrameKind::runtime_frame:
      return record(frame);
    case FrameKind::runtime_stub:
      return stub(frame);
    default:
      return std::nullopt;
  }
}

SymbolInfo ManagedSymbols::method(const Frame& frame) {
  SymbolInfo info;
  info.offset = frame.pc.raw() - frame.method_start;
  if (frame.is_funclet()) info.note = to_string(handler_of(frame));
  auto name = names_.describe(frame.method);
  if (!name) {
    info.note = "method could not be named";
    return info;
  }
  info.name = (*name)->name;
  info.raw_name = (*name)->raw_name;
  if (frame.generic_handle != 0) use_exact_name(frame, info, name);
  if (!name) return info;
  info.module = (*name)->module;
  info.module_path = (*name)->module_path;
  if ((*name)->is_async_thunk) {  // no code of the program's: it has no lines
    info.name.insert(0, "[stub: async] -> ");
    info.module.clear();
    info.module_path.clear();
    return info;
  }
  if ((*name)->freed_while_named) info.note = "freed while named";
  if (was_added(**name)) info.note = "added while it ran";
  if (lines_ != nullptr)
    if (auto line = lines_->at(frame, **name)) {
      info.file = std::move(line->file);
      info.line = line->line;
    }
  if (frame.stub_target == 0 || !(*name)->is_il_stub) return info;
  const std::string stub = "[stub: " + (*name)->stub_kind + "]";  // the next line may drop the name
  if (const std::string target = target_name(frame.stub_target); !target.empty()) info.name = stub + " -> " + target;
  return info;
}

/// By Hot Reload: the module's file has no such row.
bool ManagedSymbols::was_added(const MethodName& name) const {
  const Token token(name.token);
  if (token.table() != TableId::method_def || name.module_address == 0) return false;
  const ModuleFacts& module = names_.module(name.module_address);
  return module.is_edited && module.metadata != nullptr && token.rid() > module.built_methods;
}

/// For people the types that the frame runs for; `raw_name` stays what the code is called, as the DAC has it.
void ManagedSymbols::use_exact_name(const Frame& frame, SymbolInfo& info, Result<const MethodName*>& name) {
  const auto exact = names_.describe(frame.method, frame.generic_context());
  if (exact && !(*exact)->freed_while_named) info.name = (*exact)->name;
  name = names_.describe(frame.method);  // the cache may have begun anew
}

/// A `finally` that the JIT has copied to where no exception leads stays behind for exceptions alone, as a fault
/// handler. C# knows none: what the method's IL has tells which it was.
FuncletKind ManagedSymbols::handler_of(const Frame& frame) {
  if (frame.funclet != FuncletKind::fault) return frame.funclet;
  CallGraph& graph = names_.call_graph();
  const CallingMethod* method = graph.method(graph.key_of(frame.method));
  if (method == nullptr || (method->handlers.has_fault && method->handlers.has_finally)) return FuncletKind::unknown;
  if (method->handlers.has_fault) return FuncletKind::fault;
  return method->handlers.has_finally ? FuncletKind::finally : FuncletKind::unknown;
}

std::string ManagedSymbols::target_name(Address method) {
  if (method == 0) return {};
  auto name = names_.describe(method);
  return name ? (*name)->name : std::string();
}

SymbolInfo ManagedSymbols::record(const Frame& frame) {
  SymbolInfo info;
  const std::string_view type = frame_name(layouts_, frame.frame_identifier);
  info.raw_name = type.empty() ? "Frame " + std::to_string(frame.frame_identifier) : std::string(type);
  info.name = "[" + info.raw_name + "]";
  if (const std::string target = target_name(frame.method); !target.empty()) info.name += " " + target;
  return info;
}

SymbolInfo ManagedSymbols::stub(const Frame& frame) {
  SymbolInfo info;
  info.raw_name = stub_kind_name(static_cast<StubKind>(frame.frame_identifier));
  info.name = "[stub: " + info.raw_name + "]";
  if (const std::string target = target_name(frame.method); !target.empty()) info.name += " -> " + target;
  info.offset = frame.pc.raw() - frame.method_start;
  return info;
}

}  // namespace mixstack::dotnet::names
