// Preloaded: a process that would die by abort() stands still there instead and says READY.
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

extern "C" [[noreturn]] void abort() noexcept {
  char line[32];
  const int n = std::snprintf(line, sizeof line, "READY %d\n", static_cast<int>(getpid()));
  if (n > 0 && write(STDOUT_FILENO, line, static_cast<size_t>(n)) < 0) _exit(4);
  for (;;) pause();
}
