#include "output/report/flame_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "output/report/escape.h"
#include "output/report/fit.h"
#include "output/report/flame_tree.h"
#include "output/report/markup.h"
#include "output/report/rate_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr unsigned kRow = 17, kTop = 52, kBelowRows = 16, kLine = 16, kMargin = 10;
constexpr std::uint32_t kMostRows = 1000;
constexpr std::size_t kMostLines = 40;  ///< of words below the picture
constexpr double kPlainLetter = 6.6;    ///< of 12 px sans-serif, most text
constexpr double kLetter = 6.7;         ///< widest letters of what browsers take for 11 px monospace

struct Kind {
  std::string_view id, words, color;
};
constexpr std::array<Kind, 7> kKinds = {{{"user", "program (managed)", "#76c994"},
                                         {"framework", ".NET libraries", "#a0d8ce"},
                                         {"native", "native", "#f2b873"},
                                         {"runtime", ".NET runtime", "#bda8ef"},
                                         {"kernel", "kernel", "#f29a92"},
                                         {"stub", "stubs", "#d8cf83"},
                                         {"unknown", "unknown", "#c2c7cd"}}};

std::size_t kind_of(const RecordedFunction& function) {
  if (function.kind == CodeKind::managed) return function.is_user ? 0 : 1;
  return std::min<std::size_t>(static_cast<std::size_t>(function.kind) + 1, kKinds.size() - 1);
}

/// The first code points of a name, as many as fit.
std::string fitted(std::string_view name, double width) {
  const auto room = static_cast<std::size_t>(std::max(0.0, (width - 6) / kLetter));
  std::string out;
  std::size_t letters = 0;
  std::string_view rest = name;
  while (!rest.empty() && letters < room) {
    const unsigned size = first_code_point(rest).size;
    out += rest.substr(0, size);
    rest.remove_prefix(size);
    letters++;
  }
  if (rest.empty()) return out;
  if (letters < 4) return {};
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
  out.pop_back();
  return out + "\u2026";
}

/// Lines of so many letters, broken between words; a word that is longer than a line is cut.
std::vector<std::string> wrapped(std::string_view words, double letters) {
  const auto room = static_cast<std::size_t>(std::max(letters, 20.0));
  std::vector<std::string> lines(1);
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    if (!lines.back().empty() && columns(lines.back()) + 1 + columns(word) > room) {
      if (lines.size() == kMostLines) break;
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + shorten_middle(word, room);
  }
  return lines;
}

class Picture {
 public:
  Picture(Writer& out, const Recording& recording, const FlameOptions& options)
      : out_(out), recording_(recording), options_(options), tree_(flame_tree(recording, options.clock)) {
    rows_ = std::min(tree_.deepest, kMostRows) + 1;
    width_ = std::clamp(options.width, 300u, 20000u);
    account_ = wrapped(account_words(), (width_ - 2.0 * kMargin) / kPlainLetter);
    height_ = kTop + rows_ * kRow + kBelowRows + static_cast<unsigned>(account_.size() + 1) * kLine;
    scale_ = tree_.nodes[0].total == 0 ? 0 : (width_ - 2.0 * kMargin) / static_cast<double>(tree_.nodes[0].total);
  }

  void write() {
    head();
    std::vector<Box> todo = {{0, 0, kMargin}};
    const auto children = children_of(tree_);
    while (!todo.empty()) {  // innermost boxes are written while their callers are known
      const Box box = todo.back();
      todo.pop_back();
      const double width = width_of(box.node);
      if (width < options_.least_width || box.row >= rows_) {
        if (tree_.nodes[box.node].total > 0) left_out_++;
        continue;
      }
      write_box(box, width);
      double x = box.x;
      for (const std::uint32_t child : children[box.node]) {
        todo.push_back({child, box.row + 1, x});
        x += width_of(child);
      }
    }
    foot();
  }

 private:
  struct Box {
    std::uint32_t node, row;
    double x;
  };

  [[nodiscard]] double width_of(std::uint32_t node) const {
    return static_cast<double>(tree_.nodes[node].total) * scale_;
  }

