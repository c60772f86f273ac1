#include "agent/stack_counts.h"

#include <algorithm>

namespace mixstack::agent {

void StackCounts::add(const Sample& sample) {
  samples_++;
  if (sample.stop != StopReason::end_of_stack) cut_++;
  std::vector<std::uint64_t> key;
  key.reserve(sample.count);
  for (std::size_t i = 0; i < sample.count; i++) {
    const std::uint64_t method = sample.methods[i];
    key.push_back(method != 0 ? method << 1 | 1 : sample.addresses[i] << 1);
  }
  auto [at, is_new] = counts_.try_emplace(std::move(key), sample, 0);
  at->second.second++;
}

std::string StackCounts::collapsed(const Namer& name) const {
  std::map<std::string, std::uint64_t> lines;
  for (const auto& [key, value] : counts_) {
    const auto& [sample, count] = value;
    std::string line;
    for (std::size_t i = sample.count; i-- > 0;) {
      std::string frame = name(sample.addresses[i], sample.methods[i], i == 0);
      std::replace(frame.begin(), frame.end(), ';', ':');
      std::replace(frame.begin(), frame.end(), '\n', ' ');
      line += line.empty() ? frame : ";" + frame;
    }
    lines[line] += count;
  }
  std::string text;
  for (const auto& [line, count] : lines) text += line + " " + std::to_string(count) + "\n";
  return text;
}

}  // namespace mixstack::agent
