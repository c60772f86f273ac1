// A running .NET scenario, stopped, and what ClrMD says of it.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/source_folder.h"

namespace mixstack::test {

/// What ClrMD (tests/oracle) said, or why it said nothing.
struct ClrmdAnswer {
  enum class End : std::uint8_t {
    answered,
    not_built,
    died,    ///< of a signal: its DAC is native code
    failed,  ///< by its own account, or what it said is no answer
  };
  End end = End::not_built;
  int signal = 0;       ///< of `died`
  nlohmann::json json;  ///< of `answered`
  std::string why;      ///< of the others: what it said last

  [[nodiscard]] std::string text() const {
    if (end == End::answered) return "ClrMD answered";
    if (end == End::not_built) return "ClrMD is not built (tests/debuggees/build)";
    const std::string by = end == End::died ? "died of signal " + std::to_string(signal) : "did not answer";
    return "ClrMD " + by + ": " + why;
  }
};

/// Starts `dotnet build/debuggees/Scenarios/Scenarios.dll SCENARIO [ARGUMENT]` and waits for its READY line. Ends it at
/// the end. A scenario that dies is held where its runtime calls abort (libholdabort.so). MIXSTACK_RUNTIME chooses a
/// newer release than the SDK's, as for the live tests: the scenarios are self-contained then.
class DotnetProcess {
 public:
  explicit DotnetProcess(const std::string& scenario, std::string argument = {}) {
    const std::string release = asked_release();
    const bool is_whole = !release.empty();
    const std::string folder = source_folder() + "/build/debuggees" + (is_whole ? "-" + release : "");
    const std::string program = folder + "/Scenarios/Scenarios", dll = program + ".dll";
    if (!std::filesystem::exists(dll)) return;
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::string name = is_whole ? program : "dotnet", path = dll, which = scenario;
    std::vector<char*> arguments{name.data(), which.data(), argument.empty() ? nullptr : argument.data(), nullptr};
    if (!is_whole) arguments.insert(arguments.begin() + 1, path.data());
    std::string preload = "LD_PRELOAD=" + folder + "/native/libholdabort.so";
    std::vector<char*> environment;
    if (scenario.starts_with("crash_")) environment.push_back(preload.data());
    for (char** variable = environ; *variable != nullptr; variable++) environment.push_back(*variable);
    environment.push_back(nullptr);
    if (::posix_spawnp(&pid_, name.c_str(), &actions, nullptr, arguments.data(), environment.data()) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    input_ = in[1];
    FILE* lines = ::fdopen(out[0], "r");
    char line[256];
    while (pid_ > 0 && std::fgets(line, sizeof line, lines) != nullptr)
      if (std::string_view(line).starts_with("READY")) {
        ready_ = true;
        break;
      }
    std::fclose(lines);
    // The thread that dies prints the line itself, and is on its way from there to where it is held.
    if (ready_ && scenario.starts_with("crash_")) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  ~DotnetProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(input_);
  }
  DotnetProcess(const DotnetProcess&) = delete;
  DotnetProcess& operator=(const DotnetProcess&) = delete;

  /// The release that was asked for by name; empty: the SDK's.
  [[nodiscard]] static std::string asked_release() {
    const char* release = std::getenv("MIXSTACK_RUNTIME");
    return release == nullptr ? std::string() : std::string(release);
  }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] unsigned pid() const { return static_cast<unsigned>(pid_); }

  /// SIGSTOP, until every thread stands: both observers then see the same state.
  void stop() const {
    ::kill(pid_, SIGSTOP);
    for (int tries = 0; tries < 500 && !all_stopped(); tries++)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  /// Asks ClrMD for stacks, or for what the option says.
  [[nodiscard]] ClrmdAnswer ask_clrmd(const std::string& option = {}) const {
    ClrmdAnswer answer;
    const std::string program = source_folder() + "/build/oracle/Oracle.dll";
    if (!std::filesystem::exists(program)) return answer;
    const int errors = ::memfd_create("errors", 0);
    // Without a shell in between, so that it is the program's own end that is told.
    const std::string command = "exec dotnet '" + program + "' " + option + " " + std::to_string(pid_) +
                                " 2>/proc/self/fd/" + std::to_string(errors);
    FILE* output = ::popen(command.c_str(), "r");
    const std::string text = output == nullptr ? std::string() : text_of(output);
    const int status = output == nullptr ? -1 : ::pclose(output);
    answer.json = nlohmann::json::parse(text, nullptr, false);
    if (status == 0 && answer.json.is_object()) {
      answer.end = ClrmdAnswer::End::answered;
    } else {
      answer.end = status > 0 && WIFSIGNALED(status) ? ClrmdAnswer::End::died : ClrmdAnswer::End::failed;
      answer.signal = answer.end == ClrmdAnswer::End::died ? WTERMSIG(status) : 0;
      std::array<char, 2000> last{};
      const ssize_t n = ::pread(errors, last.data(), last.size() - 1, 0);
      answer.why = n > 0 ? std::string(last.data()) : text.substr(0, last.size());
    }
    ::close(errors);
    return answer;
  }

 private:
  [[nodiscard]] static std::string text_of(FILE* output) {
    std::string text;
    char buffer[1 << 16];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, output)) > 0;) text.append(buffer, n);
    return text;
  }
  [[nodiscard]] bool all_stopped() const {
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
      std::ifstream file(task.path() / "stat");
      std::string stat;
      std::getline(file, stat);
      const auto end = stat.rfind(')');
      if (end == std::string::npos || end + 2 >= stat.size() || stat[end + 2] != 'T') return false;
    }
    return true;
  }

  pid_t pid_ = -1;
  int input_ = -1;
  bool ready_ = false;
};

}  // namespace mixstack::test
