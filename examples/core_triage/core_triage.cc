// What a script wants to know of a core: did it crash, where, and what did the other threads do.
//
//   core_triage CORE [SYSROOT...]     exit code 0: no crash; 1: it crashed; 2: the core cannot be read
//
// Threads with the same stack are shown once. The crash comes first.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "common/print_stack.h"
#include "mixstack/session.h"

namespace {

using mixstack::ProcessDump;
using mixstack::ThreadDump;

struct Group {
  std::vector<const ThreadDump*> threads;
  bool crashed = false;
};

/// Equal names in equal order: the same place, whatever the addresses.
std::string stack_text(const ProcessDump& dump, const ThreadDump& thread) {
  std::string text;
  for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
    const std::string& name = dump.symbols[mixstack::own_function(dump.symbols, thread.symbols[i])].name;
    text += (name.empty() ? mixstack::frame_text(dump, thread, i) : name) + '\n';
  }
  return text;
}

std::vector<Group> group(const ProcessDump& dump) {
  std::map<std::string, Group> by_stack;
  for (const ThreadDump& thread : dump.threads) {
    Group& g = by_stack[stack_text(dump, thread)];
    g.threads.push_back(&thread);
    if (!dump.target.crash || dump.target.crash->tid != thread.tid) continue;
    g.crashed = true;
    std::swap(g.threads.front(), g.threads.back());
  }
  std::vector<Group> groups;
  for (auto& [text, g] : by_stack) groups.push_back(std::move(g));
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.crashed != b.crashed ? a.crashed : a.threads.size() > b.threads.size();
  });
  return groups;
}

void print(const ProcessDump& dump, const Group& g) {
  if (g.crashed) std::printf("CRASH by signal %d in ", dump.target.crash->signal);
  if (g.threads.size() > 1) std::printf("%zu threads like ", g.threads.size());
  const ThreadDump& thread = *g.threads.front();
  examples::print_stack(dump, thread);
  if (thread.managed && !thread.managed->exception_type().empty())
    std::printf("  exception: %s\n", std::string(thread.managed->exception_type()).c_str());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: core_triage CORE [SYSROOT...]\n");
    return 2;
  }
  mixstack::CoreOptions options;
  options.path = arguments[1];
  options.sysroots.assign(arguments + 2, arguments + count);
  auto session = mixstack::Session::open_core(options);
  if (!session) {
    std::fprintf(stderr, "%s: %s\n", arguments[1], mixstack::describe(session.error()).c_str());
    return 2;
  }
  const auto dump = (*session)->dump({});
  if (!dump) return 2;
  for (const Group& g : group(*dump)) print(*dump, g);
  // What the core lacks and no file could give: stacks may be short because of it.
  for (const mixstack::Diagnosis& diagnosis : dump->diagnoses)
    std::fprintf(stderr, "note: %s %s\n", diagnosis.subject.c_str(), diagnosis.text.c_str());
  return dump->target.crash && dump->target.crash->signal != 0 ? 1 : 0;
}
