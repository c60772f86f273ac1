#include "output/push/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/system/private_folder.h"
#include "output/push/spool_entry.h"

namespace mixstack::push {
namespace {

constexpr std::string_view kEnding = ".push", kStagedPrefix = ".part-";
constexpr std::size_t kMostFiles = 100'000;
constexpr std::time_t kStaleAfter = 24 * 3600;  // older staged files are of programs that were killed
constexpr std::size_t kTimeDigits = 20, kHashDigits = 16;

/// FNV-1a, a part of the file's name to find it by; the target inside the file decides.
std::string hash_of(const PushTarget& target) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : fmt::format("{} {}", word_of(target.protocol), target.url))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

/// "00001764000000000000-0123456789abcdef-fedcba9876543210.push": time, hash, number; sorted by time.
bool is_kept_name(std::string_view name) {
  constexpr std::size_t kHashAt = kTimeDigits + 1, kNumberAt = kHashAt + kHashDigits + 1;
  if (!name.ends_with(kEnding) || name.size() <= kNumberAt + kEnding.size()) return false;
  name.remove_suffix(kEnding.size());
  return name.find_first_not_of("0123456789") == kTimeDigits && name[kTimeDigits] == '-' &&
         name.substr(kHashAt).find_first_not_of("0123456789abcdef") == kHashDigits && name[kNumberAt - 1] == '-' &&
         name.substr(kNumberAt).find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

std::uint64_t now_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

/// No other file of the folder has it: programs of several containers, with the same PIDs, may share it.
std::string unique_number() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof number))
    number = now_ns() << 16 ^ static_cast<std::uint64_t>(::getpid());
  return fmt::format("{:016x}", number);
}

bool is_of(std::string_view name, std::string_view hash) { return name.substr(kTimeDigits + 1, kHashDigits) == hash; }

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// Nothing: a read failed. Empty: larger than any entry, or shorter than it was.
std::optional<std::string> read_all(int fd, std::uint64_t size) {
  if (size > most_spooled_bytes()) return std::string();
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return std::string();
    have += static_cast<std::size_t>(n);
  }
  return bytes;
}

}  // namespace

tl::expected<void, Diagnosis> Spool::open(bool makes) {
  if (fd_) return {};
  if (folder_.empty() || folder_.front() != '/')
    return tl::unexpected(Diagnosis{{ErrorCode::not_found, 0, 0}, "spool", "there is no folder for it (--push-spool)"});
  auto opened = base::open_private_folder(folder_, makes, "spool");
  if (!opened) return tl::unexpected(std::move(opened.error()));
  fd_ = std::move(*opened);
  return {};
}

std::vector<Spool::File> Spool::files() {
  std::vector<File> files;
  const int copy = ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = copy < 0 ? nullptr : ::fdopendir(copy);
  if (list == nullptr) {
    if (copy >= 0) ::close(copy);
    return files;
  }
  while (const dirent* entry = ::readdir(list)) {
    struct stat st {};
    const std::string name = entry->d_name;
    if (::fstatat(fd_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) continue;
    if (is_kept_name(name)) {
      files.push_back({name, static_cast<std::uint64_t>(std::max<off_t>(st.st_size, st.st_blocks * 512))});
    } else if (name.starts_with(kStagedPrefix) && st.st_mtim.tv_sec + kStaleAfter < std::time(nullptr)) {
      (void)::unlinkat(fd_.get(), name.c_str(), 0);
    }
    if (files.size() >= kMostFiles) break;
  }
  ::closedir(list);
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.name < b.name; });
  return files;
}

tl::expected<void, Diagnosis> Spool::keep(const PushTarget& target, const PushRequest& request) {
  if (auto opened = open(true); !opened) return opened;
  const auto failure = [this](const char* what) {
    return tl::unexpected(Diagnosis{{ErrorCode::io_error, errno, 0}, folder_, what});
  };
  const std::string bytes = encode_spool_entry(target, request);
  if (bytes.size() > std::min<std::uint64_t>(most_bytes_, most_spooled_bytes()))
    return tl::unexpected(Diagnosis{{ErrorCode::limit_exceeded, 0, bytes.size()}, folder_, "a profile is too large"});
  const std::string number = unique_number(), staged = fmt::format("{}{}", kStagedPrefix, number);
  const base::ScopedFd file(
      ::openat(fd_.get(), staged.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return failure("");
  const std::string name = fmt::format("{:020}-{}-{}{}", now_ns(), hash_of(target), number, kEnding);
  // Synced before it is renamed: after a power failure a file is whole or not there.
  if (!write_all(file.get(), bytes) || ::fdatasync(file.get()) != 0 ||
      ::renameat(fd_.get(), staged.c_str(), fd_.get(), name.c_str()) != 0) {
    auto error = failure("");
    (void)::unlinkat(fd_.get(), staged.c_str(), 0);
    return error;
  }
  make_room(name);
  return {};
}

void Spool::make_room(const std::string& newest) {
  const std::vector<File> all = files();
  std::uint64_t sum = 0;
  for (const File& file : all) sum += file.bytes;
  for (const File& file : all) {
    if (sum <= most_bytes_) break;
    if (file.name == newest || ::unlinkat(fd_.get(), file.name.c_str(), 0) != 0) continue;
    sum -= file.bytes;
    crowded_out_++;
  }
}

std::optional<SpooledRequest> Spool::oldest(const PushTarget& target) {
  if (!open(false)) return std::nullopt;
  const std::string hash = hash_of(target);
  for (const File& file : files()) {
    if (!is_of(file.name, hash)) continue;
    base::ScopedFd fd(::openat(fd_.get(), file.name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat st {
    }, named{};
    // Skipped: another program holds its lock and sends it, or has removed or replaced it meanwhile.
    if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode) ||
        ::fstatat(fd_.get(), file.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 || named.st_ino != st.st_ino)
      continue;
    const auto bytes = read_all(fd.get(), static_cast<std::uint64_t>(st.st_size));
    if (!bytes) continue;  // the device's fault (EIO), not the file's: another time it may be read
    auto entry = decode_spool_entry(*bytes);
    if (entry && entry->target == target) return SpooledRequest{std::move(entry->request), file.name, std::move(fd)};
    damaged_++;
    (void)::unlinkat(fd_.get(), file.name.c_str(), 0);
  }
  return std::nullopt;
}

void Spool::remove(const SpooledRequest& sent) {
  if (fd_) (void)::unlinkat(fd_.get(), sent.name.c_str(), 0);
}

std::uint64_t Spool::waiting(const PushTarget& target) {
  if (!open(false)) return 0;
  const std::string hash = hash_of(target);
  const auto all = files();
  return static_cast<std::uint64_t>(
      std::count_if(all.begin(), all.end(), [&hash](const File& file) { return is_of(file.name, hash); }));
}

}  // namespace mixstack::push
