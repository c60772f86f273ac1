#include "engine/symbol_files/symbol_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <vector>

#include "base/system/private_folder.h"
#include "engine/images/file_bytes.h"

namespace mixstack::symbol_files {
namespace {

constexpr char kStagedPrefix[] = ".part-";
constexpr std::time_t kStaleAfter = 24 * 3600;  // left by a program that was killed
constexpr std::size_t kMostFiles = 100'000;

/// Names as SymbolKey::cache_name makes them: other files in the folder are not ours to remove.
bool is_kept_name(std::string_view name) {
  const std::string_view id = name.substr(0, name.rfind('.')), kind = name.substr(id.size());
  return !id.empty() && id.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos &&
         (kind == ".debug" || kind == ".pdb" || kind == ".elf");
}

struct KeptFile {
  std::string name;
  std::uint64_t bytes = 0;
  timespec used{};
};

/// Regular files of a folder; removes half-written files that are too old to be in use.
std::vector<KeptFile> files_of(int folder) {
  std::vector<KeptFile> files;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = copy < 0 ? nullptr : ::fdopendir(copy);
  if (list == nullptr) {
    if (copy >= 0) ::close(copy);
    return files;
  }
  while (const dirent* entry = ::readdir(list)) {
    struct stat st {};
    const std::string name = entry->d_name;
    if (::fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) continue;
    if (is_kept_name(name)) {
      files.push_back({name, static_cast<std::uint64_t>(st.st_blocks) * 512, st.st_mtim});
    } else if (name.starts_with(kStagedPrefix) && st.st_mtim.tv_sec + kStaleAfter < std::time(nullptr)) {
      (void)::unlinkat(folder, name.c_str(), 0);
    }
    if (files.size() >= kMostFiles) break;
  }
  ::closedir(list);
  return files;
}

}  // namespace

bool StagedFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

Result<std::shared_ptr<const FileBytes>> StagedFile::bytes() const {
  base::ScopedFd copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return fail(ErrorCode::io_error, 0, errno);
  return images::file_bytes_from_fd(std::move(copy));
}

bool SymbolCache::open(bool makes) {
  if (fd_) return true;
  if (folder_.empty() || folder_.front() != '/' || refused_.error.code != ErrorCode::none) return false;
  auto opened = base::open_private_folder(folder_, makes, "cache");
  if (opened) {
    fd_ = std::move(*opened);
  } else if (makes || opened.error().error.os_error != ENOENT) {
    refused_ = std::move(opened.error());
  }
  return static_cast<bool>(fd_);
}

Result<std::shared_ptr<const FileBytes>> SymbolCache::find(const std::string& name) {
  if (!open(false)) return fail(ErrorCode::not_found);
  base::ScopedFd file(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail(ErrorCode::not_found, 0, errno);
  (void)::futimens(file.get(), nullptr);  // marks the last use; fails on a read-only disk
  return images::file_bytes_from_fd(std::move(file));
}

void SymbolCache::remove(const std::string& name) {
  if (open(false)) (void)::unlinkat(fd_.get(), name.c_str(), 0);
}

Result<StagedFile> SymbolCache::stage() {
  if (open(true)) {
    // Our pid is no name of our own: other caches of this process and processes of other pid namespaces have it, too.
    std::array<std::uint64_t, 2> random{};
    (void)!::getrandom(random.data(), sizeof random, 0);
    std::string name = kStagedPrefix + std::to_string(random[0]) + "-" + std::to_string(random[1]);
    constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    base::ScopedFd fd(::openat(fd_.get(), name.c_str(), kFlags, 0600));
    if (fd) return StagedFile(std::move(fd), std::move(name));
    refused_ = {{ErrorCode::io_error, errno, 0}, folder_, ""};
    fd_ = {};
  }
  base::ScopedFd fd(::memfd_create("mixstack-symbols", MFD_CLOEXEC));
  if (!fd) return fail(ErrorCode::io_error, 0, errno);
  return StagedFile(std::move(fd), {});
}

bool SymbolCache::keep(const StagedFile& file, const std::string& name) {
  if (file.name().empty() || !fd_) return false;
  if (::renameat(fd_.get(), file.name().c_str(), fd_.get(), name.c_str()) != 0) {
    drop(file);
    return false;
  }
  make_room(name);
  return true;
}

void SymbolCache::drop(const StagedFile& file) {
  if (!file.name().empty() && fd_) (void)::unlinkat(fd_.get(), file.name().c_str(), 0);
}

void SymbolCache::make_room(const std::string& newest) {
  std::vector<KeptFile> files = files_of(fd_.get());
  std::uint64_t sum = 0;
  for (const KeptFile& f : files) sum += f.bytes;
  if (sum <= most_bytes_) return;
  std::sort(files.begin(), files.end(), [](const KeptFile& a, const KeptFile& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const KeptFile& f : files) {
    if (sum <= most_bytes_) break;
    if (f.name == newest) continue;
    if (::unlinkat(fd_.get(), f.name.c_str(), 0) == 0) sum -= f.bytes;
  }
}

}  // namespace mixstack::symbol_files
