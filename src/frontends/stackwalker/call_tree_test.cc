#include <gtest/gtest.h>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/frame.h"
#include "stackwalker/procstate.h"
#include "stackwalker/swk_errors.h"

namespace Dyninst::Stackwalker {
namespace {

using mixstack::stackwalker::test::standing_child;
using Owned = std::unique_ptr<Walker>;

Frame frame_at(Walker* walker, Address ra) {
  const std::unique_ptr<Frame> frame(Frame::newFrame(ra, ra, ra, walker));
  return *frame;
}

TEST(StackwalkerCallTree, SharesCommonCallers) {
  const Owned walker(Walker::newWalker());
  CallTree tree;
  Walker* w = walker.get();
  const Frame bottom = frame_at(w, 1), a = frame_at(w, 2), b = frame_at(w, 3);
  tree.addCallStack({a, bottom}, 10, w, false);
  tree.addCallStack({b, bottom}, 11, w, true);
  tree.addCallStack({b, bottom}, 12, w, false);
  const FrameNode* head = tree.getHead();
  ASSERT_TRUE(head->isHead());
  ASSERT_EQ(head->getChildren().size(), 1U);
  FrameNode* common = *head->getChildren().begin();
  ASSERT_TRUE(common->isFrame());
  EXPECT_EQ(common->getFrame()->getRA(), 1U);
  EXPECT_EQ(common->getParent(), head);
  ASSERT_EQ(common->getChildren().size(), 2U);
  FrameNode* second = *std::next(common->getChildren().begin());
  EXPECT_EQ(second->getFrame()->getRA(), 3U);
  ASSERT_EQ(second->getChildren().size(), 2U);
  FrameNode* thread = *second->getChildren().begin();
  ASSERT_TRUE(thread->isThread());
  EXPECT_EQ(thread->getThread(), 11);
  EXPECT_TRUE(thread->hadError());
  EXPECT_EQ(thread->getWalker(), w);
  EXPECT_EQ(thread->getFrame(), nullptr);
  EXPECT_EQ(tree.getComparator(), &frame_addr_cmp);
  EXPECT_EQ(tree.getCompareWrapper().f, &frame_addr_cmp);
}

TEST(StackwalkerCallTree, NodesOfOtherKinds) {
  CallTree tree;
  auto* text = new FrameNode(tree.getCompareWrapper(), "a note");
  tree.getHead()->addChild(text);
  EXPECT_TRUE(text->isString());
  EXPECT_EQ(text->frameString(), "a note");
  EXPECT_EQ(text->getThread(), NULL_THR_ID);
  tree.getHead()->addChild(new FrameNode(tree.getCompareWrapper(), "a note"));  // is there already
  EXPECT_EQ(tree.getHead()->getChildren().size(), 1U);
  FrameNode* thread = tree.addThread(5, nullptr, nullptr, false);
  EXPECT_EQ(tree.addThread(5, nullptr, nullptr, false), thread);
  EXPECT_EQ(tree.getHead()->getChildren().size(), 2U);
  const Owned walker(Walker::newWalker());
  std::vector<Frame> deep;
  for (Address i = 1; i <= 100000; i++) deep.push_back(frame_at(walker.get(), i));
  tree.addCallStack(deep, 6, walker.get(), false);  // and taken apart without recursion
}

TEST(StackwalkerCallTree, Comparisons) {
  const Owned walker(Walker::newWalker());
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack));
  for (const frame_cmp_t less : {frame_addr_cmp, frame_lib_offset_cmp, frame_symname_cmp, frame_lineno_cmp}) {
    EXPECT_FALSE(less(stack[0], stack[0]));
    EXPECT_NE(less(stack[0], stack[1]), less(stack[1], stack[0]));
  }
  const frame_cmp_wrapper by_address{frame_addr_cmp};
  const FrameNode first(by_address, "a"), second(by_address, "b");
  EXPECT_TRUE(by_address(&first, &second));
  EXPECT_FALSE(by_address(&second, &first));
  EXPECT_FALSE(by_address(&first, &first));
}

TEST(StackwalkerWalkerSet, WalksAllOfThem) {
  const auto one = standing_child(), two = standing_child();
  const Owned a(Walker::newWalker(one->pid())), b(Walker::newWalker(two->pid())), self(Walker::newWalker());
  ASSERT_TRUE(a != nullptr && b != nullptr);
  const std::unique_ptr<WalkerSet> set(WalkerSet::newWalkerSet());
  EXPECT_TRUE(set->empty());
  EXPECT_TRUE(set->insert(a.get()).second);
  EXPECT_TRUE(set->insert(b.get()).second);
  EXPECT_FALSE(set->insert(a.get()).second);
  EXPECT_FALSE(set->insert(nullptr).second);
  EXPECT_EQ(set->size(), 2U);
  EXPECT_NE(set->find(a.get()), set->end());
  CallTree tree;
  EXPECT_TRUE(set->walkStacks(tree)) << getLastErrorMsg();
  // Children of one program, forked: the same code at the same addresses down to main's caller.
  EXPECT_EQ(tree.getHead()->getChildren().size(), 1U);
  set->insert(self.get());
  CallTree initial;
  EXPECT_TRUE(set->walkStacks(initial, true)) << getLastErrorMsg();
  set->erase(set->find(b.get()));
  EXPECT_EQ(std::distance(set->begin(), set->end()), 2);
  ASSERT_TRUE(dynamic_cast<ProcDebug*>(a->getProcessState())->detach());
  CallTree cut;
  EXPECT_FALSE(set->walkStacks(cut));
  EXPECT_EQ(getLastError(), err_proccontrol);
}

}  // namespace
}  // namespace Dyninst::Stackwalker
