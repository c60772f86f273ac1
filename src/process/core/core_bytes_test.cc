#include "process/core/core_bytes.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "process/core/core_samples.h"

namespace mixstack::process {
namespace {

using test::all_of;
using test::Bytes;

TEST(CoreBytes, ReadsAPlainFileWhereverAsked) {
  const test::TemporaryFolder folder;
  const Bytes content = test::core_like(100'001);
  const auto core = CoreBytes::open(folder.write("core.zst", content));
  ASSERT_TRUE(core);
  EXPECT_EQ((*core)->size(), content.size());
  EXPECT_FALSE((*core)->decompressed());
  EXPECT_FALSE((*core)->truncated());
  EXPECT_EQ((*core)->path(), folder.file("core.zst"));
  EXPECT_EQ(all_of(**core), content);
  Bytes part(100);
  EXPECT_EQ((*core)->read_at(content.size() - 7, part), 7u);
  EXPECT_TRUE(std::equal(content.end() - 7, content.end(), part.begin()));
  EXPECT_EQ((*core)->read_at(content.size(), part), 0u);
  EXPECT_EQ((*core)->read_at(~std::uint64_t{0}, part), 0u);
  EXPECT_EQ((*core)->read_at(0, {}), 0u);
}

TEST(CoreBytes, AFileThatShrinksIsAShortRead) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("core", Bytes(100'000, std::byte{1}));
  const auto core = CoreBytes::open(path);
  ASSERT_TRUE(core);
  ASSERT_EQ(::truncate(path.c_str(), 10'000), 0);
  Bytes out(100'000);
  EXPECT_EQ((*core)->read_at(0, out), 10'000u);
  EXPECT_EQ((*core)->read_at(50'000, out), 0u);
}

TEST(CoreBytes, SaysWhyNothingCanBeOpened) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(CoreBytes::open(folder.file("none")).error().code, ErrorCode::not_found);
  EXPECT_EQ(CoreBytes::open(folder.write("file", {}) + "/x").error().code, ErrorCode::not_found);
  EXPECT_EQ(CoreBytes::open(folder.path()).error().code, ErrorCode::unsupported);
  EXPECT_EQ(CoreBytes::open("/dev/zero").error().code, ErrorCode::unsupported);
  const auto empty = CoreBytes::open(folder.file("file"));
  ASSERT_TRUE(empty);
  EXPECT_EQ((*empty)->size(), 0u);
}

TEST(CoreBytes, ManyThreadsReadAtOnce) {
  const test::TemporaryFolder folder;
  const Bytes content = test::core_like(1 << 20);
  const auto core = CoreBytes::open(folder.write("core", test::compressed(folder, "zstd -q -c", content)));
  ASSERT_TRUE(core);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      Bytes out(777);
      for (std::size_t at = t * 1000; at + out.size() <= content.size(); at += 4001) {
        EXPECT_EQ((*core)->read_at(at, out), out.size());
        EXPECT_TRUE(std::equal(out.begin(), out.end(), content.begin() + static_cast<std::ptrdiff_t>(at)));
      }
    });
  for (auto& t : threads) t.join();
}

TEST(CoreBytes, UnpacksWhatEachToolWritesUnderAnyName) {
  const test::TemporaryFolder folder;
  const Bytes content = test::core_like(3'000'001);
  for (const auto& tool : test::kTools) {
    SCOPED_TRACE(tool.compress);
    const auto core = CoreBytes::open(folder.write("core.1234", test::compressed(folder, tool.compress, content)));
    ASSERT_TRUE(core);
    EXPECT_EQ((*core)->encoding(), tool.encoding);
    EXPECT_FALSE((*core)->truncated());
    EXPECT_FALSE((*core)->diagnosis());
    EXPECT_EQ(all_of(**core), content);
  }
}

TEST(CoreBytes, LeavesNothingInTheTemporaryFolder) {
  const test::TemporaryFolder folder, temporary;
  CoreBytesOptions options;
  options.temporary_folder = temporary.path();
  const Bytes content = test::core_like(300'000);
  const auto core = CoreBytes::open(folder.write("c", test::compressed(folder, "gzip -c", content)), options);
  ASSERT_TRUE(core);
  EXPECT_EQ(all_of(**core), content);
  EXPECT_TRUE(std::filesystem::is_empty(temporary.path()));
}

TEST(CoreBytes, WithoutATemporaryFileAPackedCoreCannotBeRead) {
  const test::TemporaryFolder folder;
  CoreBytesOptions options;
  options.temporary_folder = folder.file("none");
  const Bytes content = test::core_like(1000);
  const auto packed = CoreBytes::open(folder.write("c", test::compressed(folder, "gzip -c", content)), options);
  ASSERT_FALSE(packed);
  EXPECT_EQ(packed.error(), (Error{ErrorCode::limit_exceeded, ENOENT, 0}));
  EXPECT_TRUE(CoreBytes::open(folder.write("c", content), options));
}

TEST(CoreBytes, StopsBeforeTheDiskIsFull) {
  const test::TemporaryFolder folder;
  Bytes content = test::core_like(3'000'000);
  CoreBytesOptions options;
  options.keep_free = ~std::uint64_t{0};
  const auto none = CoreBytes::open(folder.write("c", test::compressed(folder, "lz4 -q -c", content)), options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), (Error{ErrorCode::limit_exceeded, ENOSPC, 0}));
  // Zeros need no room.
  std::fill(content.begin(), content.begin() + 1'000'000, std::byte{0});
  const auto some = CoreBytes::open(folder.write("c", test::compressed(folder, "lz4 -q -c", content)), options);
  ASSERT_TRUE(some);
  EXPECT_EQ((*some)->stream_end(), CoreStreamEnd::disk_full);
  EXPECT_GE((*some)->size(), 900'000u);
  EXPECT_LE((*some)->size(), 1'000'000u);
  ASSERT_TRUE((*some)->diagnosis());
  EXPECT_EQ((*some)->diagnosis()->subject, folder.file("c"));
  EXPECT_NE((*some)->diagnosis()->text.find("set TMPDIR"), std::string::npos);
}

int size_below_file_limit(const std::string& path) {
  const rlimit limit{100'000, 100'000};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  const auto core = CoreBytes::open(path);
  if (!core || (*core)->size() != 100'000) return 2;
  return (*core)->stream_end() == CoreStreamEnd::limit ? 0 : 3;
}

TEST(CoreBytes, AFileSizeLimitIsALimitAndNoSignal) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("c", test::compressed(folder, "zstd -q -c", test::core_like(3'000'000)));
  EXPECT_EXIT(std::_Exit(size_below_file_limit(path)), testing::ExitedWithCode(0), "");
}

// ---- pipes ----

TEST(CoreBytes, AFifoThatNobodyWritesToIsSaidSo) {
  char name[] = "/tmp/mixstack-fifo-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const std::string fifo = std::string(name) + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  CoreBytesOptions options;
  options.writer_wait = std::chrono::milliseconds(30);
  const auto core = CoreBytes::open(fifo, options);
  ASSERT_FALSE(core);
  EXPECT_EQ(core.error(), (Error{ErrorCode::io_error, ETIMEDOUT, 0}));
  ::unlink(fifo.c_str());
  ::rmdir(name);
}

TEST(CoreBytes, TakesACoreFromAFifo) {
  const test::TemporaryFolder folder;
  const Bytes content = test::core_like(2'000'003);
  const auto packed = folder.write("packed", test::compressed(folder, "zstd -q -c", content));
  for (const std::string command : {"zstd -dcq ", "cat "}) {
    const auto fifo = folder.file("fifo");
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::thread writer([&] { EXPECT_EQ(std::system((command + packed + " > " + fifo).c_str()), 0); });
    const auto core = CoreBytes::open(fifo);
    writer.join();
    ASSERT_TRUE(core);
    EXPECT_EQ((*core)->encoding(), command == "cat " ? CoreEncoding::zstd : CoreEncoding::plain);
    EXPECT_FALSE((*core)->truncated());
    EXPECT_EQ(all_of(**core), content);
    ::unlink(fifo.c_str());
  }
}

int compare_standard_input(const Bytes& content) {
  const auto core = CoreBytes::open("-");
  return core && all_of(**core) == content && (*core)->path() == "-" ? 0 : 1;
}

TEST(CoreBytes, TakesACoreFromStandardInput) {
  const test::TemporaryFolder folder;
  const Bytes content = test::core_like(500'000);
  const auto path = folder.write("core", content);
  const auto from_pipe = [&] {
    std::FILE* pipe = ::popen(("cat " + path).c_str(), "r");
    ::dup2(::fileno(pipe), STDIN_FILENO);
    std::_Exit(compare_standard_input(content));
  };
  EXPECT_EXIT(from_pipe(), testing::ExitedWithCode(0), "");
  const auto from_file = [&] {
    const int fd = ::open(path.c_str(), O_RDONLY);
    ::lseek(fd, 1000, SEEK_SET);
    ::dup2(fd, STDIN_FILENO);
    std::_Exit(compare_standard_input(content));
  };
  EXPECT_EXIT(from_file(), testing::ExitedWithCode(0), "");
}

TEST(CoreBytes, WaitsForTheOtherEndOfANonBlockingSocket) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  ASSERT_EQ(::fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  std::thread writer([fd = ends[1]] {
    for (int i = 0; i < 5; i++) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_EQ(::write(fd, "core", 4), 4);
    }
    ::close(fd);
  });
  const auto core = CoreBytes::from_fd(base::ScopedFd(ends[0]), "socket", {});
  writer.join();
  ASSERT_TRUE(core);
  EXPECT_EQ((*core)->size(), 20u);
  EXPECT_FALSE((*core)->truncated());
}

}  // namespace
}  // namespace mixstack::process
