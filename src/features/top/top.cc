#include "mixstack/top.h"

#include <algorithm>
#include <utility>

#include "features/top/live_recorder.h"

namespace mixstack {
namespace {

top::LiveRecorderOptions live_options(const TopOptions& wanted) {
  top::LiveRecorderOptions options;
  options.recorder.want = record::want_of(wanted.mode);
  options.recorder.hertz = wanted.hertz;
  options.recorder.most_held = wanted.most_held;
  options.recorder.may_stop = wanted.may_stop;
  options.recorder.kernel = wanted.kernel;
  options.shown.managed_only = wanted.managed_only;
  options.shown.kernel = wanted.kernel;
  options.shown.include = wanted.include;
  options.shown.exclude = wanted.exclude;
  options.open_process = wanted.open_process;
  return options;
}

top::Selection selection_of(TopStates states) {
  using top::StateFilter;
  constexpr StateFilter kFilters[] = {StateFilter::busy,     StateFilter::busy,    StateFilter::running,
                                      StateFilter::runnable, StateFilter::waiting, StateFilter::gc};
  const auto index = std::min(static_cast<std::size_t>(states), std::size(kFilters) - 1);
  return {.states = kFilters[index], .idle = states == TopStates::all};
}

}  // namespace

struct Top::Implementation {
  Implementation(const TopOptions& options, std::uint32_t pid) : recorder(live_options(options), pid) {}
  void show(const TopQuestion& question) {
    browser.select(selection_of(question.states));
    browser.show_threads(question.list == TopList::threads);
    browser.show_whole(question.whole);
  }
  top::Browser browser;
  top::LiveRecorder recorder;
};

Top::Top(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Top::Top(Top&&) noexcept = default;
Top& Top::operator=(Top&&) noexcept = default;
Top::~Top() = default;

Result<Top> Top::start(std::uint32_t pid, const TopOptions& options) {
  auto implementation = std::make_unique<Implementation>(options, pid);
  if (const auto begun = implementation->recorder.begin(); !begun) return fail(begun.error().error);
  return Top(std::move(implementation));
}

void Top::next() { implementation_->recorder.update(implementation_->browser); }

TopTable Top::table(const TopQuestion& question) {
  implementation_->show(question);
  TopTable table{.facts = implementation_->recorder.facts()};
  const top::RowList& list = implementation_->browser.list();
  table.selected = list.selected;
  for (const top::Row& row : list.rows) {
    if (table.rows.size() == question.most_rows) break;
    table.rows.push_back({row.name, row.module, row.kind, row.tid, row.self, row.total});
  }
  return table;
}

void Top::write_text(const TopQuestion& question, const ReportSink& sink) {
  implementation_->show(question);
  sink(top::table_text(implementation_->browser, implementation_->recorder.facts(), question.most_rows));
}

bool Top::has_ended() const { return implementation_->recorder.has_ended(); }
Error Top::end_error() const { return implementation_->recorder.end_error(); }

}  // namespace mixstack
