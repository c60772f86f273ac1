#include "output/files/fd_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/system/scoped_fd.h"
#include "output/files/end_signals.h"

namespace mixstack::files {
namespace {

struct Pipe {
  base::ScopedFd read, write;
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read = base::ScopedFd(ends[0]);
    write = base::ScopedFd(ends[1]);
  }
};

TEST(FdOutput, ASignalThatIsHeldBackEndsTheWaitForAReader) {
  const Pipe pipe;
  const auto room = static_cast<std::size_t>(::fcntl(pipe.write.get(), F_GETPIPE_SZ));
  FdOutput out(pipe.write.get(), OutputWait::until_signal);
  {
    const EndSignals signals;
    ASSERT_EQ(::raise(SIGTERM), 0);
    EXPECT_TRUE(has_end_signal());
    out.write(std::string(room, 'x'));
    EXPECT_EQ(out.error(), 0) << "there is room, whatever has come";
    out.write("more");
    EXPECT_EQ(out.error(), EINTR);
    EXPECT_EQ(out.written(), room);
  }
  EXPECT_FALSE(has_end_signal()) << "we would have ended";
  out.write("and more");
  EXPECT_EQ(out.written(), room);
}

TEST(FdOutput, AReaderThatHasGoneIsAFault) {
  Pipe pipe;
  ::signal(SIGPIPE, SIG_IGN);
  pipe.read = base::ScopedFd();
  FdOutput out(pipe.write.get(), OutputWait::until_signal);
  out.write("x");
  EXPECT_EQ(out.error(), EPIPE);
  ::signal(SIGPIPE, SIG_DFL);
}

}  // namespace
}  // namespace mixstack::files
