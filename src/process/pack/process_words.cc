#include "process/pack/process_words.h"

#include <elf.h>

#include <algorithm>

#include "base/system/byte_cursor.h"
#include "process/kernel/memory_map.h"
#include "process/live/proc_dir.h"

namespace mixstack::pack {
namespace {

constexpr std::size_t kMostStrings = 8 << 20;  // Linux: a quarter of the stack limit, 2 MiB unless raised
constexpr std::size_t kMostWords = 100'000;
constexpr std::string_view kTwoEnds("\0\0", 2);

[[nodiscard]] std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty() && words.size() < kMostWords) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    if (end != 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

[[nodiscard]] std::optional<AddressRange> strings_on_stack(std::span<const std::byte> auxv,
                                                           std::span<const Region> regions) {
  Address lowest = ~Address{0}, highest = 0;
  base::ByteCursor c(auxv);
  while (c.remaining() >= 16) {
    const std::uint64_t type = c.u64(), value = c.u64();
    if (type == AT_NULL) break;
    if (type != AT_RANDOM && type != AT_EXECFN && type != AT_PLATFORM && type != AT_BASE_PLATFORM) continue;
    // AT_PLATFORM may point elsewhere; AT_EXECFN is the uppermost of all strings.
    if (type != AT_PLATFORM && type != AT_BASE_PLATFORM) highest = std::max(highest, value);
    lowest = std::min(lowest, value);
  }
  const Region* stack = highest == 0 ? nullptr : process::find_region(regions, highest);
  if (stack == nullptr) return std::nullopt;
  if (!stack->range.contains(lowest)) return std::nullopt;
  return AddressRange{lowest, stack->range.end};
}

[[nodiscard]] std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

bool is_overwritten_environment(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    if (text.substr(0, end).find('=') == std::string_view::npos) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

ProcessWords read_process_words(std::uint32_t pid, const MemoryReader& memory, std::span<const Region> regions) {
  ProcessWords words;
  const auto proc = process::ProcDir::open(pid);
  if (!proc) return words;
  words.auxv = bytes_of(proc->read_memory_file("auxv").value_or(""));
  const std::string environment = proc->read_memory_file("environ", kMostStrings).value_or("");
  const std::string command_line = proc->read_memory_file("cmdline", kMostStrings).value_or("");
  words.environment = split(environment);
  words.command_line = split(command_line);
  words.environment_is_lost = is_overwritten_environment(environment);
  // A process title is padded with zeros. (An empty last argument looks the same.)
  words.command_line_is_lost = command_line.ends_with(kTwoEnds) || (words.environment_is_lost && !environment.empty());
  ProcessWords below = find_process_words(words.auxv, memory, regions);
  words.on_stack = below.on_stack;
  words.on_stack_words = std::move(below.environment);
  words.on_stack_words.insert(words.on_stack_words.end(), below.command_line.begin(), below.command_line.end());
  return words;
}

ProcessWords find_process_words(std::span<const std::byte> auxv, const MemoryReader& memory,
                                std::span<const Region> regions) {
  ProcessWords words;
  words.auxv.assign(auxv.begin(), auxv.end());
  words.on_stack = strings_on_stack(auxv, regions);
  if (!words.on_stack) return words;
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(words.on_stack->size(), kMostStrings)), '\0');
  const auto n = memory.read_some(words.on_stack->begin, std::as_writable_bytes(std::span(text)));
  text.resize(n.value_or(0));
  // The random bytes come first; they are split like words, which does no harm.
  for (std::string& word : split(text)) {
    const bool has_name = word.find('=') != std::string::npos && word.front() != '-' && word.front() != '/';
    (has_name ? words.environment : words.command_line).push_back(std::move(word));
  }
  // A program without any environment looks the same; only those of containers from scratch have none.
  words.environment_is_lost = words.environment.empty();
  return words;
}

std::vector<std::string> ProcessWords::secrets(std::span<const Region> regions, const std::string& names,
                                               bool environment_too, bool command_line_too) const {
  std::vector<std::string> all;
  const auto add = [&](std::string text) {
    const auto holds = [&text](const std::string& name) { return name.find(text) != std::string::npos; };
    const bool is_path = std::any_of(regions.begin(), regions.end(), [&](const Region& r) { return holds(r.path); });
    if (!is_path && !holds(names)) all.push_back(std::move(text));
  };
  if (environment_too)
    for (const auto* words : {&environment, &on_stack_words})
      for (const std::string& word : *words)
        if (const auto equals = word.find('='); equals != std::string::npos) add(word.substr(equals + 1));
  if (command_line_too)
    for (const std::string& word : command_line) {
      add(word);
      // --name=value
      if (const auto equals = word.find('='); equals != std::string::npos) add(word.substr(equals + 1));
    }
  return all;
}

}  // namespace mixstack::pack
