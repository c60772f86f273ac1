// What foreign code can do that a helper has loaded: nothing beyond the helper, and within it not for long.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "dotnet/dac/dac_client.h"

namespace mixstack::dotnet::dac {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uid_t kNobody = 65534;

std::string hostile_file() {
  std::ifstream in(HOSTILE_DAC, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

base::ScopedFd library(const std::string& way, pid_t victim, const std::string& file) {
  const std::string bytes =
      hostile_file() + "\n@hostile " + way + " " + std::to_string(victim) + " " + (file.empty() ? "-" : file) + "\n";
  auto copy = sealed_copy(std::as_bytes(std::span(bytes)), "hostile");
  return copy ? std::move(*copy) : base::ScopedFd();
}

struct Client {
  explicit Client(const std::string& way, ClientLimits limits = {}, pid_t victim = 1, const std::string& file = {}) {
    auto helper = find_helper(HELPER);
    if (!helper) {
      why_not = helper.error().text;
      return;
    }
    DacClient::Setup setup;
    setup.helper = std::move(*helper);
    setup.subject = "hostile";
    setup.dac = library(way, victim, file);
    setup.facts.arch = Arch::x86_64;
    setup.limits = limits;
    client = std::make_unique<DacClient>(std::move(setup));
  }
  std::unique_ptr<DacClient> client;
  std::string why_not;
};

std::chrono::milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

/// The words of the refusal.
template <class T>
std::string said(const Outcome<T>& outcome) {
  return outcome ? "no refusal" : outcome.error().text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

#define NEEDS_HELPER(c) \
  if (!c.client) GTEST_SKIP() << "the helper of this build is not to be run: " << c.why_not

/// Runs as `user` and answers what the helper that loaded the attacker ended with.
std::string attack_as(uid_t user) {
  std::string file = fs::current_path().string() + "/mixstack-secret-XXXXXX";
  const base::ScopedFd secret(::mkostemp(file.data(), O_CLOEXEC));
  if (::fchown(secret.get(), user, user) != 0 || ::fchmod(secret.get(), 0600) != 0) return "no secret";
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    if (user != ::geteuid() && (::setgroups(0, nullptr) != 0 || ::setgid(user) != 0 || ::setuid(user) != 0)) ::_exit(1);
    const pid_t victim = ::fork();
    if (victim == 0) {
      ::pause();
      ::_exit(0);
    }
    std::string words;
    {
      Client c("escape", {}, victim, file);
      words = c.client ? said(c.client->open()) : "skip: " + c.why_not;
    }
    if (::waitpid(victim, nullptr, WNOHANG) != 0) words += ", and killed a process";
    ::kill(victim, SIGKILL);
    (void)!::write(ends[1], words.data(), words.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text(1024, '\0');
  const ssize_t n = ::read(ends[0], text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  ::unlink(file.c_str());
  return text;
}

/// It comes as far as to refuse our question: had it got away with anything, it had ended with the number of it.
TEST(HostileDac, DoesNotGetOutOfTheHelperOfRoot) {
  const std::string words = attack_as(::geteuid());
  if (words.starts_with("skip: ")) GTEST_SKIP() << words;
  EXPECT_TRUE(words.starts_with("does not accept the runtime")) << words;
  EXPECT_FALSE(has(words, "killed"));
}

/// The helper has the same user then, and only the filter stands between.
TEST(HostileDac, DoesNotGetOutOfTheHelperOfAnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become an ordinary user; as one, the test before is this one";
  const std::string words = attack_as(kNobody);
  if (words.starts_with("skip: ")) GTEST_SKIP() << words;
  EXPECT_TRUE(words.starts_with("does not accept the runtime")) << words;
  EXPECT_FALSE(has(words, "killed"));
}

/// How much longer than on a CPU of its own everything may take: emulated (tests/arm64/suite.py says so).
int slowness() { return std::getenv("MIXSTACK_ARM64") != nullptr ? 10 : 1; }

TEST(HostileDac, HasOneGigabyte) {
  ClientLimits limits;
  limits.silence = limits.request = limits.total = 60s;  // to fill a gigabyte, on a machine with much to do
  Client c("devour", limits);
  NEEDS_HELPER(c);
  const std::string words = said(c.client->open());
  const auto at = words.find("exited with ");
  ASSERT_NE(at, std::string::npos) << words;
  EXPECT_LE(std::stoi(words.substr(at + 12)), 16) << "pieces of 64 MB";
}

ClientLimits small() {
  ClientLimits limits;
  limits.total = 2s;
  limits.storage = 32u << 20;
  return limits;
}

TEST(HostileDac, MakesUsHoldNoMoreThanTheBudget) {
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto start = Clock::now();
  for (const char* way : {"frames", "threads"}) {
    ClientLimits limits = small();
    limits.total *= slowness();
    Client c(way, limits);
    NEEDS_HELPER(c);
    WalkRequest request;
    const std::string words = way == std::string("frames") ? said(c.client->walk(request)) : said(c.client->threads());
    EXPECT_TRUE(has(words, "32 MB of answers")) << way << ": " << words;
    EXPECT_EQ(c.client->helper_pid(), -1) << "it runs on";
    EXPECT_EQ(said(c.client->describe(1)), words) << "it is asked again";
  }
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(since(start), 4500ms * slowness());
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200 << 10) << "KiB";
}

TEST(HostileDac, IsNotWaitedForLongerThanTheBudget) {
  const auto start = Clock::now();
  Client c("slow", small());
  NEEDS_HELPER(c);
  std::string words;
  int answers = 0;
  for (Address address = 0; address < 40 && words.empty(); address++) {
    const auto answer = c.client->describe(address);
    if (answer)
      answers++;
    else
      words = said(answer);
  }
  EXPECT_TRUE(has(words, "the 2 s")) << words;
  EXPECT_GE(answers, 1);
  EXPECT_LT(since(start), 4s);
  c.client->renew_budget();
  EXPECT_EQ(said(c.client->describe(1)), words) << "who has used it up once gets no other";
}

/// Never silent, so no wait ever ends late.
TEST(HostileDac, ThatAsksWithoutEndIsEnded) {
  const auto start = Clock::now();
  Client c("questions", small());
  NEEDS_HELPER(c);
  EXPECT_TRUE(has(said(c.client->walk({})), "the 2 s"));
  EXPECT_LT(since(start), 4s);
}

/// Memory that is torn for the first few reads.
class TornMemory final : public MemoryReader {
 public:
  explicit TornMemory(int torn) : torn_(torn) {}
  [[nodiscard]] Result<std::size_t> read_some(Address, std::span<std::byte> out) const override {
    std::fill(out.begin(), out.end(), std::byte{torn_-- > 0});
    return out.size();
  }

 private:
  mutable int torn_;
};

TEST(HostileDac, AQuestionOverWhichItCrashedIsAskedThreeTimesMore) {
  for (const int torn : {0, 1, 3, 4}) {
    Client c("torn");
    NEEDS_HELPER(c);
    const TornMemory memory(torn);
    c.client->bind({&memory, {}});
    const auto answer = c.client->describe(1);
    EXPECT_EQ(answer.has_value(), torn < 4) << torn;
    if (torn == 4) {
      EXPECT_TRUE(has(said(answer), "crashed")) << said(answer);
    }
  }
}

TEST(HostileDac, TheBudgetIsOfADumpNotOfAProcess) {
  ClientLimits limits = small();
  limits.total = 3s;
  Client c("slow", limits);
  NEEDS_HELPER(c);
  for (int dump = 0; dump < 4; dump++) {
    c.client->renew_budget();
    for (Address address = 0; address < 3; address++) EXPECT_TRUE(c.client->describe(address).has_value()) << dump;
  }
}

}  // namespace
}  // namespace mixstack::dotnet::dac
