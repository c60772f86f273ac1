#include "frontends/cli/terminal.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "base/system/trusted_file.h"
#include "process/kernel/child_process.h"

namespace mixstack::cli {

TerminalSize terminal_size(int fd) {
  if (isatty(fd) != 1) return {};
  struct winsize size {};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return {24, 80};
  return {size.ws_row == 0 ? std::size_t{24} : size.ws_row, size.ws_col == 0 ? std::size_t{80} : size.ws_col};
}

std::vector<std::string> pager_command(const char* own, const char* general, bool is_ours) {
  const std::vector<std::string> usual{"less", "-FRX"};
  const char* value = own != nullptr ? own : general;
  if (!is_ours || value == nullptr || (own == nullptr && *value == '\0')) return usual;
  const std::string_view text = value;
  if (text.find_first_of("|&;<>()$`\\\"'*?[]#~={}\n") != std::string_view::npos) return usual;
  std::vector<std::string> words;
  std::istringstream in{std::string(text)};
  for (std::string word; in >> word;) words.push_back(word);
  if (words == std::vector<std::string>{"cat"}) words.clear();
  if (words == std::vector<std::string>{"less"}) return usual;
  return words;
}

Pager::Pager(const std::string& search_path, int out) : out_(out) {
  const bool is_ours = ::getauxval(AT_SECURE) == 0 && std::getenv("SUDO_UID") == nullptr;
  std::vector<std::string> words = pager_command(std::getenv("MIXSTACK_PAGER"), std::getenv("PAGER"), is_ours);
  if (words.empty()) return;
  std::string program =
      words.front().starts_with('/') ? words.front() : process::find_program(words.front(), search_path);
  if (program.empty() && words.front() != "less") {
    words = {"less", "-FRX"};
    program = process::find_program(words.front(), search_path);
  }
  if (program.empty()) return;
  const auto trusted = base::open_trusted_file(program);
  if (!trusted) return;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const base::ScopedFd read_end(ends[0]);
  base::ScopedFd write_end(ends[1]);
  // Run by descriptor: the very file that was checked.
  const std::string path = "/proc/self/fd/" + std::to_string(trusted->fd.get());
  std::vector<std::string> environment{"LESSSECURE=1", "LESSCHARSET=utf-8"};
  for (const char* name : {"TERM", "LANG", "LC_ALL", "LINES", "COLUMNS"})
    if (const char* value = ::secure_getenv(name); value != nullptr)
      environment.push_back(std::string(name) + "=" + value);
  std::vector<char*> variables;
  for (std::string& text : environment) variables.push_back(text.data());
  variables.push_back(nullptr);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return;
  (void)posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
  (void)posix_spawn_file_actions_adddup2(&actions, out_, STDOUT_FILENO);
  if (::posix_spawn(&pid_, path.c_str(), &actions, nullptr, arguments.data(), variables.data()) == 0) {
    input_ = std::move(write_end);
    // Quitting the pager early is not an error: get EPIPE instead of a signal.
    (void)std::signal(SIGPIPE, SIG_IGN);
    (void)std::signal(SIGINT, SIG_IGN);  // the pager handles Ctrl-C
  } else {
    pid_ = -1;
  }
  (void)posix_spawn_file_actions_destroy(&actions);
}

Pager::~Pager() {
  input_ = base::ScopedFd();
  int status = 0;
  while (pid_ > 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

/// The conventions of terminals: https://no-color.org, TERM=dumb.
bool wants_color(ColorMode mode, int fd) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* terminal = std::getenv("TERM");
  return isatty(fd) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace mixstack::cli
