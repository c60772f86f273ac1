// Prints what a process spends its time on, each second.
//
//   live_top PID [SECONDS]        exit code 0; 1: the process ended; 2: it cannot be sampled
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "mixstack/top.h"

int main(int count, char** words) {
  if (count < 2) return 2;
  const auto pid = static_cast<std::uint32_t>(std::strtoul(words[1], nullptr, 10));
  const int seconds = count < 3 ? 10 : std::atoi(words[2]);
  auto top = mixstack::Top::start(pid);
  if (!top) {
    std::fprintf(stderr, "process %u: %s\n", pid, mixstack::describe(top.error()).c_str());
    return 2;
  }
  mixstack::TopQuestion question;
  question.most_rows = 5;
  for (int i = 1; i <= seconds; i++) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    top->next();
    const mixstack::TopTable table = top->table(question);
    std::printf("%d s, %llu samples of %zu threads\n", i, static_cast<unsigned long long>(table.facts.samples),
                table.facts.threads);
    for (const mixstack::TopRow& row : table.rows)
      std::printf("%8.0f ms  %s  (%s)\n", static_cast<double>(row.self) / 1e6, row.name.c_str(), row.module.c_str());
    if (top->has_ended()) return 1;
  }
  return 0;
}
