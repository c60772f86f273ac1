#include "base/system/trusted_file.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <deque>

namespace mixstack::base {
namespace {

constexpr int kMaxLinks = 40;        // as the kernel, path_resolution(7)
constexpr int kMaxSteps = 40 * 256;  // components of a path and of all its links
constexpr int kWalkFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;

std::string octal(mode_t mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777));
  return text.data();
}

/// One walk from / to a file.
class Walk {
 public:
  Walk(std::string path, ProgramTrust trust) : path_(std::move(path)), trust_(trust) {}

  tl::expected<TrustedFile, Diagnosis> run() {
    if (path_.empty() || path_.front() != '/') return refuse(ErrorCode::invalid_argument, 0, "is no absolute path");
    push(path_);
    if (!enter_root()) return tl::unexpected(std::move(refusal_));
    while (!left_.empty()) {
      if (++steps_ > kMaxSteps) return refuse(ErrorCode::limit_exceeded, 0, "has too many folders on its way");
      const std::string name = std::move(left_.front());
      left_.pop_front();
      if (!step(name)) return tl::unexpected(std::move(refusal_));
    }
    if (!S_ISREG(at_.st_mode)) return refuse(ErrorCode::unsupported, 0, "is no regular file");
    if (trust_.is_program && (at_.st_mode & 0111) == 0)
      return refuse(ErrorCode::permission_denied, EACCES, "is not executable");
    return TrustedFile{std::move(here_), path_};
  }

 private:
  /// Puts the components of a path in front of what is left.
  void push(std::string_view path) {
    std::deque<std::string> parts;
    while (!path.empty()) {
      const auto end = std::min(path.find('/'), path.size());
      if (end != 0 && path.substr(0, end) != ".") parts.emplace_back(path.substr(0, end));
      path.remove_prefix(std::min(end + 1, path.size()));
    }
    left_.insert(left_.begin(), parts.begin(), parts.end());
  }

  bool enter_root() {
    const bool is_ours = trust_.root_folder < 0;
    here_ = ScopedFd(is_ours ? ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
                             : ::openat(trust_.root_folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    where_.clear();
    return look();
  }

  bool step(const std::string& name) {
    if (!S_ISDIR(at_.st_mode)) return give_up(ErrorCode::not_found, ENOTDIR, "is no folder");
    if (name == ".." && where_.empty()) return true;  // the root is its own parent, whatever it is to us
    ScopedFd next(::openat(here_.get(), name.c_str(), kWalkFlags));
    const std::string folder = where_;
    if (name == "..") {
      where_.resize(where_.rfind('/') == std::string::npos ? 0 : where_.rfind('/'));
    } else {
      where_ += "/" + name;
    }
    if (!next)
      return give_up(errno == ENOENT ? ErrorCode::not_found : ErrorCode::permission_denied, errno,
                     std::strerror(errno));
    ScopedFd parent = std::exchange(here_, std::move(next));
    if (!look()) return false;
    return !S_ISLNK(at_.st_mode) || follow(std::move(parent), folder);
  }

  bool follow(ScopedFd parent, const std::string& folder) {
    std::array<char, PATH_MAX> text{};
    const ssize_t n = ::readlinkat(here_.get(), "", text.data(), text.size());
    if (n <= 0 || static_cast<std::size_t>(n) == text.size() || ++links_ > kMaxLinks)
      return give_up(ErrorCode::not_found, ELOOP, "is a link that cannot be followed");
    const std::string_view to(text.data(), static_cast<std::size_t>(n));
    push(to);
    if (to.front() == '/') return enter_root();
    here_ = std::move(parent);
    where_ = folder;
    return ::fstat(here_.get(), &at_) == 0;
  }

  /// Whether the file or folder reached may be trusted.
  bool look() {
    if (!here_ || ::fstat(here_.get(), &at_) != 0) return give_up(ErrorCode::io_error, errno, std::strerror(errno));
    if (at_.st_uid != 0 && at_.st_uid != trust_.root && at_.st_uid != trust_.user)
      return give_up(ErrorCode::permission_denied, 0, "belongs to uid " + std::to_string(at_.st_uid));
    // For a link only the owner counts: its mode is always 0777, and its folder decides who may replace it.
    if (S_ISLNK(at_.st_mode) || (at_.st_mode & 0022) == 0) return true;
    return give_up(
        ErrorCode::permission_denied, 0,
        std::string((at_.st_mode & 0002) != 0 ? "can be written by everybody" : "can be written by its group") +
            " (mode " + octal(at_.st_mode) + ", uid " + std::to_string(at_.st_uid) + ")");
  }

  bool give_up(ErrorCode code, int os_error, const std::string& why) {
    const std::string blamed = where_.empty() ? "/" : where_;
    const std::string subject = blamed == path_ ? "it" : blamed;
    std::string text = code == ErrorCode::not_found
                           ? why
                           : (trust_.is_program ? "not run, because " : "not loaded, because ") + subject + " " + why;
    if (code == ErrorCode::permission_denied && os_error == 0)
      text += ": it must lie where only root and uid " + std::to_string(trust_.user) + " can write";
    refusal_ = {{code, os_error, 0}, path_, std::move(text)};
    return false;
  }
  tl::unexpected<Diagnosis> refuse(ErrorCode code, int os_error, const std::string& why) {
    (void)give_up(code, os_error, why);
    return tl::unexpected(std::move(refusal_));
  }

  std::string path_;
  ProgramTrust trust_;
  std::deque<std::string> left_;  ///< components still to go
  ScopedFd here_;
  struct stat at_ {};
  std::string where_;  ///< path of `here_`
  int links_ = 0;
  int steps_ = 0;
  Diagnosis refusal_;
};

}  // namespace

ProgramTrust ProgramTrust::own() {
  ProgramTrust trust;
  trust.user = ::getauxval(AT_SECURE) != 0 ? 0 : ::geteuid();
  return trust;
}

tl::expected<TrustedFile, Diagnosis> open_trusted_file(const std::string& path, ProgramTrust trust) {
  return Walk(path, trust).run();
}

}  // namespace mixstack::base
