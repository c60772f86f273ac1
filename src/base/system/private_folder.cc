#include "base/system/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

namespace mixstack::base {
namespace {

/// Makes the parent folders, too; those that exist stay as they are.
void make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    (void)::mkdir(path.substr(0, at).c_str(), 0700);
  (void)::mkdir(path.c_str(), 0700);
}

/// Whether only root and our user can replace a component of the path: a link of another user may lead to a folder that
/// is ours but no cache.
bool is_way_ours(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    struct stat st {};
    if (::lstat(path.substr(0, at).c_str(), &st) != 0) return false;
    const bool others_write = !S_ISLNK(st.st_mode) && (st.st_mode & 0022) != 0 && (st.st_mode & S_ISVTX) == 0;
    if ((st.st_uid != 0 && st.st_uid != ::geteuid()) || others_write) return false;
    if (at == std::string::npos) return true;
  }
}

bool is_safe_place(const std::string& folder) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(folder.c_str(), nullptr), &std::free);
  return real != nullptr && is_way_ours(folder) && is_way_ours(real.get());
}

}  // namespace

tl::expected<ScopedFd, Diagnosis> open_private_folder(const std::string& path, bool makes, const std::string& what) {
  if (makes) make_folders(path);
  ScopedFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const int error = errno;
  struct stat st {};
  if (!fd && ::lstat(path.c_str(), &st) == 0 && S_ISLNK(st.st_mode))
    return tl::unexpected(Diagnosis{{ErrorCode::permission_denied, 0, 0},
                                    path,
                                    "not used as a " + what +
                                        ": it is a symbolic link, which others could turn elsewhere; give the folder "
                                        "itself that it leads to"});
  if (!fd) return tl::unexpected(Diagnosis{{ErrorCode::io_error, error, 0}, path, ""});
  if (::fstat(fd.get(), &st) != 0 || st.st_uid != ::geteuid() || (st.st_mode & 0022) != 0 || !is_safe_place(path))
    return tl::unexpected(Diagnosis{
        {ErrorCode::permission_denied, 0, 0},
        path,
        "not used as a " + what + ": it, or a folder on the way, belongs to another user, or others can write to it"});
  return fd;
}

}  // namespace mixstack::base
