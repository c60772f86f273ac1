#include "output/report/text_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "output/report/escape.h"
#include "output/report/fit.h"
#include "output/report/fold.h"
#include "output/report/frame_view.h"
#include "output/report/stack_rows.h"
#include "output/report/text_threads.h"

namespace mixstack::report {
namespace {

/// A place in the tree. Children are in `nodes` of the tree, later than their parent.
struct Node {
  std::string text;
  FrameKind kind = FrameKind::native;
  bool is_user = false;
  std::vector<ThreadId> threads;  ///< of which it is on the stack
  std::vector<ThreadId> ends;     ///< of which it is the innermost frame
  std::vector<std::size_t> children;
};

class Tree {
 public:
  Tree(const ProcessDump& dump, const UserCode& user, const ReportOptions& options)
      : dump_(dump), user_(user), options_(options), folder_(dump, options), nodes_(1) {}

  void add(const ThreadDump& thread) {
    const std::vector<StackRow> rows = rows_of(dump_, thread, options_);
    std::vector<Repeat> repeats;
    if (options_.fold) repeats = folder_.repeats(thread, rows);
    std::size_t at = 0;
    nodes_[0].threads.push_back(thread.tid);
    if (is_cut(thread)) at = child(at, remark("the stack's outer part is not known"), thread.tid);
    for (std::size_t i = rows.size(); i-- > 0;) {
      // Rounds of a recursion are the same calls: the innermost one stands for all.
      if (!repeats.empty() && i < repeats.back().first) repeats.pop_back();
      if (!repeats.empty() && i == repeats.back().end() - 1) {
        at = child(at, remark("again and again"), thread.tid);
        i = repeats.back().first + repeats.back().period - 1;
      }
      at = child(at, node_of(thread, rows[i]), thread.tid);
      if (rows[i].kind == StackRow::Kind::nameless) continue;
      const std::vector<std::uint32_t> inlined = inlined_of(dump_, thread, rows[i].first);
      for (auto s = inlined.rbegin(); s != inlined.rend(); ++s)
        at = child(at, node_of(thread.trace.frames[rows[i].first], dump_.symbols[*s]), thread.tid);
    }
    nodes_[at].ends.push_back(thread.tid);
  }

  void write(Painter& out) { write_children(out, 0, ""); }

 private:
  [[nodiscard]] static Node remark(std::string_view text) {
    Node node;
    node.text = fmt::format("[{}]", text);
    node.kind = FrameKind::undescribed;
    return node;
  }

  [[nodiscard]] Node node_of(const ThreadDump& thread, const StackRow& row) const {
    const Frame& frame = thread.trace.frames[row.first];
    const SymbolInfo& symbol = symbol_of(dump_, thread, row.first);
    if (row.kind != StackRow::Kind::nameless) return node_of(frame, symbol);
    Node node;
    node.kind = frame.kind;
    node.text = fmt::format("{}, {} frames without symbols", escape_for_terminal(symbol.module), row.size());
    return node;
  }

  [[nodiscard]] Node node_of(const Frame& frame, const SymbolInfo& symbol) const {
    Node node;
    node.kind = frame.kind;
    node.is_user = user_.is_user(symbol, frame.kind);
    node.text = escape_for_terminal(shown_name(frame, symbol, options_.raw_names));
    if (!symbol.note.empty()) node.text += fmt::format(" [{}]", escape_for_terminal(symbol.note));
    if (symbol.inlined_into != 0) node.text += inlining_words(symbol.inlining);
    if (!symbol.name.empty() && !symbol.module.empty())
      node.text += fmt::format("  ({})", escape_for_terminal(symbol.module));
    return node;
  }

  std::size_t child(std::size_t parent, Node node, ThreadId tid) {
    for (const std::size_t i : nodes_[parent].children) {
      if (nodes_[i].text != node.text || nodes_[i].kind != node.kind) continue;
      nodes_[i].threads.push_back(tid);
      return i;
    }
    node.threads.push_back(tid);
    nodes_.push_back(std::move(node));
    nodes_[parent].children.push_back(nodes_.size() - 1);
    return nodes_.size() - 1;
  }

  // Stacks may be as deep as memory allows: no recursion but where threads part, and not endlessly there.
  void write_children(Painter& out, std::size_t parent, const std::string& guide) {
    constexpr std::size_t kDeepest = 100;
    if (columns(guide) / 2 >= kDeepest) {
      if (!nodes_[parent].children.empty()) out.paint(Ink::warning, "--- threads part more often than is shown\n");
      return;
    }
    std::vector<std::size_t> children = nodes_[parent].children;
    std::stable_sort(children.begin(), children.end(), [this](std::size_t a, std::size_t b) {
      return nodes_[a].threads.size() > nodes_[b].threads.size();
    });
    for (std::size_t i = 0; i < children.size(); i++) {
      const bool is_last = i + 1 == children.size();
      write_chain(out, children[i], guide + (is_last ? "└ " : "├ "), guide + (is_last ? "  " : "│ "));
    }
  }

  void write_chain(Painter& out, std::size_t at, std::string lead, const std::string& guide) {
    for (;; lead = guide) {
      const Node& node = nodes_[at];
      write_line(out, node, lead);
      if (node.children.size() != 1 || !node.ends.empty()) break;
      at = node.children.front();
    }
    if (!nodes_[at].ends.empty()) {
      const std::string lead_in = "      " + guide + "  ";
      const std::size_t width = options_.width == 0 ? 0 : std::max(options_.width, columns(lead_in) + 30);
      const std::string text = lead_in + "threads " + number_ranges(nodes_[at].ends);
      out.paint(Ink::faint, wrapped(text, width, lead_in + "  ") + "\n");
    }
    write_children(out, at, guide);
  }

  void write_line(Painter& out, const Node& node, const std::string& lead) const {
    out.plain() << fmt::format("{:>5} {}", node.threads.size(), lead);
    const std::size_t taken = 6 + columns(lead);
    FrameWords words{node.text, {}, {}, {}};
    fit(words, 0, options_.width == 0 ? 0 : std::max(options_.width, taken + 30) - taken);
    const Ink ink = node.is_user                      ? Ink::user
                    : node.kind == FrameKind::managed ? Ink::managed
                    : node.kind == FrameKind::native  ? Ink::plain
                                                      : Ink::runtime;
    out.paint(ink, words.name);
    out.plain() << '\n';
  }

  const ProcessDump& dump_;
  const UserCode& user_;
  const ReportOptions& options_;
  Folder folder_;
  std::vector<Node> nodes_;
};

}  // namespace

void write_tree(Painter& out, const ProcessDump& dump, std::span<const ThreadView> threads, const UserCode& user,
                const ReportOptions& options) {
  Tree tree(dump, user, options);
  std::size_t count = 0;
  for (const ThreadView& view : threads) {
    if (view.is_idle) continue;
    tree.add(*view.thread);
    count++;
  }
  out.paint(Ink::header, fmt::format("\n{} thread{}, outermost calls first\n", count, count == 1 ? "" : "s"));
  tree.write(out);
}

}  // namespace mixstack::report
