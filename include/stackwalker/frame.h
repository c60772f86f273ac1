// One frame of a call stack (manual, class Frame), and trees of frames (Dyninst's frame.h).
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "basetypes.h"

namespace Dyninst::Stackwalker {

class Walker;
class FrameStepper;
class FrameAccess;
struct FrameOrigin;

/// A snapshot of a stack frame: a value that outlives the walk, the process and, except for names, the Walker. A frame
/// found by a walk also carries all registers known there, so that a walk can continue from it. Not thread-safe.
class Frame {
 public:
  Frame();
  explicit Frame(Walker* walker);
  /// The caller deletes it. Null, with err_badparam, if `walker` is null.
  static Frame* newFrame(Dyninst::MachRegisterVal ra, Dyninst::MachRegisterVal sp, Dyninst::MachRegisterVal fp,
                         Walker* walker);

  /// Equal RA, SP and FP, with equal locations, of the same thread and Walker.
  [[nodiscard]] bool operator==(const Frame& other) const;

  /// The pc at the top of the stack, else the return address.
  [[nodiscard]] Dyninst::MachRegisterVal getRA() const;
  void setRA(Dyninst::MachRegisterVal value);
  [[nodiscard]] Dyninst::MachRegisterVal getSP() const;
  void setSP(Dyninst::MachRegisterVal value);
  /// The frame pointer register at the top of the stack, and where the function keeps a frame pointer. Else the
  /// beginning of the frame, two words below the caller's SP, where a frame record would be. During a walk steppers get
  /// the register. 0: neither is known.
  [[nodiscard]] Dyninst::MachRegisterVal getFP() const;
  void setFP(Dyninst::MachRegisterVal value);
  void setThread(THR_ID thread);
  /// Marks the frame as interrupted (signal handler, instrumentation): it did not call.
  void setNonCall();

  [[nodiscard]] bool isTopFrame() const;
  [[nodiscard]] bool isBottomFrame() const;
  /// Whether RA, SP and FP are all set.
  [[nodiscard]] bool isFrameComplete() const;

  [[nodiscard]] location_t getRALocation() const;
  void setRALocation(location_t newval);
  [[nodiscard]] location_t getSPLocation() const;
  void setSPLocation(location_t newval);
  [[nodiscard]] location_t getFPLocation() const;
  void setFPLocation(location_t newval);

  /// Asks the Walker's SymbolLookup. False, with err_nosymbol, if no name is known; `str` is unchanged then.
  bool getName(std::string& str) const;
  /// The lookup's object: by default a SymtabAPI::Symbol, which lives as long as the Walker, or null.
  bool getObject(void*& obj) const;
  /// The library around the frame, the offset in it, and by default its SymtabAPI::Symtab, which lives as long as the
  /// Walker. err_nofile if the code is in no library (a JIT's).
  bool getLibOffset(std::string& lib, Dyninst::Offset& offset, void*& symtab) const;

  [[nodiscard]] Walker* getWalker() const;
  [[nodiscard]] THR_ID getThread() const;
  /// The stepper that found this frame; null for the top of the stack and frames made by hand.
  [[nodiscard]] FrameStepper* getStepper() const;
  /// Whether the frame was interrupted and made no call. (The manual states the opposite; this is what Dyninst does.)
  [[nodiscard]] bool nonCall() const;

 private:
  friend class FrameAccess;
  [[nodiscard]] bool lookUp(std::string& name, void*& value) const;

