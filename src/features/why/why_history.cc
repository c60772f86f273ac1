#include <utility>

#include "mixstack/why.h"
#include "output/report/health_history.h"

namespace mixstack {

struct WhyHistory::Implementation {
  std::optional<WhyAnswer> last{};
  report::HealthHistory health{};
};

WhyHistory::WhyHistory() : implementation_(std::make_unique<Implementation>()) {}
WhyHistory::~WhyHistory() = default;
WhyHistory::WhyHistory(WhyHistory&&) noexcept = default;
WhyHistory& WhyHistory::operator=(WhyHistory&&) noexcept = default;

WhySince WhyHistory::add(WhyAnswer answer, const std::string& when) {
  WhySince since;
  std::optional<WhyAnswer>& last = implementation_->last;
  if (last) since.unmoved = unmoved(*last, answer);
  if (answer.health) since.changes = implementation_->health.add(*answer.health, when);
  last = std::move(answer);
  return since;
}

const WhyAnswer* WhyHistory::last() const { return implementation_->last ? &*implementation_->last : nullptr; }

}  // namespace mixstack
