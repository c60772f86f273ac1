#include "output/files/rewritten_file.h"

#include <sys/stat.h>

namespace mixstack::files {

std::optional<RewrittenFile::State> RewrittenFile::look() const {
  struct stat facts {};
  if (path_ == "-" || ::stat(path_.c_str(), &facts) != 0) return std::nullopt;
  return State{facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

bool RewrittenFile::is_new() {
  const std::optional<State> now = look();
  const bool is_new = now && now != shown_ && now == last_;
  last_ = now;
  if (is_new) shown_ = now;
  return is_new;
}

}  // namespace mixstack::files
