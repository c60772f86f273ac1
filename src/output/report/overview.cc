#include "output/report/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "output/report/escape.h"
#include "output/report/fit.h"
#include "output/report/frame_view.h"
#include "output/report/text_threads.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kFewThreads = 4, kMostLines = 24, kMostCallers = 4;

/// The frames of one thread that are the program's, innermost first, recursion once.
struct UserStack {
  std::string innermost, callers;
  friend bool operator<(const UserStack& a, const UserStack& b) {
    return std::tie(a.innermost, a.callers) < std::tie(b.innermost, b.callers);
  }
};

/// The functions from a frame on, what is inlined in a frame before it.
std::vector<std::pair<const Frame*, const SymbolInfo*>> functions_of(const ProcessDump& dump, const ThreadDump& thread,
                                                                     std::size_t first) {
  std::vector<std::pair<const Frame*, const SymbolInfo*>> all;
  for (std::size_t i = first; i < thread.trace.frames.size(); i++) {
    for (const std::uint32_t s : inlined_of(dump, thread, i))
      all.emplace_back(&thread.trace.frames[i], &dump.symbols[s]);
    all.emplace_back(&thread.trace.frames[i], &symbol_of(dump, thread, i));
  }
  return all;
}

UserStack user_stack(const ProcessDump& dump, const ThreadView& view, const UserCode& user,
                     const ReportOptions& options) {
  const ThreadDump& thread = *view.thread;
  UserStack stack;
  const SymbolInfo* last = nullptr;
  std::size_t callers = 0;
  for (const auto& [frame, symbol] : functions_of(dump, thread, view.user_frame)) {
    if (!user.is_user(*symbol, frame->kind)) continue;
    if (last != nullptr && last->name == symbol->name) continue;
    const std::string name = escape_for_terminal(shown_name(*frame, *symbol, options.raw_names));
    if (last == nullptr) {
      stack.innermost = name;
      if (symbol->inlined_into != 0) stack.innermost += inlining_words(symbol->inlining);
      if (!symbol->file.empty())
        stack.innermost +=
            fmt::format("  {}:{}", escape_for_terminal(symbol->file.substr(symbol->file.rfind('/') + 1)), symbol->line);
    } else if (callers++ < kMostCallers) {
      stack.callers += (callers == 1 ? "" : ", ") + without_contents(name, '(', ')');
      if (symbol->inlined_into != 0) stack.callers += inlining_words(symbol->inlining);
    }
    last = symbol;
  }
  if (callers > kMostCallers) stack.callers += fmt::format(", {} more", callers - kMostCallers);
  return stack;
}

}  // namespace

void write_user_code(Painter& out, const ProcessDump& dump, std::span<const ThreadView> threads, const UserCode& user,
                     const ReportOptions& options) {
  if (dump.runtimes.empty() || threads.size() <= kFewThreads) return;
  std::map<UserStack, std::size_t> counts;
  for (const ThreadView& view : threads)
    if (view.has_user_code()) counts[user_stack(dump, view, user, options)]++;
  if (counts.empty()) return;
  std::vector<std::pair<std::size_t, const UserStack*>> order;
  for (const auto& [stack, count] : counts) order.emplace_back(count, &stack);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  out.paint(Ink::header, "\nCode of the program, innermost:\n");
  constexpr std::size_t kBefore = 14;
  const std::size_t width = options.width == 0 ? 0 : std::max<std::size_t>(options.width, kBefore + 40) - kBefore;
  for (std::size_t i = 0; i < order.size() && i < kMostLines; i++) {
    const auto& [count, stack] = order[i];
    out.plain() << fmt::format("{:>5} {:<7} ", count, count == 1 ? "thread" : "threads");
    FrameWords words{stack->innermost, {}, {}, {}};
    fit(words, 0, width);
    out.paint(Ink::user, words.name);
    if (!stack->callers.empty()) {
      // On a line of its own where both do not fit.
      const bool fits = width == 0 || columns(words.name) + columns(stack->callers) + 7 <= width;
      if (!fits) out.plain() << '\n' << std::string(kBefore, ' ');
      out.paint(Ink::faint,
                (fits ? "  from " : "from ") + shorten_middle(stack->callers, width == 0 ? 4096 : width - 5));
    }
    out.plain() << '\n';
  }
  if (order.size() > kMostLines)
    out.plain() << fmt::format("      {} other stacks, below\n", order.size() - kMostLines);
}

void write_idle(Painter& out, std::span<const ThreadView> threads, const ReportOptions& options) {
  std::map<ThreadRole, std::vector<ThreadId>> idle;
  std::size_t all = 0;
  for (const ThreadView& view : threads) {
    if (!view.is_idle) continue;
    idle[view.role].push_back(view.thread->tid);
    all++;
  }
  if (all == 0) return;
  out.paint(Ink::header, fmt::format("\n{} of the runtime's own wait (their stacks: --all)\n",
                                     all == 1 ? "1 thread" : fmt::format("{} threads", all)));
  for (auto& [role, tids] : idle) {
    const std::size_t count = tids.size();
    const std::string text =
        fmt::format("{:>5} {}: {}", count, idle_words(role, count != 1), number_ranges(std::move(tids)));
    out.plain() << wrapped(text, options.width, "      ") << '\n';
  }
}

}  // namespace mixstack::report
