#include "base/words/recording_selection.h"

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/words/stack_judge.h"

namespace mixstack {
namespace {

// Without boxes a copy has as many stacks as the recording; below the boxes of many threads each has its own copies.
constexpr std::size_t kMostStacksBelowBoxes = 1u << 23;

/// Copies the lists and samples in order; elements that become equal are merged.
class Copier {
 public:
  Copier(const Recording& from, const ProfileOptions& options)
      : from_(from), options_(options), with_processes_(options.by_process && from.processes().size() > 1) {
    to_.facts = from.facts;
  }
  void copy_lists(const FunctionChoice& choice = {});
  void copy_samples(const StackJudge& judge);
  Recording take() { return std::move(to_); }

 private:
  using Numbers = std::vector<std::uint32_t>;
  static std::uint32_t of(const Numbers& numbers, std::uint32_t number) {
    return number == kNoIndex ? kNoIndex : numbers[number];
  }
  RecordedFunction copied(std::uint32_t number, const FunctionChoice& choice);
  std::uint32_t below(std::uint32_t parent, std::uint32_t frame) { return to_.node({parent, frame}).value_or(parent); }
  std::uint32_t box(std::uint32_t parent, std::string name);
  std::uint32_t root_of(std::uint32_t thread);
  std::uint32_t stack_below(std::uint32_t root, std::uint32_t stack, const StackJudge& judge);

  const Recording& from_;
  const ProfileOptions& options_;
  bool with_processes_;
  Recording to_;
  Numbers processes_, modules_, files_, functions_, frames_, contexts_;
  std::unordered_map<std::uint32_t, std::uint32_t> roots_;   ///< by thread
  std::unordered_map<std::uint64_t, std::uint32_t> stacks_;  ///< by root and what the stack was
};

// Every list holds at most as much as its source: there is room, and `value_or` is never needed.
void Copier::copy_lists(const FunctionChoice& choice) {
  for (const RecordedProcess& p : from_.processes()) processes_.push_back(to_.process(p).value_or(0));
  for (RecordedThread t : from_.threads()) {
    t.process = processes_[t.process];
    (void)to_.add_thread(t);
  }
  for (const RecordedModule& m : from_.modules()) modules_.push_back(to_.module(m).value_or(0));
  for (const std::string& file : from_.files()) files_.push_back(to_.file(file).value_or(0));
  for (std::uint32_t f = 0; f < from_.functions().size(); f++)
    functions_.push_back(to_.function(copied(f, choice)).value_or(0));
  for (RecordedFrame f : from_.frames()) {
    f.function = functions_[f.function];
    f.file = of(files_, f.file);
    frames_.push_back(to_.frame(f).value_or(0));
  }
  for (const SampleContext& c : from_.contexts()) contexts_.push_back(to_.context(c).value_or(0));
}

RecordedFunction Copier::copied(std::uint32_t number, const FunctionChoice& choice) {
  RecordedFunction function = from_.functions()[number];
  const auto other = choice ? choice(number) : std::nullopt;
  if (!other) {
    function.module = of(modules_, function.module);
    return function;
  }
  function = other->function;
  function.module = other->module.name.empty() ? kNoIndex : to_.module(other->module).value_or(kNoIndex);
  return function;
}

std::uint32_t Copier::box(std::uint32_t parent, std::string name) {
  const auto function = to_.function({.name = std::move(name), .kind = CodeKind::unknown});
  const auto frame = function ? to_.frame({.function = *function}) : std::nullopt;
  return frame ? below(parent, *frame) : parent;
}

std::uint32_t Copier::root_of(std::uint32_t thread) {
  if (!with_processes_ && !options_.by_thread) return 0;
  const auto [at, is_new] = roots_.try_emplace(thread, 0);
  if (!is_new) return at->second;
  std::uint32_t root = 0;
  if (with_processes_) root = box(root, shown_process(from_, from_.threads()[thread].process));
  if (options_.by_thread) root = box(root, shown_thread(from_, thread));
  return at->second = root;
}

std::uint32_t Copier::stack_below(std::uint32_t root, std::uint32_t stack, const StackJudge& judge) {
  const auto key = [root](std::uint32_t node) { return std::uint64_t{root} << 32 | node; };
  std::vector<std::uint32_t> way;  // not copied yet, innermost first
  std::uint32_t copy = root;
  for (std::uint32_t at = stack; at != 0; at = from_.nodes()[at].parent) {
    if (const auto known = stacks_.find(key(at)); known != stacks_.end()) {
      copy = known->second;
      break;
    }
    way.push_back(at);
  }
  for (; !way.empty(); way.pop_back()) {
    const std::uint32_t frame = from_.nodes()[way.back()].frame;
    if (judge.is_shown(frame)) copy = below(copy, frames_[frame]);
    stacks_.emplace(key(way.back()), copy);
  }
  return copy;
}

void Copier::copy_samples(const StackJudge& judge) {
  to_.make_coarser(from_.slice_ns());
  for (Sample sample : from_.samples()) {
    const SampleContext& context = from_.contexts()[sample.context];
    if (!judge.is_wanted(sample.stack) || !judge.is_seen(context)) continue;
    if (options_.clock && context.clock != *options_.clock) continue;
    const std::uint32_t root = stacks_.size() < kMostStacksBelowBoxes ? root_of(context.thread) : 0;
    sample.stack = stack_below(root, sample.stack, judge);
    sample.context = contexts_[sample.context];
    (void)to_.add(sample);
  }
}

}  // namespace

Recording selection_of(const Recording& recording, const ProfileOptions& options) {
  const StackJudge judge(recording, options);
  Copier copier(recording, options);
  copier.copy_lists();
  copier.copy_samples(judge);
  return copier.take();
}

Recording with_functions(const Recording& recording, const FunctionChoice& choice) {
  const ProfileOptions all{.idle = true, .by_process = false};
  const StackJudge judge(recording, all);
  Copier copier(recording, all);
  copier.copy_lists(choice);
  copier.copy_samples(judge);
  return copier.take();
}

}  // namespace mixstack
