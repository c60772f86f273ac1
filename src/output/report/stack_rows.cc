#include "output/report/stack_rows.h"

#include <algorithm>
#include <string_view>

#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/bcl/types.h"
#include "output/report/frame_view.h"

namespace mixstack::report {
namespace {

bool starts_with_any(std::string_view name, std::span<const std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view s) { return name.starts_with(s); });
}

constexpr std::string_view kAsync = " [async]";  // how names of such bodies end

class Stack {
 public:
  Stack(const ProcessDump& dump, const ThreadDump& thread) : dump_(dump), thread_(thread) {}

  [[nodiscard]] std::size_t size() const { return thread_.trace.frames.size(); }
  [[nodiscard]] const Frame& frame(std::size_t i) const { return thread_.trace.frames[i]; }
  [[nodiscard]] const SymbolInfo& symbol(std::size_t i) const { return symbol_of(dump_, thread_, i); }

  /// Marks are never folded away.
  [[nodiscard]] bool is_plain(std::size_t i) const {
    const Frame& f = frame(i);
    return f.trust == Trust::certain && !f.witness_disagrees && !f.is_interrupted && !f.is_funclet();
  }
  [[nodiscard]] bool is_nameless(std::size_t i) const {
    return frame(i).kind == FrameKind::native && symbol(i).name.empty() && !symbol(i).module.empty() &&
           symbol(i).note.empty() && is_plain(i);
  }
  [[nodiscard]] bool is_plumbing(std::size_t i, std::span<const std::string_view> starts) const {
    return frame(i).kind == FrameKind::managed && is_plain(i) && symbol(i).module == dotnet::bcl::kCoreLib &&
           starts_with_any(symbol(i).name, starts);
  }
  [[nodiscard]] bool is_async_body(std::size_t i) const {
    return frame(i).kind == FrameKind::managed && symbol(i).name.ends_with(kAsync);
  }
  /// Whether the frame is the method that a body belongs to: the same name without the remark.
  [[nodiscard]] bool starts_body(std::size_t i, std::size_t body) const {
    std::string_view name = symbol(body).name;
    name.remove_suffix(kAsync.size());
    return frame(i).kind == FrameKind::managed && is_plain(i) && symbol(i).name == name &&
           symbol(i).module == symbol(body).module;
  }

 private:
  const ProcessDump& dump_;
  const ThreadDump& thread_;
};

std::size_t end_of_nameless(const Stack& stack, std::size_t at) {
  std::size_t end = at + 1;
  while (end < stack.size() && stack.is_nameless(end) && stack.symbol(end).module_path == stack.symbol(at).module_path)
    end++;
  return end;
}

/// Beyond what belongs to the async body at `at`: either the calls that started it, or those that resume it.
std::size_t end_of_async(const Stack& stack, std::size_t at) {
  std::size_t end = at + 1;
  while (end < stack.size() && stack.is_plumbing(end, dotnet::bcl::kStarting)) end++;
  if (end > at + 1 && end < stack.size() && stack.starts_body(end, at)) return end + 1;
  end = at + 1;
  while (end < stack.size() && stack.is_plumbing(end, dotnet::bcl::kResuming)) end++;
  return end;
}

}  // namespace

std::vector<StackRow> rows_of(const ProcessDump& dump, const ThreadDump& thread, const ReportOptions& options) {
  const Stack stack(dump, thread);
  const bool folds = options.fold && !options.registers && !options.explain && !options.arguments && !options.raw_names;
  std::vector<StackRow> rows;
  rows.reserve(stack.size());
  for (std::size_t i = 0; i < stack.size();) {
    if (!is_shown(stack.frame(i), options)) {
      i++;
      continue;
    }
    StackRow row{i, i, StackRow::Kind::frame};
    if (folds && stack.is_nameless(i)) {
      row.last = end_of_nameless(stack, i) - 1;
      if (row.size() > 1) row.kind = StackRow::Kind::nameless;
    } else if (folds && stack.is_async_body(i)) {
      row.last = end_of_async(stack, i) - 1;
      if (row.size() > 1) row.kind = StackRow::Kind::async;
    }
    rows.push_back(row);
    i = row.last + 1;
  }
  return rows;
}

}  // namespace mixstack::report
