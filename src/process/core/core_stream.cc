#include "process/core/core_stream.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "process/core/stream_decoder.h"

namespace mixstack::process {
namespace {

constexpr std::size_t kInputBuffer = 256 << 10;
constexpr unsigned kMostLeadingFrames = 1024;  // skippable ones; a tool writes one or two

/// A window over the input that can be looked at before it is consumed.
class Input {
 public:
  Input(int fd, std::optional<std::chrono::milliseconds> patience)
      : fd_(fd),
        patience_(patience ? static_cast<int>(std::clamp<std::int64_t>(patience->count(), 0, 1 << 30)) : -1),
        buffer_(kInputBuffer) {
    struct stat st {};
    seekable_ = ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(buffer_).subspan(begin_, end_ - begin_); }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] std::uint64_t consumed() const { return read_ - bytes().size(); }
  void consume(std::size_t n) { begin_ += n; }

  /// Reads more; false at the end of the input, after an error, and when the window is full.
  bool fill() {
    if (ended_) return false;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == buffer_.size()) return false;
    const auto n = read_some(std::span(buffer_).subspan(end_));
    if (n <= 0) {
      ended_ = true;
      return false;
    }
    end_ += static_cast<std::size_t>(n);
    read_ += static_cast<std::uint64_t>(n);
    return true;
  }
  /// The next `n` bytes, fewer only where the input ends.
  std::span<const std::byte> peek(std::size_t n) {
    while (bytes().size() < n && fill()) {
    }
    return bytes().first(std::min(n, bytes().size()));
  }
  /// False when the input ends before.
  bool skip(std::uint64_t n) {
    while (n > 0) {
      if (bytes().empty() && !fill()) return false;
      const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(n, bytes().size()));
      consume(step);
      n -= step;
    }
    return true;
  }

 private:
  ssize_t read_some(std::span<std::byte> out) {
    while (true) {
      if (patience_ >= 0 && !seekable_) {
        pollfd wait{fd_, POLLIN, 0};
        const int ready = ::poll(&wait, 1, patience_);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) errno = ETIMEDOUT;
        if (ready <= 0) break;
      }
      // A regular file is read by offset: standard input may be shared with others, or stand elsewhere.
      const auto n = seekable_ ? ::pread(fd_, out.data(), out.size(), static_cast<off_t>(read_))
                               : ::read(fd_, out.data(), out.size());
      if (n >= 0) return n;
      if (errno == EINTR) continue;
      if (errno != EAGAIN) break;
      pollfd wait{fd_, POLLIN, 0};  // another holder of it made it non-blocking
      if (::poll(&wait, 1, -1) < 0 && errno != EINTR) break;
    }
    error_ = errno;
    return -1;
  }

  int fd_;
  int patience_ = -1;  ///< milliseconds, as poll takes them
  bool seekable_ = false;
  bool ended_ = false;
  int error_ = 0;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t read_ = 0;
};

class StreamReader {
 public:
  StreamReader(int fd, SparseSpool& spool, const ExpansionLimit& limit,
               std::optional<std::chrono::milliseconds> patience)
      : input_(fd, patience), spool_(spool), limit_(limit) {}
  StreamOutcome run() {
    skip_between_frames(true);
    out_.encoding = encoding_of(input_.peek(kMagicSize));
    decoder_ = make_decoder(out_.encoding);
    if (!decoder_) {
      stop(CoreStreamEnd::limit, ErrorCode::limit_exceeded, "no memory for the decoder");
    } else if (out_.encoding == CoreEncoding::plain) {
      while (step()) {
      }
    } else {
      while (next_frame())
        while (step()) {
        }
    }
    if (const auto error = spool_.finish(); error && out_.end == CoreStreamEnd::whole) stop_full(*error);
    out_.input_read = input_.consumed();
    return std::move(out_);
  }

 private:
  void stop(CoreStreamEnd end, ErrorCode code, const char* why) {
    out_.end = end;
    out_.error = {code, 0, spool_.size()};
    out_.why = why;
    done_ = true;
  }
  void stop_full(const Error& error) {
    stop(CoreStreamEnd::disk_full, ErrorCode::limit_exceeded, "");
    out_.error.os_error = error.os_error;
  }
  void stop_at_end_of_input() {
    stop(CoreStreamEnd::cut_off, ErrorCode::truncated, "");
    if (input_.error() == 0) return;
    out_.end = CoreStreamEnd::read_error;
    out_.error = {ErrorCode::io_error, input_.error(), spool_.size()};
  }

