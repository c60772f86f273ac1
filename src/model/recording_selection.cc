#include "model/recording_selection.h"

#include <vector>

#include "model/stack_judge.h"

namespace mixstack {
namespace {

/// The lists below samples, in the same order: what was renamed alike becomes one.
class Copier {
 public:
  explicit Copier(const Recording& from) : from_(from) { to_.facts = from.facts; }
  void copy_lists();
  void copy_stacks(const StackJudge& judge);
  void copy_samples(const StackJudge& judge, std::optional<SampleClock> clock);
  Recording take() { return std::move(to_); }

 private:
  using Numbers = std::vector<std::uint32_t>;
  static std::uint32_t of(const Numbers& numbers, std::uint32_t number) {
    return number == kNoIndex ? kNoIndex : numbers[number];
  }

  const Recording& from_;
  Recording to_;
  Numbers processes_, modules_, files_, functions_, frames_, contexts_, nodes_ = Numbers(1);
};

// Every list holds at most what the one it is copied from does: there is room. `value_or` is for the reader's eyes.
void Copier::copy_lists() {
  for (const RecordedProcess& p : from_.processes()) processes_.push_back(to_.process(p).value_or(0));
  for (RecordedThread t : from_.threads()) {
    t.process = processes_[t.process];
    (void)to_.add_thread(t);
  }
  for (const RecordedModule& m : from_.modules()) modules_.push_back(to_.module(m).value_or(0));
  for (const std::string& file : from_.files()) files_.push_back(to_.file(file).value_or(0));
  for (RecordedFunction f : from_.functions()) {
    f.module = of(modules_, f.module);
    functions_.push_back(to_.function(f).value_or(0));
  }
  for (RecordedFrame f : from_.frames()) {
    f.function = functions_[f.function];
    f.file = of(files_, f.file);
    frames_.push_back(to_.frame(f).value_or(0));
  }
  for (const SampleContext& c : from_.contexts()) contexts_.push_back(to_.context(c).value_or(0));
}

void Copier::copy_stacks(const StackJudge& judge) {
  const auto& nodes = from_.nodes();
  for (std::size_t n = 1; n < nodes.size(); n++) {
    const std::uint32_t parent = nodes_[nodes[n].parent];
    nodes_.push_back(judge.is_shown(nodes[n].frame) ? to_.node({parent, frames_[nodes[n].frame]}).value_or(parent)
                                                    : parent);
  }
}

void Copier::copy_samples(const StackJudge& judge, std::optional<SampleClock> clock) {
  to_.make_coarser(from_.slice_ns());
  for (Sample sample : from_.samples()) {
    const SampleContext& context = from_.contexts()[sample.context];
    if (!judge.is_wanted(sample.stack) || !judge.is_seen(context) || (clock && context.clock != *clock)) continue;
    sample.stack = nodes_[sample.stack];
    sample.context = contexts_[sample.context];
    (void)to_.add(sample);
  }
}

}  // namespace

Recording selection_of(const Recording& recording, const ProfileOptions& options) {
  const StackJudge judge(recording, options);
  Copier copier(recording);
  copier.copy_lists();
  copier.copy_stacks(judge);
  copier.copy_samples(judge, options.clock);
  return copier.take();
}

}  // namespace mixstack
