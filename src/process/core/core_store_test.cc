#include "process/core/core_store.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "process/core/core_samples.h"
#include "process/kernel/child_process.h"

namespace mixstack::process {
namespace {

using namespace std::chrono_literals;
using test::all_of;
using test::Bytes;

/// A folder that is both the PATH, with a coredumpctl of our own in it, and systemd's store.
class Store {
 public:
  void coredumpctl(const std::string& script) {
    std::ofstream(folder_.file("coredumpctl")) << "#!/bin/sh\necho \"$@\" >> " << folder_.file("asked") << "\n"
                                               << script << "\n";
    ::chmod(folder_.file("coredumpctl").c_str(), 0700);
    options_.search_path = "/none::.:" + folder_.path();
  }
  std::string add(const std::string& name, const std::string& content = "core") {
    std::ofstream(folder_.file(name)) << content;
    return folder_.file(name);
  }
  [[nodiscard]] auto find(const std::string& what) {
    options_.folder = folder_.path();
    return find_stored_core(what, options_);
  }
  [[nodiscard]] std::string asked() const {
    const auto bytes = test::read_file(folder_.file("asked"));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] std::string folder() const { return folder_.path(); }
  CoreStoreOptions& options() { return options_; }

 private:
  test::TemporaryFolder folder_{std::filesystem::current_path()};  // programs are run from no folder like /tmp
  CoreStoreOptions options_;
};

bool says(const Diagnosis& d, const std::string& words) { return d.text.find(words) != std::string::npos; }

constexpr const char* kBoot = "1827be70bda44e3b9598c4aaf5ac32bc";

std::string stored_name(const std::string& comm, const std::string& pid, const std::string& time) {
  return "core." + comm + ".1000." + kBoot + "." + pid + "." + time;
}

// ---- coredumpctl ----

TEST(CoreStore, AsksCoredumpctlForTheNewestFile) {
  Store store;
  const auto path = store.add("somewhere");
  store.coredumpctl("echo " + path);
  const auto found = store.find("dotnet");
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->path, path);
  EXPECT_EQ(store.asked(), "--no-pager --quiet -1 --field=COREDUMP_FILENAME -- list dotnet\n");
}

TEST(CoreStore, GivesCoredumpctlWhatACommCanHoldAndNoOption) {
  Store store;
  store.coredumpctl("exit 1");
  EXPECT_FALSE(store.find("a-very-long-program-name"));
  EXPECT_FALSE(store.find("/usr/bin/a-very-long-program-name"));
  EXPECT_FALSE(store.find("--help"));
  EXPECT_EQ(store.asked(),
            "--no-pager --quiet -1 --field=COREDUMP_FILENAME -- list a-very-long-pro\n"
            "--no-pager --quiet -1 --field=COREDUMP_FILENAME -- list /usr/bin/a-very-long-program-name\n"
            "--no-pager --quiet -1 --field=COREDUMP_FILENAME -- list --help\n");
}

TEST(CoreStore, SaysThatTheFileIsGoneOrOfAnotherUser) {
  Store store;
  store.coredumpctl("echo /var/lib/systemd/coredump/gone");
  const auto gone = store.find("4711");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().error.code, ErrorCode::not_found);
  EXPECT_TRUE(says(gone.error(), "no longer there")) << gone.error().text;
  if (::geteuid() == 0) return;  // root may read everything
  const auto path = store.add("secret");
  ::chmod(path.c_str(), 0);
  store.coredumpctl("echo " + path);
  EXPECT_EQ(store.find("4711").error().error.code, ErrorCode::permission_denied);
}

TEST(CoreStore, CopiesACoreOutOfTheJournal) {
  Store store;
  // It prints more about the crash than a pipe holds.
  store.coredumpctl("case \"$*\" in *dump*) head -c 300000 /dev/zero >&2; printf 'ELF core';; esac");
  const auto found = store.find("4711");
  ASSERT_TRUE(found) << found.error().text;
  const auto core = CoreBytes::open(found->path);
  ASSERT_TRUE(core);
  const Bytes bytes = all_of(**core);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "ELF core");
  EXPECT_NE(store.asked().find("-- dump 4711\n"), std::string::npos);
}

TEST(CoreStore, ACrashWithoutACoreIsSaid) {
  Store store;
  store.coredumpctl("case \"$*\" in *dump*) echo 'no core attached' >&2; exit 1;; esac");
  const auto found = store.find("4711");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().error.code, ErrorCode::not_found);
  EXPECT_TRUE(says(found.error(), "coredump.conf")) << found.error().text;
}

TEST(CoreStore, AHalfCoreOutOfTheJournalIsNotUsed) {
  Store store;
  store.coredumpctl("case \"$*\" in *dump*) printf 'ELF co'; exit 1;; esac");
  EXPECT_FALSE(store.find("4711"));
}

TEST(CoreStore, RepeatsWhatCoredumpctlSays) {
  Store store;
  store.coredumpctl("echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1");
  const auto found = store.find("dotnet");
  ASSERT_FALSE(found);
  EXPECT_TRUE(says(found.error(), "insufficient permissions")) << found.error().text;
  EXPECT_TRUE(says(found.error(), "--core"));
}

