#include "session/inlined_frames.h"

namespace mixstack::session {

const Frame* callee_of(std::span<const Frame> frames, std::size_t caller) {
  if (frames[caller].pc.is_exact()) return nullptr;
  for (std::size_t i = caller; i-- > 0;) {
    const Frame& frame = frames[i];
    if (frame.kind == FrameKind::runtime_frame) continue;  // a record between them
    const bool is_call = frame.kind == FrameKind::managed && !frame.is_funclet() && frame.method != 0;
    return is_call && frame.trust == Trust::certain ? &frame : nullptr;
  }
  return nullptr;
}

void InlinedFrames::find(const ProcessDump& dump, std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes) {
  for (std::size_t t = 0; t < dump.threads.size(); t++) {
    const ThreadDump& thread = dump.threads[t];
    const std::vector<Frame>& frames = thread.trace.frames;
    for (std::size_t i = 0; i < frames.size() && i < thread.symbols.size(); i++) {
      const Frame& caller = frames[i];
      if (caller.kind != FrameKind::managed || caller.method == 0) continue;
      const Frame* callee = callee_of(frames, i);
      if (callee == nullptr && !caller.pc.is_exact()) continue;
      const auto [known, is_new] =
          known_.try_emplace({caller.pc.raw(), callee == nullptr ? 0 : callee->method}, chains_.size());
      if (is_new) {
        chains_.emplace_back();
        for (const auto& runtime : runtimes)
          if (chains_.back().empty()) chains_.back() = runtime->inlined_at(caller, callee);
      }
      if (!chains_[known->second].empty()) places_.push_back({t, i, known->second});
    }
  }
}

void InlinedFrames::apply(ProcessDump& dump) const {
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> made;  // innermost symbol, by chain and own function
  for (const Place& place : places_) {
    std::uint32_t& symbol = dump.threads[place.thread].symbols[place.frame];
    const auto [known, is_new] = made.try_emplace({place.chain, symbol}, symbol);
    if (is_new) {
      const std::vector<SymbolInfo>& chain = chains_[place.chain];
      for (auto s = chain.rbegin(); s != chain.rend(); ++s) {
        dump.symbols.push_back(*s);
        dump.symbols.back().inlined_into = known->second;
        known->second = static_cast<std::uint32_t>(dump.symbols.size() - 1);
      }
    }
    symbol = known->second;
  }
}

}  // namespace mixstack::session
