#include "process/core/core_bytes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "engine/images/file_bytes.h"
#include "process/core/core_stream.h"
#include "process/core/sparse_spool.h"

namespace mixstack::process {
namespace {

Result<base::ScopedFd> open_input(const std::string& path) {
  base::ScopedFd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (fd) return fd;
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR) return fail(ErrorCode::not_found, 0, error);
  if (error == EACCES || error == EPERM) return fail(ErrorCode::permission_denied, 0, error);
  return fail(ErrorCode::io_error, 0, error);
}

/// A FIFO is opened before anybody writes to it, and until then reads as if it had ended. tee(2) copies nothing from it
/// and tells: 0 without a writer, EAGAIN while one has written nothing yet.
Result<void> wait_for_writer(int fifo, std::chrono::milliseconds most) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return fail(ErrorCode::io_error, 0, errno);
  const base::ScopedFd read_end(ends[0]), write_end(ends[1]);
  const auto deadline = std::chrono::steady_clock::now() + most;
  while (::tee(fifo, write_end.get(), 1, SPLICE_F_NONBLOCK) == 0) {
    pollfd wait{fifo, POLLIN, 0};
    if (::poll(&wait, 1, 0) > 0 && (wait.revents & POLLHUP) != 0) break;  // one came and went
    if (std::chrono::steady_clock::now() >= deadline) return fail(ErrorCode::io_error, 0, ETIMEDOUT);
    ::usleep(10'000);
  }
  return {};
}

std::string no_temporary_file(const std::string& folder, const Error& error) {
  return "a compressed or piped core is unpacked into a temporary file, and none could be made in " + folder + " (" +
         std::strerror(error.os_error) + "): set TMPDIR to a folder with room for the whole core";
}

std::string reason(const StreamOutcome& outcome, const std::string& folder) {
  const std::string stream = outcome.encoding == CoreEncoding::plain
                                 ? "the piped core"
                                 : std::string("the ") + name_of(outcome.encoding) + " stream";
  switch (outcome.end) {
    case CoreStreamEnd::whole:
      break;
    case CoreStreamEnd::cut_off:
      return stream + " ends early: the file was not written or copied to its end";
    case CoreStreamEnd::damaged:
      return stream + " is damaged (" + outcome.why +
             "), and what lies before that place may be wrong too: copy it again";
    case CoreStreamEnd::limit:
      if (outcome.is_bomb)
        return stream +
               " says next to nothing for its size, as no core does, and was read no further: if you trust it, unpack "
               "it "
               "with its own tool and pass the unpacked file";
      if (outcome.why.empty()) return stream + " expands beyond the limit: unpack it and pass the unpacked file";
      return stream + " needs more memory to unpack than allowed (" + outcome.why +
             "): unpack it with its own tool and pass the unpacked file";
    case CoreStreamEnd::disk_full:
      if (outcome.error.os_error == ENOSPC)
        return "no more room for " + stream + " in " + folder +
               " (some is always left free): set TMPDIR to a folder with room for the whole core";
      return stream + " could not be unpacked to " + folder + " (" + std::strerror(outcome.error.os_error) + ")";
    case CoreStreamEnd::read_error:
      return stream + " could not be read further (" + std::strerror(outcome.error.os_error) + ")";
  }
  return stream;
}

std::string early_end(const StreamOutcome& outcome, std::uint64_t size, const std::string& folder) {
  return reason(outcome, folder) + ". The first " + std::to_string(size) + " bytes of the core are used";
}

}  // namespace

const char* name_of(CoreEncoding encoding) {
  switch (encoding) {
    case CoreEncoding::plain:
      return "plain";
    case CoreEncoding::zstd:
      return "zstd";
    case CoreEncoding::gzip:
      return "gzip";
    case CoreEncoding::lz4:
      return "lz4";
    case CoreEncoding::xz:
      return "xz";
  }
  return "unknown";
}

