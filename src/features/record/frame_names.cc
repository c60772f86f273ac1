#include "features/record/frame_names.h"

#include <algorithm>

namespace mixstack::record {
namespace {

CodeKind kind_of(const Frame& frame, const SymbolInfo& symbol) {
  switch (frame.kind) {
    case FrameKind::managed:
      return CodeKind::managed;
    case FrameKind::runtime_frame:
    case FrameKind::runtime_stub:
      return CodeKind::stub;
    case FrameKind::undescribed:
      // Named: compiled code with symbols. Without a name its kind is unknown.
      return symbol.name.empty() ? CodeKind::unknown : CodeKind::native;
    case FrameKind::native:
    case FrameKind::signal_trampoline:
      break;
  }
  return symbol.module.starts_with("libcoreclr") || symbol.module.starts_with("libclr") ? CodeKind::runtime
                                                                                        : CodeKind::native;
}

/// Whether a name may be kept: a native name holds; a lookup of a method that failed may succeed the next time.
bool may_last(const Frame& frame, const SymbolInfo& symbol) {
  if (frame.kind == FrameKind::native) return symbol.seen_from.count() == 0;
  return !symbol.name.empty() && symbol.note != "freed while named";
}

/// While a method is being freed, its name may still be readable but its signature is not; the name may then be
/// garbage.
bool is_nameless(const SymbolInfo& symbol) {
  return symbol.name.empty() || symbol.name.find("(?)") != std::string::npos || symbol.note == "freed while named";
}

}  // namespace

bool FrameNames::lacks_name(const Frame& frame) const {
  if (frame.kind != FrameKind::managed || walker_->keeps_name(frame)) return false;
  const std::uint32_t number = walker_->symbolizer().name(frame);
  return is_nameless(walker_->symbolizer().symbols()[number]);
}

bool FrameNames::begin(Walker& walker, std::chrono::nanoseconds instant) {
  walker_ = &walker;
  walker.symbolizer().begin(instant);
  of_capture_.clear();
  auto generation = walker.generation();
  if (generation == generation_ && lasting_.size() <= kMostKnown) return true;
  generation_ = std::move(generation);
  lasting_.clear();
  UserCode::Program program{.executable = target_.executable, .command_line = target_.command_line};
  for (const dotnet::Runtime& runtime : walker.runtimes()) program.runtime = runtime.summary().module_path;
  user_.emplace(program);
  return false;
}

FrameNames::Named FrameNames::name(const Frame& frame, const Frame* callee) {
  if (frame.kind != FrameKind::managed) callee = nullptr;
  const Address made_for = frame.stub_target != 0 ? frame.stub_target : frame.generic_handle;
  const Key key{frame.pc.lookup(), frame.method, made_for, callee == nullptr ? 0 : callee->method,
                static_cast<std::uint32_t>(frame.kind) << 8 | static_cast<std::uint32_t>(frame.trust)};
  if (const auto known = lasting_.find(key); known != lasting_.end()) return {known->second, true};
  if (const auto known = of_capture_.find(key); known != of_capture_.end()) return {known->second, false};
  bool lasts = false;
  std::vector<std::uint32_t> numbers = ask(frame, callee, lasts);
  return {(lasts ? lasting_ : of_capture_).emplace(key, std::move(numbers)).first->second, lasts};
}

std::vector<std::uint32_t> FrameNames::ask(const Frame& frame, const Frame* callee, bool& lasts) {
  const std::uint32_t innermost = walker_->symbolizer().name(frame);
  const auto& symbols = walker_->symbolizer().symbols();
  std::vector<std::uint32_t> numbers;
  lasts = walker_->keeps_name(frame);
  for (const SymbolInfo& symbol : walker_->inlined_at(frame, callee)) {
    const auto number = numbers.size() < kMostLogicalFrames ? record(frame, symbol) : std::nullopt;
    if (!number) break;
    numbers.push_back(*number);
    lasts = lasts && may_last(frame, symbol);
  }
  for (std::uint32_t at = innermost; numbers.size() < kMostLogicalFrames; at = symbols[at].inlined_into) {
    const auto number = record(frame, symbols[at]);
    if (!number) return {};
    numbers.push_back(*number);
    lasts = lasts && may_last(frame, symbols[at]);
    if (symbols[at].inlined_into == 0) break;
  }
  return numbers;
}

/// The method existed when its thread was sampled and was freed before its stack was named. Either the runtime knows of
/// code that it may free (a lightweight method, an unloadable assembly) and has no name for it any more, or a return
/// address lies in the runtime's JIT memory, where now there is no code.
bool FrameNames::is_freed_method(const Frame& frame, const SymbolInfo& symbol) const {
  if (frame.kind == FrameKind::managed) return is_nameless(symbol) && !walker_->keeps_name(frame);
  if (!symbol.name.empty()) return false;
  if (frame.kind != FrameKind::undescribed || frame.pc.is_exact()) return false;
  const auto& regions = walker_->regions();
  if (regions == nullptr) return false;
  const auto around = std::find_if(regions->begin(), regions->end(),
                                   [&](const Region& r) { return r.range.contains(frame.pc.lookup()); });
  return around != regions->end() && around->executable && around->path.starts_with("/memfd:doublemapper");
}

std::optional<std::uint32_t> FrameNames::caller(const SymbolInfo& method) {
  SymbolInfo marked = method;
  marked.name += " {awaits}";
  Frame frame;
  frame.kind = FrameKind::managed;
  return record(frame, marked);
}

std::optional<std::uint32_t> FrameNames::record(const Frame& frame, const SymbolInfo& symbol) {
  RecordedFunction function{.name = symbol.name, .raw_name = symbol.raw_name, .kind = kind_of(frame, symbol)};
  if (is_freed_method(frame, symbol)) {
    function.name = "[freed method]";
    function.kind = CodeKind::managed;
  }
  function.is_user = user_->is_user(symbol, frame.kind);
  if (!symbol.module.empty()) {
    const auto module = recording_.module({symbol.module, symbol.module_path, symbol.build_id});
    if (!module) return std::nullopt;
    function.module = *module;
  }
  RecordedFrame place{.line = symbol.line, .inlining = symbol.inlining, .trust = frame.trust};
  const bool is_in_image =
      (frame.kind == FrameKind::native || frame.kind == FrameKind::signal_trampoline) && frame.module != kNoModule;
  place.address = is_in_image ? frame.module_offset : frame.pc.lookup();
  if (!symbol.file.empty())
    if (const auto file = recording_.file(symbol.file)) place.file = *file;
  const auto number = recording_.function(function);
  if (!number) return std::nullopt;
  place.function = *number;
  return recording_.frame(place);
}

}  // namespace mixstack::record
