#include "process/core/core_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/system/number.h"
#include "process/core/core_stream.h"
#include "process/core/sparse_spool.h"
#include "process/kernel/child_process.h"

namespace mixstack::process {
namespace {

using Found = tl::expected<StoredCore, Diagnosis>;

constexpr std::size_t kCommLength = 15;        // TASK_COMM_LEN without its NUL, linux/sched.h
constexpr std::size_t kBootIdLength = 32;      // hexadecimal digits
constexpr std::size_t kMostFiles = 1'000'000;  // of the folder that are looked at
constexpr std::string_view kPassIt = "pass the core file itself with --core";

tl::unexpected<Diagnosis> refuse(ErrorCode code, const std::string& subject, std::string text, int os_error = 0) {
  return tl::unexpected<Diagnosis>(Diagnosis{{code, os_error, 0}, subject, std::move(text)});
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The comm of a process, from the name that the user gave.
std::string comm_of(const std::string& name) {
  const auto slash = name.rfind('/');
  return name.substr(slash == std::string::npos ? 0 : slash + 1).substr(0, kCommLength);
}

/// The argument for coredumpctl: a number, a comm, or an absolute path. Journal matches (FIELD=VALUE) stay as they are.
std::string match_of(const std::string& given) {
  return given.find_first_of("/=") == std::string::npos ? given.substr(0, kCommLength) : given;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string without_full_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// ---- the folder ----

/// core.COMM.UID.BOOTID.PID.TIME, with .zst, .lz4 or .xz where compressed; TIME in microseconds since 1970.
struct StoredName {
  std::string_view comm;
  std::string_view pid;
  std::uint64_t time = 0;
};

std::optional<StoredName> parse_stored_name(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= name.size() && parts.size() < 8;) {
    const auto dot = std::min(name.find('.', at), name.size());
    parts.push_back(name.substr(at, dot - at));
    at = dot + 1;
  }
  if (parts.size() < 6 || parts.size() > 7 || parts[0] != "core" || parts[3].size() != kBootIdLength)
    return std::nullopt;
  if (parts.size() == 7 && parts[6] != "zst" && parts[6] != "lz4" && parts[6] != "xz") return std::nullopt;
  const auto time = base::number<decltype(StoredName::time)>(parts[5]);
  if (!time) return std::nullopt;
  return StoredName{parts[1], parts[4], *time};
}

struct FolderAnswer {
  std::string newest;  ///< a file's name, or empty
  int error = 0;       ///< why the folder cannot be read
};

FolderAnswer newest_in_folder(const std::string& given, const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  if (!dir) return {{}, errno};
  const std::string comm = escape_stored_name(comm_of(given));
  FolderAnswer answer;
  std::uint64_t newest = 0;
  for (std::size_t i = 0; i < kMostFiles; i++) {
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const auto stored = parse_stored_name(entry->d_name);
    if (!stored || (is_number(given) ? stored->pid != given : stored->comm != comm)) continue;
    if (!answer.newest.empty() && stored->time <= newest) continue;
    newest = stored->time;
    answer.newest = entry->d_name;
  }
  return answer;
}

// ---- what was found ----

Found readable(const std::string& given, const std::string& path) {
  if (::access(path.c_str(), R_OK) == 0) return StoredCore{path, {}};
  const int error = errno;
  if (error == ENOENT)
    return refuse(ErrorCode::not_found, given,
                  path + " is no longer there: systemd removes old cores (MaxUse= and KeepFree= in coredump.conf(5))",
                  error);
  if (error == EACCES || error == EPERM)
    return refuse(ErrorCode::permission_denied, given, path + " belongs to another user: run as root or as that user",
                  error);
  return refuse(ErrorCode::io_error, given, path + " cannot be read (" + std::strerror(error) + ")", error);
}

std::string seconds_of(std::chrono::milliseconds time) { return std::to_string(time.count() / 1000) + " s"; }

/// Copies a core out of the journal; coredumpctl writes nothing if it holds none.
Found copied_from_journal(const std::string& program, const std::string& given, const CoreStoreOptions& options) {
  const std::string folder = temporary_folder(options.bytes.temporary_folder);
  auto spool = SparseSpool::create(folder, {options.bytes.max_size, options.bytes.keep_free});
  if (!spool)
    return refuse(spool.error().code, given,
                  "no temporary file in " + folder + " for a core out of the journal: set TMPDIR to another folder",
                  spool.error().os_error);
  auto child =
      ChildProcess::start(program, {"--no-pager", "--quiet", "--", "dump", match_of(given)}, ChildErrors::drop);
  if (!child)
    return refuse(child.error().error.code, given, program + ": " + child.error().text + ": " + std::string(kPassIt),
                  child.error().error.os_error);
  const auto outcome = spool_stream(child->out(), *spool, {}, options.timeout);
  if (outcome.end == CoreStreamEnd::disk_full || outcome.end == CoreStreamEnd::limit)
    return refuse(outcome.error.code, given,
                  "no room in " + folder + " for the core out of the journal: set TMPDIR to another folder",
                  outcome.error.os_error);
  if (outcome.end == CoreStreamEnd::read_error && outcome.error.os_error == ETIMEDOUT)
    return refuse(ErrorCode::io_error, given,
                  "coredumpctl gave nothing more of the core out of the journal within " + seconds_of(options.timeout) +
                      ": " + std::string(kPassIt),
                  ETIMEDOUT);
  const auto said = child->finish(options.timeout);
  if (spool->size() == 0 || !said.succeeded)
    return refuse(
        ErrorCode::not_found, given,
        "systemd knows the crash but holds no core of it: see Storage=, ProcessSizeMax= and ExternalSizeMax= in "
        "coredump.conf(5), and the limits of the service (LimitCORE=)");
  StoredCore core{{}, spool->take()};
  core.path = "/proc/self/fd/" + std::to_string(core.held.get());
  return core;
}

/// Nothing if coredumpctl cannot be asked, or knows no such crash.
std::optional<Found> ask_coredumpctl(const std::string& program, const std::string& given,
                                     const CoreStoreOptions& options, std::string& said) {
  // The value of a journal field, which is stable; the forms for people and --json hold no file name.
  auto child = ChildProcess::start(
      program, {"--no-pager", "--quiet", "-1", "--field=COREDUMP_FILENAME", "--", "list", match_of(given)});
  if (!child) {
    const Diagnosis& d = child.error();
    said = d.error.os_error != 0 ? std::strerror(d.error.os_error) : d.subject + ": " + d.text;
    return std::nullopt;
  }
  const auto answer = child->finish(options.timeout);
  if (answer.timed_out) {
    said = "no answer within " + seconds_of(options.timeout);
    return std::nullopt;
  }
  said = first_line(answer.err);
  if (!answer.succeeded) return std::nullopt;
  const std::string path = first_line(answer.out);
  if (!path.empty() && path[0] == '/') return readable(given, path);
  return copied_from_journal(program, given, options);
}

std::string nothing_found(const std::string& given, const std::string& program, const std::string& said,
                          const CoreStoreOptions& options, const FolderAnswer& folder) {
  const std::string what = is_number(given) ? "process " + given : "\"" + given + "\"";
  std::string text = "no core of " + what + " is stored: ";
  if (program.empty()) {
    text += "coredumpctl is not installed, and " + options.folder +
            (folder.error == 0 ? " holds none" : std::string(" cannot be read (") + std::strerror(folder.error) + ")") +
            "; install systemd-coredump before the next crash, or ";
    return text + std::string(kPassIt);
  }
  text += "coredumpctl " + (said.empty() ? "knows none" : "says: " + without_full_stop(said));
  return text + "; `coredumpctl list` shows those you may see (all of them as root), or " + std::string(kPassIt);
}

}  // namespace

std::string escape_stored_name(const std::string& name) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 127 && c != '.' && c != '/' && c != '\\') {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

tl::expected<StoredCore, Diagnosis> find_stored_core(const std::string& pid_or_name, const CoreStoreOptions& options) {
  if (pid_or_name.empty())
    return refuse(ErrorCode::invalid_argument, pid_or_name, "a process number or name is needed");
  const std::string program = find_program("coredumpctl", options.search_path);
  std::string said;
  if (!program.empty())
    if (auto found = ask_coredumpctl(program, pid_or_name, options, said)) return std::move(*found);
  const auto folder = newest_in_folder(pid_or_name, options.folder);
  if (!folder.newest.empty()) return readable(pid_or_name, options.folder + "/" + folder.newest);
  return refuse(ErrorCode::not_found, pid_or_name, nothing_found(pid_or_name, program, said, options, folder));
}

}  // namespace mixstack::process
