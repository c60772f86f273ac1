#include "base/words/stack_judge.h"

#include <algorithm>
#include <string>

#include "base/words/name_pattern.h"

namespace mixstack {

bool waits(Activity activity) { return activity == Activity::waiting || activity == Activity::blocked; }

StackJudge::StackJudge(const Recording& recording, const ProfileOptions& options)
    : recording_(recording), options_(options) {
  judge_functions();
  // Parents come first: one pass decides on every stack.
  const auto& nodes = recording_.nodes();
  stacks_.resize(nodes.size());
  if (options_.include.empty()) stacks_[0] = kIncluded;
  for (std::size_t n = 1; n < nodes.size(); n++) {
    const std::uint32_t frame = nodes[n].frame;
    stacks_[n] = static_cast<std::uint8_t>(stacks_[nodes[n].parent] | functions_[recording_.frames()[frame].function] |
                                           (is_shown(frame) ? kHasShown : 0));
  }
}

void StackJudge::judge_functions() {
  functions_.resize(recording_.functions().size());
  const auto matches = [](const std::vector<std::string>& patterns, const std::string& name) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return name_matches(p, name); });
  };
  if (options_.include.empty() && options_.exclude.empty()) return;
  for (std::uint32_t f = 0; f < functions_.size(); f++) {
    const std::string name = shown_name(recording_, f);
    if (matches(options_.include, name)) functions_[f] |= kIncluded;
    if (matches(options_.exclude, name)) functions_[f] |= kExcluded;
  }
}

bool StackJudge::is_shown(std::uint32_t frame) const {
  const CodeKind kind = recording_.functions()[recording_.frames()[frame].function].kind;
  return options_.managed_only ? kind == CodeKind::managed : options_.kernel || kind != CodeKind::kernel;
}

bool StackJudge::is_seen(const SampleContext& context) const {
  if (options_.gc_only && !context.gc_pending) return false;
  if (options_.activities != 0) return (options_.activities & activity_bit(context.activity)) != 0;
  return options_.idle || !waits(context.activity);
}

}  // namespace mixstack
