#include "output/formats/folded.h"

#include <algorithm>
#include <vector>

#include "base/words/view_tree.h"
#include "output/report/escape.h"

namespace mixstack::formats {

std::string folded_name(const std::string& name) {
  std::string text = report::escape_for_terminal(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
}

void write_folded(report::Writer& out, const Recording& recording, const ProfileOptions& options) {
  const RecordingView view = view_of(recording, options);
  std::vector<std::string> names;
  names.reserve(view.entries.size());
  for (const ViewEntry& entry : view.entries) names.push_back(folded_name(entry.name));
  const auto self = view.self_counts();
  const ViewTree tree(
      view, [&](std::uint32_t a, std::uint32_t b) { return names[view.nodes[a].entry] < names[view.nodes[b].entry]; });
  std::string line;
  tree.walk(
      [&](std::uint32_t node) {
        line += (line.empty() ? "" : ";") + names[view.nodes[node].entry];
        if (self[node] != 0) (out << line << ' ').decimal(self[node]) << '\n';
        return true;
      },
      [&](std::uint32_t node) {
        const std::size_t size = names[view.nodes[node].entry].size();
        line.resize(line.size() - size);
        if (!line.empty()) line.pop_back();
      });
}

}  // namespace mixstack::formats
