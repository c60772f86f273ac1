// Arguments of `mixstack agent`.
#include <fmt/core.h>

#include "frontends/cli/parsing.h"

namespace mixstack::cli {
namespace {

using Action = Invocation::Action;
using Verb = AgentArguments::Verb;

/// Nothing: it is no verb.
std::optional<Verb> verb_called(std::string_view word) {
  if (word == "attach") return Verb::attach;
  if (word == "status") return Verb::status;
  if (word == "stop") return Verb::stop;
  if (word == "record") return Verb::record;
  return std::nullopt;
}

void declare(CommandLine& line, AgentArguments& agent) {
  constexpr NumberRange kHertz{0, 10'000}, kWallHertz{0, 1000}, kThreads{0, 1024};
  line.value("PID", [&agent](const std::string& text) {
    const auto pid = id_number(text);
    agent.pid = pid.value_or(0);
    return pid ? std::string() : fmt::format("'{}' is not a pid", text);
  });
  if (agent.verb == Verb::status) line.flag("--json", agent.json);
  if (agent.verb != Verb::attach && agent.verb != Verb::record) return;
  line.number("--hz", agent.cpu_hertz, kHertz);
  line.number("--wall", agent.wall_hertz, kWallHertz);
  line.number("--wall-threads", agent.wall_threads, kThreads);
  line.text("--out", agent.out);
  line.choice("--format", agent.json, {{"collapsed", false}, {"json", true}});
  line.flag("--native-only", agent.native_only);
  line.text("--library", agent.library);
  line.seconds("--timeout", agent.timeout);
  if (agent.verb == Verb::record) line.seconds("--duration", agent.duration);
}

/// Checks combinations of options, and sets defaults.
std::string complete(const CommandLine& line, AgentArguments& agent) {
  constexpr std::uint32_t kUsualHertz = 100;
  constexpr std::size_t kLongestPath = 1024;
  for (const std::string* text : {&agent.out, &agent.library})
    if (text->find('\n') != std::string::npos || text->size() > kLongestPath)
      return "a path is too long, or has a line break";
  const bool samples = agent.verb == Verb::record || !agent.out.empty();
  const bool has_rate = line.has("--hz") || line.has("--wall");
  if (!has_rate && samples) agent.cpu_hertz = kUsualHertz;
  if (has_rate && agent.cpu_hertz == 0 && agent.wall_hertz == 0 && samples)
    return "--hz 0 and no --wall: there is nothing to sample";
  return {};
}

}  // namespace

Invocation parse_agent(std::vector<std::string> words) {
  const std::string first = words.empty() ? "" : words.front();
  if (first == "-h" || first == "--help" || first == "help") return {Action::print, {}, help::help_text(agent_page())};
  const auto verb = verb_called(first);
  if (!verb) return wrong("agent: say what to do: attach, status, stop or record");
  words.erase(words.begin());
  CommandLine line(Action::agent, agent_page());
  AgentArguments& agent = line.result().agent;
  agent.verb = *verb;
  declare(line, agent);
  return line.read(std::move(words), {[&] { return line.has("PID") ? "" : "which process? Write its pid"; },
                                      line.values(), [&] { return complete(line, agent); }});
}

}  // namespace mixstack::cli