  void head() {
    out_ << fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<style>\n"
        "svg {{ background: #fff; font: 11px ui-monospace, 'DejaVu Sans Mono', monospace; fill: #16191d; }}\n"
        "h1, .title {{ font: 600 15px system-ui, 'DejaVu Sans', sans-serif; }}\n"
        ".plain {{ font: 12px system-ui, 'DejaVu Sans', sans-serif; }}\n"
        ".faint {{ fill: #596270; }}\n.all {{ fill: #dde1e7; }}\n"
        "g.box:hover rect {{ stroke: #16191d; stroke-width: 1; }}\n",
        width_, height_);
    for (const Kind& kind : kKinds) out_ << fmt::format(".{} {{ fill: {}; }}\n", kind.id, kind.color);
    out_ << "</style>\n";
    const std::string title = flame_title(recording_, options_);
    out_ << "<title>" << markup_text(title) << "</title>\n";
    text(kMargin, 22, "title", title);
    legend();
  }

  void legend() {
    std::array<bool, kKinds.size()> there{};
    for (std::size_t i = 1; i < tree_.nodes.size(); i++)
      there[kind_of(recording_.functions()[tree_.nodes[i].function])] = true;
    double x = kMargin;
    for (std::size_t k = 0; k < kKinds.size(); k++) {
      if (!there[k]) continue;
      out_ << fmt::format("<rect class=\"{}\" x=\"{:.0f}\" y=\"32\" width=\"11\" height=\"11\" rx=\"2\"/>",
                          kKinds[k].id, x);
      text(x + 16, 42, "plain", kKinds[k].words);
      x += 34 + 7.0 * static_cast<double>(kKinds[k].words.size());
    }
  }

  void text(double x, double y, std::string_view style, std::string_view words) {
    out_ << fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.0f}\">", style, x, y) << markup_text(words)
         << "</text>\n";
  }

  [[nodiscard]] std::string name_of(std::uint32_t node) const {
    return node == 0 ? "all" : escape_for_terminal(shown_name(recording_, tree_.nodes[node].function));
  }

  [[nodiscard]] std::string tooltip(std::uint32_t node) const {
    const FlameNode& at = tree_.nodes[node];
    const double all = static_cast<double>(tree_.nodes[0].total) / 100;
    std::string text = name_of(node);
    if (node != 0) {
      const RecordedFunction& function = recording_.functions()[at.function];
      if (function.module != kNoIndex) text += fmt::format(" ({})", recording_.modules()[function.module].name);
    }
    const bool is_bytes = tree_.clock == SampleClock::bytes;
    const auto amount = [](std::uint64_t bytes) { return amount_words(static_cast<double>(bytes)); };
    return text + fmt::format(": {}, {:.2f} %; self {}, {:.2f} %",
                              is_bytes ? amount(at.total) : counted(at.total, "sample"),
                              static_cast<double>(at.total) / all, is_bytes ? amount(at.self) : std::to_string(at.self),
                              static_cast<double>(at.self) / all);
  }

  void write_box(const Box& box, double width) {
    const unsigned from_outside = options_.icicle ? box.row : rows_ - 1 - box.row;
    const unsigned y = kTop + from_outside * kRow;
    const std::string_view style =
        box.node == 0 ? "all" : kKinds[kind_of(recording_.functions()[tree_.nodes[box.node].function])].id;
    const double shown = std::max(width > 2 ? width - 0.5 : width, 0.2);
    out_ << "<g class=\"box\"><title>" << markup_text(tooltip(box.node)) << "</title>"
         << fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"1\"/>", style,
                        box.x, y, shown, kRow - 1);
    if (const std::string label = fitted(name_of(box.node), width); !label.empty())
      out_ << fmt::format("<text x=\"{:.1f}\" y=\"{}\">", box.x + 3, y + 12) << markup_text(label) << "</text>";
    out_ << "</g>\n";
  }

  [[nodiscard]] std::string account_words() const {
    std::string words = account_line(recording_);
    const bool is_bytes = tree_.clock == SampleClock::bytes;
    words += fmt::format("; shown: {}", is_bytes ? amount_words(static_cast<double>(tree_.nodes[0].total))
                                                 : counted(tree_.nodes[0].total, "sample"));
    if (recording_.period_ns(tree_.clock) != 0)
      words += fmt::format(" of {} time", tree_.clock == SampleClock::cpu ? "processor" : "wall");
    if (tree_.runnable != 0)
      words += fmt::format(", {:.1f} % of them waiting for a processor",
                           100.0 * static_cast<double>(tree_.runnable) / static_cast<double>(tree_.nodes[0].total));
    words += '.';
    for (const std::string& note : recording_.facts.notes) words += " " + note + ".";
    return words;
  }

  void foot() {
    double y = kTop + rows_ * kRow + kBelowRows;
    for (const std::string& line : account_) {
      text(kMargin, y, "plain faint", line);
      y += kLine;
    }
    if (left_out_ != 0)
      text(kMargin, y, "plain faint", counted(left_out_, "box", "boxes") + " too narrow to see: left out.");
    out_ << "</svg>\n";
  }

  Writer& out_;
  const Recording& recording_;
  const FlameOptions& options_;
  FlameTree tree_;
  unsigned rows_ = 1, width_ = 0, height_ = 0;
  std::vector<std::string> account_;  ///< lines below the picture
  double scale_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace

void write_flame_svg(Writer& out, const Recording& recording, const FlameOptions& options) {
  Picture(out, recording, options).write();
}

}  // namespace mixstack::report
