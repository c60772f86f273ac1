#include "output/report/signal_words.h"

#include <fmt/format.h>

#include <array>

namespace mixstack::report {
namespace {

constexpr std::array<std::string_view, 32> kNames{
    "",          "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
    "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
    "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
    "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};

constexpr std::int32_t kIll = 4, kTrap = 5, kBus = 7, kFpe = 8, kSegv = 11;
constexpr std::int32_t kUser = 0, kQueue = -1, kTkill = -6, kKernel = 0x80;

struct CodeWords {
  std::int32_t signal, code;
  std::string_view words;
};
constexpr CodeWords kCodes[] = {
    {kSegv, 1, "nothing is mapped there"},
    {kSegv, 2, "access not permitted there"},
    {kSegv, 3, "bounds check failed"},
    {kSegv, 4, "protection key forbids it"},
    {kBus, 1, "misaligned address"},
    {kBus, 2, "no memory behind the address: a mapped file was truncated"},
    {kBus, 3, "hardware error"},
    {kIll, 1, "illegal instruction"},
    {kIll, 2, "illegal operand"},
    {kIll, 5, "privileged instruction"},
    {kFpe, 1, "integer division by zero"},
    {kFpe, 2, "integer overflow"},
    {kFpe, 3, "floating-point division by zero"},
    {kFpe, 7, "invalid floating-point operation"},
    {kTrap, 1, "breakpoint"},
    {kTrap, 2, "single step"},
};

}  // namespace

std::string signal_name(std::int32_t signal) {
  if (signal > 0 && static_cast<std::size_t>(signal) < kNames.size())
    return std::string(kNames[static_cast<std::size_t>(signal)]);
  return fmt::format("signal {}", signal);
}

std::string_view signal_code_words(std::int32_t signal, std::int32_t code) {
  if (code == kUser) return "sent by kill";
  if (code == kTkill) return "sent to the thread: raise, abort or tgkill";
  if (code == kQueue) return "sent by sigqueue";
  if (code == kKernel) return "raised by the kernel";
  for (const CodeWords& c : kCodes)
    if (c.signal == signal && c.code == code) return c.words;
  return {};
}

}  // namespace mixstack::report
