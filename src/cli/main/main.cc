#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/program.h"

namespace {

void say(std::string_view text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

/// Ends the command at once, from whichever thread: nothing can be relied on without memory, an exception's way up
/// least of all. What it has stopped runs on when the kernel takes the tracer away.
[[noreturn]] void end_without_memory() {
  say("mixstack: not enough memory (limits: ulimit -v, the cgroup). A process it looked at runs on.\n");
  ::_exit(static_cast<int>(mixstack::cli::ExitCode::resources));
}

}  // namespace

int main(int argc, char** argv) {
  std::set_new_handler(end_without_memory);
  try {
    mixstack::cli::Environment environment;
    // Whoever runs us with more rights than his own (AT_SECURE) does not say which programs we run.
    if (const char* path = ::secure_getenv("PATH"); path != nullptr) environment.search_path = path;
    std::vector<std::shared_ptr<void>> left;
    environment.leave_to_the_end = [&left](std::shared_ptr<void> what) { left.push_back(std::move(what)); };
    const int code =
        mixstack::cli::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), environment);
#ifndef MIXSTACK_IS_SANITIZED
    // All has been written; what is left would be taken apart for nothing.
    if (!left.empty() && std::fflush(nullptr) == 0) std::_Exit(code);
#endif
    return code;
  } catch (const std::bad_alloc&) {  // a size that no memory has room for
    end_without_memory();
  } catch (const std::exception& e) {
    say("mixstack: a fault inside mixstack: ");
    say(e.what());
    say("\n");
  }
  return static_cast<int>(mixstack::cli::ExitCode::internal);
}
