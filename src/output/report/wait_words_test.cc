#include "output/report/wait_words.h"

#include <gtest/gtest.h>

namespace mixstack::report {
namespace {

std::string words_of(ThreadWait wait) {
  ProcessDump dump;
  dump.threads.resize(2);
  dump.threads[0].tid = 10;
  dump.threads[1].tid = 11;
  dump.threads[1].comm = "transfer";
  dump.threads[0].wait = std::move(wait);
  return wait_words(dump, dump.threads[0]);
}

ThreadWait tasks(WaitKind kind, std::string method = {}) {
  ThreadWait wait;
  wait.kind = kind;
  wait.proof = Proof::proved;
  wait.object = {0x1000, "System.Runtime.CompilerServices.AsyncTaskMethodBuilder.AsyncStateMachineBox", {}};
  wait.others = {wait.object, {0x2000, "Task", {}}, {0x3000, "Task", {}}};
  wait.method = std::move(method);
  return wait;
}

TEST(WaitWords, ATaskOfAnAsyncMethodIsCalledByIt) {
  const std::string method = "AsyncWaits.OrderApi.GetOrder(int)";
  EXPECT_EQ(words_of(tasks(WaitKind::all_tasks, method)),
            "waits for all of several tasks, one of them the async method OrderApi.GetOrder 0x1000, 3 in all");
  ThreadWait many = tasks(WaitKind::any_task, method);
  many.more_others = 297;
  EXPECT_EQ(words_of(many),
            "waits for any of several tasks, one of them the async method OrderApi.GetOrder 0x1000, 300 in all");
  ThreadWait one = tasks(WaitKind::task, method);
  one.others.clear();
  one.proof = Proof::likely;
  EXPECT_EQ(words_of(one), "waits (likely) for the async method OrderApi.GetOrder 0x1000");
}

TEST(WaitWords, OwnersAndTheEndOfThem) {
  ThreadWait wait;
  wait.kind = WaitKind::monitor;
  wait.proof = Proof::recorded;
  wait.object = {0x1000, "Bank.Account", {}};
  wait.owners = {11};
  EXPECT_EQ(words_of(wait), "waits for the monitor of Bank.Account 0x1000, held by 11 \"transfer\"");
  wait.owners = {11, 12, 13, 14, 15, 16};
  EXPECT_NE(words_of(wait).find("12, 13, 14 and 2 more"), std::string::npos);
  wait.owner_has_ended = true;
  EXPECT_NE(words_of(wait).find(", whose owner has ended"), std::string::npos);
  wait = {};
  wait.kind = WaitKind::monitor;
  wait.object.type = "a\x1b[2J";
  EXPECT_EQ(words_of(wait).find('\x1b'), std::string::npos) << "names are the target's";
  EXPECT_EQ(words_of({}), "");
}

}  // namespace
}  // namespace mixstack::report
