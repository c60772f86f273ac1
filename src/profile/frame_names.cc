#include "profile/frame_names.h"

namespace mixstack::profile {
namespace {

CodeKind kind_of(const Frame& frame, const SymbolInfo& symbol) {
  switch (frame.kind) {
    case FrameKind::managed:
      return CodeKind::managed;
    case FrameKind::runtime_frame:
    case FrameKind::runtime_stub:
      return CodeKind::stub;
    case FrameKind::undescribed:
      return CodeKind::unknown;
    case FrameKind::native:
    case FrameKind::signal_trampoline:
      break;
  }
  return symbol.module.starts_with("libcoreclr") || symbol.module.starts_with("libclr") ? CodeKind::runtime
                                                                                        : CodeKind::native;
}

}  // namespace

void FrameNames::begin(Walker& walker, std::chrono::nanoseconds instant) {
  walker_ = &walker;
  walker.symbolizer().begin(instant);
  of_capture_.clear();
  if (auto generation = walker.generation(); generation != generation_ || lasting_.size() > kMostKnown) {
    generation_ = std::move(generation);
    lasting_.clear();
    UserCode::Program program{.executable = target_.executable, .command_line = target_.command_line};
    for (const dotnet::Runtime& runtime : walker.runtimes()) program.runtime = runtime.summary().module_path;
    user_.emplace(program);
  }
}

std::span<const std::uint32_t> FrameNames::numbers(const Frame& frame) {
  const Key key{frame.pc.lookup(), frame.method,
                static_cast<std::uint32_t>(frame.kind) << 8 | static_cast<std::uint32_t>(frame.trust)};
  if (const auto known = lasting_.find(key); known != lasting_.end()) return known->second;
  if (const auto known = of_capture_.find(key); known != of_capture_.end()) return known->second;
  bool lasts = false;
  std::vector<std::uint32_t> numbers = name(frame, lasts);
  return (lasts ? lasting_ : of_capture_).emplace(key, std::move(numbers)).first->second;
}

std::vector<std::uint32_t> FrameNames::name(const Frame& frame, bool& lasts) {
  const std::uint32_t innermost = walker_->symbolizer().name(frame);
  const auto& symbols = walker_->symbolizer().symbols();
  std::vector<std::uint32_t> numbers;
  lasts = frame.kind == FrameKind::native;
  for (std::uint32_t at = innermost; numbers.size() < kMostLogicalFrames; at = symbols[at].inlined_into) {
    const auto number = record(frame, symbols[at]);
    if (!number) return {};
    numbers.push_back(*number);
    lasts = lasts && symbols[at].seen_from.count() == 0;
    if (symbols[at].inlined_into == 0) break;
  }
  return numbers;
}

std::optional<std::uint32_t> FrameNames::record(const Frame& frame, const SymbolInfo& symbol) {
  RecordedFunction function{.name = symbol.name, .raw_name = symbol.raw_name, .kind = kind_of(frame, symbol)};
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

}  // namespace mixstack::profile