TEST(CoreStore, DoesNotWaitForeverForCoredumpctl) {
  Store store;
  store.coredumpctl("exec sleep 1000");
  store.options().timeout = 300ms;
  const auto start = std::chrono::steady_clock::now();
  const auto found = store.find("dotnet");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  ASSERT_FALSE(found);
  EXPECT_TRUE(says(found.error(), "no answer within")) << found.error().text;
}

TEST(CoreStore, DoesNotWaitForeverForACoreOutOfTheJournal) {
  Store store;
  store.coredumpctl("case \"$*\" in *dump*) printf 'ELF co'; exec sleep 60;; esac");
  store.options().timeout = 1s;
  const auto start = std::chrono::steady_clock::now();
  const auto found = store.find("4711");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().error.os_error, ETIMEDOUT);
}

// ---- the folder ----

TEST(CoreStore, WithoutCoredumpctlReadsTheFolder) {
  Store store;
  store.add(stored_name("dotnet", "100", "1717652311000000") + ".zst");
  const auto newest = store.add(stored_name("dotnet", "99", "1717652312000000") + ".lz4");
  store.add(stored_name("dotnet", "100", "171765231100000"));
  store.add(stored_name("dotnet.x", "100", "9999999999999999"));
  store.add(stored_name("dotnet", "100", "9999999999999999") + ".tmp");
  store.add(".#" + stored_name("dotnet", "100", "9999999999999999"));
  store.add("core.dotnet.100");
  const auto other = store.add(stored_name("My\\x2eApp\\x20\\x5c\\xc3\\xa9", "7", "5"));
  EXPECT_EQ(store.find("dotnet")->path, newest);
  EXPECT_EQ(store.find("100")->path, store.folder() + "/" + stored_name("dotnet", "100", "1717652311000000") + ".zst");
  EXPECT_EQ(store.find("My.App \\é")->path, other);
  EXPECT_EQ(store.find("/opt/x/My.App \\é")->path, other);
  EXPECT_FALSE(store.find("core"));
}

TEST(CoreStore, TheFolderIsAskedAlsoWhenTheJournalHasForgotten) {
  Store store;
  store.coredumpctl("echo 'No match found.' >&2; exit 1");
  const auto path = store.add(stored_name("dotnet", "100", "1717652311000000"));
  EXPECT_EQ(store.find("100")->path, path);
}

TEST(CoreStore, WithoutEitherItSaysWhatToInstall) {
  Store store;
  const auto found = store.find("dotnet");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().error.code, ErrorCode::not_found);
  EXPECT_TRUE(says(found.error(), "install systemd-coredump")) << found.error().text;
  EXPECT_TRUE(says(found.error(), "--core"));
  EXPECT_EQ(store.find("").error().error.code, ErrorCode::invalid_argument);
}

/// In a folder like /tmp anybody may have put it there.
TEST(CoreStore, RunsNoCoredumpctlThatOthersCouldHaveWritten) {
  Store store;
  store.coredumpctl("exit 1");
  ASSERT_EQ(::chmod(store.folder().c_str(), 01777), 0);
  const auto found = store.find("dotnet");
  ASSERT_FALSE(found);
  EXPECT_TRUE(says(found.error(), store.folder() + " can be written by everybody")) << found.error().text;
  EXPECT_EQ(store.asked(), "");
}

// ---- children ----

TEST(ChildProcess, RunsAScriptByItsDescriptor) {
  const test::TemporaryFolder folder{std::filesystem::current_path()};
  std::ofstream(folder.file("script")) << "#!/bin/sh\necho \"$1\"\n";
  ::chmod(folder.file("script").c_str(), 0755);
  auto child = ChildProcess::start(folder.file("script"), {"said"});
  ASSERT_TRUE(child) << child.error().text;
  EXPECT_EQ(child->finish(60s).out, "said\n");
}

TEST(ChildProcess, OutputBeyondTheLimitIsDropped) {
  auto child = ChildProcess::start("/bin/sh", {"-c", "head -c 1000000 /dev/zero; echo no >&2; exit 3"});
  ASSERT_TRUE(child);
  const auto said = child->finish(60s, 1000);
  EXPECT_EQ(said.out.size(), 1000u);
  EXPECT_EQ(said.err, "no\n");
  EXPECT_FALSE(said.succeeded);
  EXPECT_FALSE(said.timed_out);
}

TEST(ChildProcess, OneThatClosesItsOutputAndStaysIsKilled) {
  auto child = ChildProcess::start("/bin/sh", {"-c", "echo $$; exec sleep 1000 >&- 2>&-"});
  ASSERT_TRUE(child);
  std::string pid;
  {
    auto running = std::move(*child);
    const auto said = running.finish(300ms);
    EXPECT_TRUE(said.timed_out);
    pid = said.out;
  }
  EXPECT_EQ(::kill(std::atoi(pid.c_str()), 0), -1) << "sleep still runs: " << pid;
}

TEST(ChildProcess, HasNoSignalBlocked) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  auto child = ChildProcess::start("/bin/sh", {"-c", "grep SigBlk /proc/self/status"});
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(child);
  EXPECT_EQ(child->finish(60s).out, "SigBlk:\t0000000000000000\n");
}

TEST(ChildProcess, SaysWhatCannotBeStarted) {
  EXPECT_EQ(ChildProcess::start("/none", {}).error().error.os_error, ENOENT);
}

}  // namespace
}  // namespace mixstack::process
