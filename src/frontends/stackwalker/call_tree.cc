#include <tuple>

#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"

namespace Dyninst::Stackwalker {

bool frame_addr_cmp(const Frame& a, const Frame& b) { return a.getRA() < b.getRA(); }

bool frame_lib_offset_cmp(const Frame& a, const Frame& b) {
  const auto key = [](const Frame& f) {
    std::string library;
    Offset offset = 0;
    void* symtab = nullptr;
    if (!f.getLibOffset(library, offset, symtab)) return std::make_pair(std::string(), f.getRA());
    return std::make_pair(library, offset);
  };
  return key(a) < key(b);
}

bool frame_symname_cmp(const Frame& a, const Frame& b) {
  std::string of_a, of_b;
  const bool has_a = a.getName(of_a), has_b = b.getName(of_b);
  if (has_a && has_b) return of_a < of_b;
  if (has_a != has_b) return has_a;
  return a.getRA() < b.getRA();
}

/// Line numbers are not known here: the address is the finest order available.
bool frame_lineno_cmp(const Frame& a, const Frame& b) { return frame_addr_cmp(a, b); }

bool frame_cmp_wrapper::operator()(const FrameNode* a, const FrameNode* b) const {
  if (a->kind_ != b->kind_) return a->kind_ < b->kind_;
  switch (a->kind_) {
    case FrameNode::Kind::frame:
      return f(a->frame_, b->frame_);
    case FrameNode::Kind::thread:
      return std::tie(a->walker_, a->thread_) < std::tie(b->walker_, b->thread_);
    case FrameNode::Kind::string:
      return a->text_ < b->text_;
    case FrameNode::Kind::head:
      break;
  }
  return a < b;
}

FrameNode::FrameNode(frame_cmp_wrapper compare) : children_(compare) {}
FrameNode::FrameNode(frame_cmp_wrapper compare, std::string text)
    : children_(compare), kind_(Kind::string), text_(std::move(text)) {}

/// Deep stacks make deep trees: children are destroyed in a loop, not by recursion.
FrameNode::~FrameNode() {
  std::vector<FrameNode*> left(children_.begin(), children_.end());
  children_.clear();
  while (!left.empty()) {
    FrameNode* node = left.back();
    left.pop_back();
    left.insert(left.end(), node->children_.begin(), node->children_.end());
    node->children_.clear();
    delete node;
  }
}

void FrameNode::addChild(FrameNode* child) {
  if (child == nullptr || child == this) return;
  child->parent_ = this;
  if (!children_.insert(child).second) delete child;
}

CallTree::CallTree(frame_cmp_t compare) : compare_{compare != nullptr ? compare : frame_addr_cmp} {
  head_ = std::make_unique<FrameNode>(compare_);
}
CallTree::~CallTree() = default;
frame_cmp_t CallTree::getComparator() { return compare_.f; }
frame_cmp_wrapper CallTree::getCompareWrapper() { return compare_; }

FrameNode* CallTree::addFrame(const Frame& frame, FrameNode* parent) {
  auto node = std::make_unique<FrameNode>(compare_);
  node->kind_ = FrameNode::Kind::frame;
  node->frame_ = frame;
  node->thread_ = frame.getThread();
  node->walker_ = frame.getWalker();
  if (parent == nullptr) parent = getHead();
  if (const auto there = parent->children_.find(node.get()); there != parent->children_.end()) return *there;
  FrameNode* added = node.release();
  parent->addChild(added);
  return added;
}

FrameNode* CallTree::addThread(THR_ID thread, FrameNode* parent, Walker* walker, bool err_stack) {
  auto node = std::make_unique<FrameNode>(compare_);
  node->kind_ = FrameNode::Kind::thread;
  node->thread_ = thread;
  node->walker_ = walker;
  node->had_error_ = err_stack;
  if (parent == nullptr) parent = getHead();
  if (const auto there = parent->children_.find(node.get()); there != parent->children_.end()) return *there;
  FrameNode* added = node.release();
  parent->addChild(added);
  return added;
}

void CallTree::addCallStack(const std::vector<Frame>& stack, THR_ID thread, Walker* walker, bool err_stack) {
  FrameNode* at = getHead();
  for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) at = addFrame(*frame, at);
  (void)addThread(thread, at, walker, err_stack);
}

}  // namespace Dyninst::Stackwalker
