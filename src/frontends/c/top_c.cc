#include <type_traits>

#include "frontends/c/handles.h"

namespace {

using mixstack::ErrorCode;
using mixstack::TopList;
using mixstack::TopStates;

template <class C, class Cpp>
constexpr bool is_same(C c, Cpp cpp) {
  return static_cast<int>(c) == static_cast<int>(cpp);
}
static_assert(is_same(MIXSTACK_TOP_FUNCTIONS, TopList::functions) && is_same(MIXSTACK_TOP_THREADS, TopList::threads));
static_assert(is_same(MIXSTACK_TOP_BUSY, TopStates::busy) && is_same(MIXSTACK_TOP_ALL, TopStates::all) &&
              is_same(MIXSTACK_TOP_RUNNING, TopStates::running) &&
              is_same(MIXSTACK_TOP_RUNNABLE, TopStates::runnable) &&
              is_same(MIXSTACK_TOP_WAITING, TopStates::waiting) &&
              is_same(MIXSTACK_TOP_COLLECTING, TopStates::collecting));
static_assert(std::has_unique_object_representations_v<mixstack_top_options> &&
              std::has_unique_object_representations_v<mixstack_top_question> &&
              std::has_unique_object_representations_v<mixstack_top_row>);

mixstack::TopOptions top_options(const mixstack_top_options& options) {
  mixstack::TopOptions out;
  out.mode = static_cast<mixstack::RecordMode>(options.mode);
  out.hertz = options.hertz;
  out.may_stop = options.no_stop == 0;
  out.kernel = options.kernel != 0;
  out.managed_only = options.managed_only != 0;
  return out;
}

bool read_question(const mixstack_top_question* question, mixstack::TopQuestion& out) {
  mixstack_top_question asked;
  if (!mixstack::c::read_options(question, asked)) return false;
  if (asked.list < 0 || asked.list > MIXSTACK_TOP_THREADS || asked.states < 0 || asked.states > MIXSTACK_TOP_COLLECTING)
    return false;
  out.list = static_cast<TopList>(asked.list);
  out.states = static_cast<TopStates>(asked.states);
  out.whole = asked.whole != 0;
  if (asked.most_rows != 0) out.most_rows = asked.most_rows;
  return true;
}

}  // namespace

extern "C" {

mixstack_top* mixstack_open_top(uint32_t pid, const mixstack_top_options* options, mixstack_error* error) {
  mixstack_top_options wanted;
  if (!mixstack::c::read_options(options, wanted) || wanted.mode < 0 || wanted.mode > MIXSTACK_CPU) {
    mixstack::c::set(error, {ErrorCode::invalid_argument, 0, 0});
    return nullptr;
  }
  return mixstack::c::guarded(error, [&]() -> mixstack_top* {
    auto top = mixstack::Top::start(pid, top_options(wanted));
    if (top) return new mixstack_top{std::move(*top)};
    mixstack::c::set(error, top.error());
    return nullptr;
  });
}

void mixstack_close_top(mixstack_top* top) { delete top; }

int mixstack_next_top(mixstack_top* top) {
  if (top == nullptr) return 0;
  try {
    top->top.next();
    return top->top.has_ended() ? 0 : 1;
  } catch (const std::exception&) {
    return 0;
  }
}

size_t mixstack_top_rows(mixstack_top* top, const mixstack_top_question* question) {
  mixstack::TopQuestion asked;
  if (top == nullptr || !read_question(question, asked)) return 0;
  try {
    top->table = top->top.table(asked);
    return top->table.rows.size();
  } catch (const std::exception&) {
    return 0;
  }
}

int mixstack_get_top_row(const mixstack_top* top, size_t row, mixstack_top_row* out) {
  if (top == nullptr || row >= top->table.rows.size()) return -1;
  const mixstack::TopRow& known = top->table.rows[row];
  mixstack_top_row answer{};
  answer.name = known.name.c_str();
  answer.module = known.module.c_str();
  answer.self_ns = known.self;
  answer.total_ns = known.total;
  answer.tid = known.tid;
  answer.kind = static_cast<int32_t>(known.kind);
  return mixstack::c::write_answer(answer, out) ? 0 : -1;
}

}  // extern "C"
