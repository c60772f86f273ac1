#include "features/record/launched_program.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "features/record/recorded_facts.h"
#include "output/report/escape.h"
#include "session/launch.h"

namespace mixstack::record {
namespace {

constexpr int kTriesToFollow = 10;
constexpr std::chrono::milliseconds kBetweenTries{20};

}  // namespace

Result<LaunchedProgram> LaunchedProgram::start(const std::vector<std::string>& command, bool adopts,
                                               const std::optional<base::User>& user) {
  if (adopts) (void)::prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
  const auto pid = session::launch({command, {}}, user);
  if (!pid) return fail(pid.error());
  return LaunchedProgram(*pid, report::escape_for_terminal(std::filesystem::path(command.front()).filename().string()));
}

bool LaunchedProgram::has_ended(std::chrono::milliseconds wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  while (!status_) {
    int status = 0;
    if (::waitpid(static_cast<pid_t>(pid_), &status, WNOHANG) == static_cast<pid_t>(pid_)) status_ = status;
    if (status_ || std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status_.has_value();
}

tl::expected<void, NotOpened> LaunchedProgram::begin(Recordings& recordings, const RecordingsOptions& options) const {
  auto session = options.open_process(pid_);
  auto begun = session ? recordings.begin(std::move(*session))
                       : tl::expected<void, NotOpened>(tl::unexpected(NotOpened{session.error()}));
  for (int tries = begun || !options.subprocesses ? 0 : kTriesToFollow; tries > 0; tries--) {
    recordings.follow();
    if (!recordings.living().empty()) return {};
    std::this_thread::sleep_for(kBetweenTries);
  }
  return begun;
}

std::string LaunchedProgram::end_words() const {
  const int status = status_.value_or(0);
  if (!WIFSIGNALED(status)) return fmt::format("{} ended with exit status {}", name_, WEXITSTATUS(status));
  return fmt::format("{} was ended by signal {} ({})", name_, WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

int LaunchedProgram::exit_status() const {
  const int status = status_.value_or(0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string names_of(const std::vector<std::uint32_t>& pids) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < pids.size() && i < kMost; i++)
    text += fmt::format("{}{} (pid {})", text.empty() ? "" : ", ", name_of(pids[i]), pids[i]);
  if (pids.size() > kMost) text += fmt::format(", {} more", pids.size() - kMost);
  return text;
}

}  // namespace mixstack::record
