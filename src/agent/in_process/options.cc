#include "agent/in_process/options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace mixstack::agent {
namespace {

[[nodiscard]] unsigned number(std::string_view text, unsigned most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return most;
  return static_cast<unsigned>(std::min<std::uint64_t>(value, most));
}

}  // namespace

void AgentOptions::set(std::string_view name, std::string_view value) {
  if (name == "MIXSTACK_AGENT_HZ") {
    cpu_hertz = number(value, kMostHertz);
  } else if (name == "MIXSTACK_AGENT_WALL") {
    wall_hertz = number(value, kMostWallHertz);
  } else if (name == "MIXSTACK_AGENT_WALL_THREADS") {
    wall_threads = std::max(number(value, kMostWallThreads), 1u);
  } else if (name == "MIXSTACK_AGENT_OUT") {
    out = value;
  } else if (name == "MIXSTACK_AGENT_FORMAT") {
    format = value == "json" ? OutFormat::json : OutFormat::collapsed;
  } else if (name == "MIXSTACK_HYBRID_UNWINDING") {
    walks_managed = value != "0";
  } else if (name == "MIXSTACK_DEBUG") {
    explains = !value.empty() && value != "0";
  }
}

AgentOptions AgentOptions::of_environment() {
  AgentOptions options;
  for (const char* name :
       {"MIXSTACK_AGENT_HZ", "MIXSTACK_AGENT_WALL", "MIXSTACK_AGENT_WALL_THREADS", "MIXSTACK_AGENT_OUT",
        "MIXSTACK_AGENT_FORMAT", "MIXSTACK_HYBRID_UNWINDING", "MIXSTACK_DEBUG"})
    if (const char* value = std::getenv(name)) options.set(name, value);
  return options;
}

AgentOptions AgentOptions::of_lines(std::string_view text) {
  AgentOptions options;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (const std::size_t equals = line.find('='); equals != line.npos)
      options.set(line.substr(0, equals), line.substr(equals + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return options;
}

}  // namespace mixstack::agent
