#include "output/report/why_contended.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mixstack::report {
namespace {

ProcessDump process() {
  ProcessDump dump;
  dump.runtimes.emplace_back();
  for (ThreadId tid = 1; tid <= 4; tid++) {
    ThreadDump& thread = dump.threads.emplace_back();
    thread.tid = tid;
    thread.comm = "w";
    thread.kernel_state = 'R';
  }
  return dump;
}

ThreadWait wait_of(WaitKind kind, Proof proof) {
  ThreadWait wait;
  wait.kind = kind;
  wait.proof = proof;
  return wait;
}

const Contention kOne{WaitKind::monitor, Proof::recorded, {0x1000, "Shop.Gate", {}}, {1, 2, 3}, {4}, true};

std::string text_of(const ProcessDump& dump, std::span<const Contention> contended) {
  return collect([&](Writer& writer) {
    Painter out(writer, false);
    write_contended(out, dump, contended);
  });
}

TEST(WhyContended, TheFirstSentenceDoesNotDenyTheList) {
  const ProcessDump dump = process();
  EXPECT_NE(nothing_words(dump, {&kOne, 1}).find("But 3 threads wait for one lock."), std::string::npos);
  EXPECT_EQ(nothing_words(dump, {&kOne, 1}).find("none"), std::string::npos);
  EXPECT_EQ(nothing_words(dump, {}).find("But"), std::string::npos);
  EXPECT_EQ(text_of(dump, {}), "");
}

TEST(WhyContended, WhoHoldsALockAndWaitsForWhatHasNoOwnerIsNamed) {
  ProcessDump dump = process();
  dump.threads[0].wait = wait_of(WaitKind::monitor, Proof::recorded);
  dump.threads[0].wait->owners = {2};
  EXPECT_EQ(open_end_words(dump), "") << "its owner runs";
  EXPECT_EQ(find_open_end(dump).thread, 0U);
  dump.threads[1].wait = wait_of(WaitKind::semaphore_slim, Proof::proved);
  EXPECT_EQ(open_end_words(dump),
            "thread 1 \"w\" waits behind 2 \"w\", which waits for the semaphore, and who ends that is not known");
  EXPECT_TRUE(nothing_words(dump, {}).ends_with("held three others up for long. But " + open_end_words(dump) + "."));
  dump.threads[1].wait->timeout = std::chrono::milliseconds(5);
  EXPECT_EQ(open_end_words(dump), "") << "it ends";
  dump.threads[1].wait = wait_of(WaitKind::sleep, Proof::recorded);
  EXPECT_EQ(open_end_words(dump), "") << "for time";
  dump.threads[1].wait = wait_of(WaitKind::semaphore_slim, Proof::proved);
  dump.threads[0].wait->kind = WaitKind::thread_join;
  EXPECT_EQ(open_end_words(dump), "") << "hosts wait so";
  dump.threads[0].wait->kind = WaitKind::lock;
  dump.threads[1].wait = wait_of(WaitKind::wait_handle, Proof::proved);
  dump.threads[1].wait->object.type = "System.Threading.Mutex";
  EXPECT_EQ(open_end_words(dump), "") << "it has an owner, who was not found";
  dump.threads[1].wait->object.type = "System.Threading.ManualResetEvent";
  EXPECT_NE(open_end_words(dump), "");
  dump.threads[1].wait = wait_of(WaitKind::task, Proof::proved);
  EXPECT_EQ(open_end_words(dump), "");
  AsyncChain& chain = dump.runtimes[0].pending.emplace().chains.emplace_back();
  chain.waiter = 2;
  chain.end = AsyncEnd::semaphore;
  chain.proof = Proof::proved;
  EXPECT_NE(open_end_words(dump), "");
  chain.end = AsyncEnd::delay;
  EXPECT_EQ(open_end_words(dump), "");
}

TEST(WhyContended, HowManyWhatWhoAndWhatTheyDo) {
  EXPECT_EQ(text_of(process(), {&kOne, 1}),
            "CONTENDED: 3 of 4 threads wait for the monitor of Shop.Gate 0x1000, held by 4 \"w\", at both looks\n"
            "  thread 4 \"w\" runs\n\n");
  Contention nobody = kOne;
  nobody.owners.clear();
  nobody.is_lasting = false;
  EXPECT_EQ(text_of(process(), {&nobody, 1}),
            "CONTENDED: 3 of 4 threads wait for the monitor of Shop.Gate 0x1000, and who holds it is not known\n\n");
}

TEST(WhyContended, InJson) {
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_contended_json(out, {&kOne, 1}); }));
  EXPECT_EQ(json[0]["kind"], "monitor");
  EXPECT_EQ(json[0]["threads"].size(), 3u);
  EXPECT_EQ(json[0]["owners"][0], 4);
  EXPECT_EQ(json[0]["is_lasting"], true);
}

}  // namespace
}  // namespace mixstack::report
