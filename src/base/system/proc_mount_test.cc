#include "base/system/proc_mount.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mixstack::base {
namespace {

TEST(ProcMount, OneNumberThatIsOursIsOurs) {
  EXPECT_FALSE(is_status_of_other_namespace("Name:\tx\nTgid:\t7\nNgid:\t0\nNSpid:\t7\nThreads:\t1\n", 7));
  EXPECT_FALSE(is_status_of_other_namespace("Name:\tx\nTgid:\t7\n", 7)) << "before Linux 4.1";
  EXPECT_FALSE(is_status_of_other_namespace("", 7)) << "nothing is known";
}

TEST(ProcMount, AnotherNumberOrMoreThanOneIsNot) {
  EXPECT_TRUE(is_status_of_other_namespace("Name:\tx\nTgid:\t900\nNSpid:\t900\t7\n", 7));
  EXPECT_TRUE(is_status_of_other_namespace("Name:\tx\nTgid:\t900\n", 7));
  EXPECT_TRUE(is_status_of_other_namespace("Name:\tx\nTgid:\t7\nNSpid:\t7\t7\n", 7)) << "the same number by chance";
}

TEST(ProcMount, TellsTheNamespaceOfAChild) {
  EXPECT_FALSE(is_proc_of_other_pid_namespace());
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a namespace";
  const pid_t outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(77);
    const pid_t inner = ::fork();
    if (inner == 0) ::_exit(is_proc_of_other_pid_namespace() ? 1 : 0);
    int status = 0;
    (void)::waitpid(inner, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no namespace may be made here";
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

}  // namespace
}  // namespace mixstack::base