CoreBytes::CoreBytes(base::ScopedFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

Result<std::unique_ptr<CoreBytes>> CoreBytes::open(const std::string& path) { return open(path, {}); }

Result<std::unique_ptr<CoreBytes>> CoreBytes::open(const std::string& path, const CoreBytesOptions& options) {
  auto fd = open_input(path);
  if (!fd) return fail(fd.error());
  struct stat st {};
  if (path != "-" && ::fstat(fd->get(), &st) == 0 && S_ISFIFO(st.st_mode))
    if (auto waited = wait_for_writer(fd->get(), options.writer_wait); !waited) return fail(waited.error());
  return from_fd(std::move(*fd), path, options);
}

Result<std::unique_ptr<CoreBytes>> CoreBytes::from_fd(base::ScopedFd fd, std::string path,
                                                      const CoreBytesOptions& options) {
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return fail(ErrorCode::io_error, 0, errno);
  const bool regular = S_ISREG(st.st_mode);
  if (!regular && !S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)) return fail(ErrorCode::unsupported);
  std::unique_ptr<CoreBytes> core(new CoreBytes(std::move(fd), std::move(path)));
  if (regular && encoding_of_file(core->fd_.get()) == CoreEncoding::plain) {
    core->size_ = static_cast<std::uint64_t>(st.st_size);
  } else {
    core->spool(options);
    if (core->size_ == 0 && core->diagnosis_) return fail(core->diagnosis_->error);
  }
  return core;
}

void CoreBytes::spool(const CoreBytesOptions& options) {
  const auto input = std::move(fd_);
  const std::string folder = temporary_folder(options.temporary_folder);
  auto spool = SparseSpool::create(folder, {options.max_size, options.keep_free});
  if (!spool) {
    encoding_ = encoding_of_file(input.get());
    stream_end_ = CoreStreamEnd::disk_full;
    diagnosis_ = Diagnosis{
        {ErrorCode::limit_exceeded, spool.error().os_error, 0}, path_, no_temporary_file(folder, spool.error())};
    return;
  }
  const auto outcome = spool_stream(input.get(), *spool, {options.sparse_size, options.most_expansion});
  size_ = spool->size();
  fd_ = spool->take();
  encoding_ = outcome.encoding;
  stream_end_ = outcome.end;
  if (truncated()) diagnosis_ = Diagnosis{outcome.error, path_, early_end(outcome, size_, folder)};
}

Result<std::size_t> CoreBytes::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return 0;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
  std::size_t done = 0;
  while (done < wanted) {
    const auto n = ::pread(fd_.get(), out.data() + done, wanted - done, static_cast<off_t>(origin_ + offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ErrorCode::io_error, offset + done, errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Result<std::unique_ptr<CoreBytes>> CoreBytes::part(std::uint64_t offset, std::uint64_t size, std::string name) const {
  base::ScopedFd fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd) return fail(ErrorCode::io_error, 0, errno);
  std::unique_ptr<CoreBytes> inside(new CoreBytes(std::move(fd), std::move(name)));
  offset = std::min(offset, size_);
  inside->origin_ = origin_ + offset;
  inside->size_ = std::min(size, size_ - offset);
  inside->encoding_ = encoding_;
  inside->stream_end_ = stream_end_;
  inside->diagnosis_ = diagnosis_;
  return inside;
}

void CoreBytes::tell_cut_off(Diagnosis why) {
  if (stream_end_ != CoreStreamEnd::whole) return;
  stream_end_ = CoreStreamEnd::cut_off;
  diagnosis_ = std::move(why);
}

Result<std::shared_ptr<const FileBytes>> CoreBytes::file_inside(std::uint64_t offset, std::uint64_t size) const {
  if (offset > size_ || size_ - offset < size) return fail(ErrorCode::truncated, size_);
  base::ScopedFd fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd) return fail(ErrorCode::io_error, 0, errno);
  return images::file_bytes_inside(std::move(fd), origin_ + offset, size);
}

}  // namespace mixstack::process