  enum : unsigned { kHasRA = 1, kHasSP = 2, kHasFP = 4, kTop = 8, kBottom = 16, kNonCall = 32, kExact = 64 };
  MachRegisterVal ra_ = 0, sp_ = 0, fp_ = 0;
  location_t ra_location_, sp_location_, fp_location_;
  unsigned flags_ = 0;
  Walker* walker_ = nullptr;
  std::weak_ptr<const void> walker_life_;
  FrameStepper* stepper_ = nullptr;
  THR_ID thread_ = NULL_THR_ID;
  std::shared_ptr<const FrameOrigin> origin_;
};

/// Orders frames: true if a < b.
typedef bool (*frame_cmp_t)(const Frame& a, const Frame& b);
[[nodiscard]] bool frame_addr_cmp(const Frame& a, const Frame& b);
[[nodiscard]] bool frame_lib_offset_cmp(const Frame& a, const Frame& b);
[[nodiscard]] bool frame_symname_cmp(const Frame& a, const Frame& b);
/// By source line if known, else by address.
[[nodiscard]] bool frame_lineno_cmp(const Frame& a, const Frame& b);

class FrameNode;
struct frame_cmp_wrapper {
  frame_cmp_t f = nullptr;
  /// Frames are ordered by `f`; frames come before threads before strings.
  [[nodiscard]] bool operator()(const FrameNode* a, const FrameNode* b) const;
};
typedef std::set<FrameNode*, frame_cmp_wrapper> frame_set_t;

/// A node of a CallTree. Its parent owns it; the tree owns the head.
class FrameNode {
 public:
  explicit FrameNode(frame_cmp_wrapper compare);
  FrameNode(frame_cmp_wrapper compare, std::string text);
  FrameNode(const FrameNode&) = delete;
  FrameNode& operator=(const FrameNode&) = delete;
  ~FrameNode();

  [[nodiscard]] bool isFrame() const { return kind_ == Kind::frame; }
  [[nodiscard]] bool isThread() const { return kind_ == Kind::thread; }
  [[nodiscard]] bool isHead() const { return kind_ == Kind::head; }
  [[nodiscard]] bool isString() const { return kind_ == Kind::string; }
  /// Null: the node is not a frame.
  [[nodiscard]] const Frame* getFrame() const { return isFrame() ? &frame_ : nullptr; }
  [[nodiscard]] Frame* getFrame() { return isFrame() ? &frame_ : nullptr; }
  [[nodiscard]] THR_ID getThread() const { return isThread() ? thread_ : NULL_THR_ID; }
  [[nodiscard]] std::string frameString() const { return text_; }
  /// Whether the thread's stack is incomplete.
  [[nodiscard]] bool hadError() const { return isThread() && had_error_; }
  [[nodiscard]] const frame_set_t& getChildren() const { return children_; }
  [[nodiscard]] frame_set_t& getChildren() { return children_; }
  [[nodiscard]] const FrameNode* getParent() const { return parent_; }
  [[nodiscard]] FrameNode* getParent() { return parent_; }
  /// Takes ownership. A child that compares equal to an existing one is deleted.
  void addChild(FrameNode* child);
  [[nodiscard]] Walker* getWalker() { return walker_; }
  [[nodiscard]] const Walker* getWalker() const { return walker_; }

 private:
  friend class CallTree;
  friend struct frame_cmp_wrapper;
  enum class Kind { frame, thread, string, head };

  frame_set_t children_;
  FrameNode* parent_ = nullptr;
  Kind kind_ = Kind::head;
  Frame frame_;
  THR_ID thread_ = NULL_THR_ID;
  Walker* walker_ = nullptr;
  bool had_error_ = false;
  std::string text_;
};

/// Many stacks as one tree: the head's children are the outermost frames, each leaf is a thread. Not thread-safe.
class CallTree {
 public:
  explicit CallTree(frame_cmp_t compare = frame_addr_cmp);
  ~CallTree();
  CallTree(const CallTree&) = delete;
  CallTree& operator=(const CallTree&) = delete;

  [[nodiscard]] FrameNode* getHead() const { return head_.get(); }
  /// The child of `parent` for the frame, created if there is none. The tree owns it.
  FrameNode* addFrame(const Frame& frame, FrameNode* parent);
  FrameNode* addThread(THR_ID thread, FrameNode* parent, Walker* walker, bool err_stack);
  [[nodiscard]] frame_cmp_t getComparator();
  [[nodiscard]] frame_cmp_wrapper getCompareWrapper();
  /// Adds a stack as filled by walkStack.
  void addCallStack(const std::vector<Frame>& stack, THR_ID thread, Walker* walker, bool err_stack);

 private:
  std::unique_ptr<FrameNode> head_;
  frame_cmp_wrapper compare_;
};

}  // namespace Dyninst::Stackwalker
