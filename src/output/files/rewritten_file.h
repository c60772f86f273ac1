// Sees that a file was rewritten.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <optional>
#include <string>

namespace mixstack::files {

/// Looks at the facts of a file that change when it is rewritten. "-" never changes.
class RewrittenFile {
 public:
  explicit RewrittenFile(std::string path) : path_(std::move(path)), shown_(look()), last_(shown_) {}
  /// Whether it has changed since it was last reported, and was the same at the call before: it is written no more.
  [[nodiscard]] bool is_new();

 private:
  struct State {
    ino_t inode = 0;
    off_t size = 0;
    std::time_t seconds = 0;
    long nanoseconds = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] std::optional<State> look() const;

  std::string path_;
  std::optional<State> shown_, last_;
};

}  // namespace mixstack::files
