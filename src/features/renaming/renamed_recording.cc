#include "features/renaming/renamed_recording.h"

#include <algorithm>
#include <map>
#include <utility>

namespace mixstack::renaming {
namespace {

class Renamer {
 public:
  Renamer(const Recording& from, const PlaceNamer& namer) : from_(from), namer_(namer) {}

  Result<Recording> rename() {
    made_.facts = from_.facts;
    made_.make_coarser(from_.slice_ns());
    const bool has_room = contexts() && frames() && nodes() && samples();
    if (!has_room) return fail(ErrorCode::limit_exceeded);
    return std::move(made_);
  }

 private:
  using Numbers = std::vector<std::uint32_t>;

  static bool keep(Numbers& numbers, std::optional<std::uint32_t> number) {
    if (number) numbers.push_back(*number);
    return number.has_value();
  }
  static std::uint32_t number_in(const Numbers& numbers, std::uint32_t index) {
    return index == kNoIndex ? kNoIndex : numbers[index];
  }

  bool contexts() {
    for (const RecordedProcess& process : from_.processes())
      if (!keep(processes_, made_.process(process))) return false;
    for (RecordedThread thread : from_.threads()) {
      thread.process = processes_[thread.process];
      if (!keep(threads_, made_.add_thread(thread))) return false;
    }
    for (SampleContext context : from_.contexts()) {
      context.thread = threads_[context.thread];
      if (!keep(contexts_, made_.context(context))) return false;
    }
    for (const RecordedModule& module : from_.modules())
      if (!keep(modules_, made_.module(module))) return false;
    return true;
  }

  /// For each old frame the new frames, outermost first.
  bool frames() {
    const std::vector<bool> unnamed = unnamed_frames(from_);
    places_.resize(from_.frames().size());
    for (std::uint32_t i = 0; i < places_.size(); i++) {
      if (unnamed[i]) named(from_.frames()[i], places_[i]);
      if (places_[i].empty() && !keep(places_[i], as_it_was(from_.frames()[i]))) return false;
    }
    return true;
  }

  std::optional<std::uint32_t> as_it_was(RecordedFrame frame) {
    RecordedFunction function = from_.functions()[frame.function];
    function.module = number_in(modules_, function.module);
    const auto number = made_.function(function);
    if (!number) return std::nullopt;
    if (frame.file != kNoIndex) frame.file = made_.file(from_.files()[frame.file]).value_or(kNoIndex);
    frame.function = *number;
    return made_.frame(frame);
  }

  /// Leaves `out` empty if nothing new is known, or if there is no room for it.
  void named(const RecordedFrame& frame, Numbers& out) {
    const RecordedFunction& before = from_.functions()[frame.function];
    const std::vector<SymbolInfo>& symbols = symbols_at(before.module, frame.address);
    if (symbols.empty() || symbols.back().name.empty()) return;
    // The recorder knew more than we do: it had a debug file.
    if (!before.name.empty() && symbols.size() == 1 && symbols.back().line == 0) return;
    for (std::size_t i = std::min(symbols.size(), kMostLogicalFrames); i-- > 0;) {
      const SymbolInfo& symbol = symbols[i];
      RecordedFunction function{.name = symbol.name, .raw_name = symbol.raw_name, .kind = before.kind};
      function.module = modules_[before.module];
      function.is_user = before.is_user;
      const auto number = made_.function(function);
      if (!number) return out.clear();
      RecordedFrame place{.function = *number, .line = symbol.line, .trust = frame.trust, .address = frame.address};
      if (i + 1 != symbols.size()) place.inlining = Inlining::debug_information;
      if (!symbol.file.empty()) place.file = made_.file(symbol.file).value_or(kNoIndex);
      if (!keep(out, made_.frame(place))) return out.clear();
    }
  }

  const std::vector<SymbolInfo>& symbols_at(std::uint32_t module, std::uint64_t address) {
    const auto [known, is_new] = known_.try_emplace({module, address});
    if (is_new) known->second = namer_(module, address);
    return known->second;
  }

  bool nodes() {
    for (std::size_t i = 1; i < from_.nodes().size(); i++) {
      const StackNode& node = from_.nodes()[i];
      std::uint32_t at = nodes_[node.parent];
      for (const std::uint32_t frame : places_[node.frame]) {
        const auto next = made_.node({at, frame});
        if (!next) return false;
        at = *next;
      }
      nodes_.push_back(at);
    }
    return true;
  }

  bool samples() {
    return std::all_of(from_.samples().begin(), from_.samples().end(), [this](Sample sample) {
      sample.stack = nodes_[sample.stack];
      sample.context = contexts_[sample.context];
      return made_.add(sample);
    });
  }

  const Recording& from_;
  const PlaceNamer& namer_;
  Recording made_;
  Numbers processes_, threads_, contexts_, modules_;
  Numbers nodes_ = Numbers(1);
  std::vector<Numbers> places_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<SymbolInfo>> known_;
};

}  // namespace

std::vector<bool> unnamed_frames(const Recording& recording) {
  std::vector<bool> unnamed;
  for (const RecordedFrame& frame : recording.frames()) {
    const RecordedFunction& function = recording.functions()[frame.function];
    const bool is_native = function.kind == CodeKind::native || function.kind == CodeKind::runtime;
    const bool has_id = function.module != kNoIndex && !recording.modules()[function.module].build_id.empty();
    unnamed.push_back(is_native && has_id && frame.inlining == Inlining::none && frame.address != 0 &&
                      frame.line == 0 && frame.file == kNoIndex);
  }
  // Inlined functions are recorded as frames of their own, called by the frame that has the code: such a frame needs no
  // name.
  for (std::size_t i = 1; i < recording.nodes().size(); i++) {
    const StackNode& node = recording.nodes()[i];
    if (node.parent != 0 && recording.frames()[node.frame].inlining != Inlining::none)
      unnamed[recording.nodes()[node.parent].frame] = false;
  }
  return unnamed;
}

Result<Recording> renamed(const Recording& recording, const PlaceNamer& namer) {
  return Renamer(recording, namer).rename();
}

}  // namespace mixstack::renaming