  /// Skips skippable frames, which pzstd and others write, and zero padding; no padding before the first frame, since a
  /// core from a pipe may begin with any bytes.
  void skip_between_frames(bool first) {
    for (unsigned leading = 0; !first || leading < kMostLeadingFrames; leading++) {
      if (const auto size = skippable_frame(input_.peek(kMagicSize))) {
        if (!input_.skip(*size)) return stop_at_end_of_input();
      } else if (!first && !input_.peek(1).empty() && input_.peek(1)[0] == std::byte{0}) {
        input_.consume(1);
      } else {
        return;
      }
    }
  }

  /// Whether another frame begins here.
  bool next_frame() {
    if (done_) return false;
    if (frames_++ == 0) return true;
    skip_between_frames(false);
    const auto magic = input_.peek(kMagicSize);
    if (done_) return false;
    if (magic.empty()) {
      if (input_.error() != 0) stop_at_end_of_input();
      return false;
    }
    if (encoding_of(magic) != out_.encoding) {
      stop(CoreStreamEnd::damaged, ErrorCode::malformed, "other data follows a frame");
    } else if (!decoder_->restart()) {
      stop(CoreStreamEnd::limit, ErrorCode::limit_exceeded, "no memory for the decoder");
    }
    return !done_;
  }

  /// One piece of a frame; false at its end.
  bool step() {
    std::array<std::byte, 64> beyond;  // when the limit is reached: does anything follow at all?
    const auto room = spool_.room();
    const auto done = decoder_->decode(input_.bytes(), room.empty() ? beyond : room);
    input_.consume(done.consumed);
    if (room.empty() && done.produced > 0) {
      stop(CoreStreamEnd::limit, ErrorCode::limit_exceeded, "");
    } else if (!room.empty() && done.produced > 0) {
      if (const auto error = spool_.advance(done.produced)) stop_full(*error);
      if (!done_ && expands_beyond_reason()) {
        stop(CoreStreamEnd::limit, ErrorCode::limit_exceeded, "");
        out_.is_bomb = true;
      }
    }
    if (done_) return false;
    if (done.state == DecodeState::damaged) stop(CoreStreamEnd::damaged, ErrorCode::malformed, done.why);
    if (done.state == DecodeState::too_large) stop(CoreStreamEnd::limit, ErrorCode::limit_exceeded, done.why);
    if (done.state != DecodeState::more) return false;
    if (done.consumed > 0 || done.produced > 0 || input_.fill()) return true;
    end_inside_frame();
    return false;
  }

  [[nodiscard]] bool expands_beyond_reason() const {
    return spool_.size() > limit_.free && spool_.size() / limit_.times > input_.consumed();
  }

  void end_inside_frame() {
    if (!input_.ended()) {
      stop(CoreStreamEnd::damaged, ErrorCode::malformed, "the decoder does not go on");
    } else if (out_.encoding != CoreEncoding::plain || input_.error() != 0) {
      stop_at_end_of_input();
    }
  }

  Input input_;
  SparseSpool& spool_;
  ExpansionLimit limit_;
  StreamOutcome out_;
  std::unique_ptr<StreamDecoder> decoder_;
  std::uint64_t frames_ = 0;
  bool done_ = false;
};

}  // namespace

CoreEncoding encoding_of_file(int fd) {
  std::uint64_t at = 0;
  for (unsigned i = 0; i < kMostLeadingFrames; i++) {
    std::array<std::byte, kMagicSize> first{};
    const auto n = ::pread(fd, first.data(), first.size(), static_cast<off_t>(at));
    if (n <= 0) break;
    const auto bytes = std::span<const std::byte>(first).first(static_cast<std::size_t>(n));
    const auto skipped = skippable_frame(bytes);
    if (!skipped) return encoding_of(bytes);
    at += *skipped;
  }
  return CoreEncoding::plain;
}

StreamOutcome spool_stream(int fd, SparseSpool& spool, const ExpansionLimit& limit,
                           std::optional<std::chrono::milliseconds> patience) {
  return StreamReader(fd, spool, limit, patience).run();
}

}  // namespace mixstack::process
