#include "stackwalker/frame.h"

#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"

namespace Dyninst::Stackwalker {

Frame::Frame() = default;
Frame::Frame(Walker* walker) { FrameAccess::adopt(*this, walker); }

Frame* Frame::newFrame(MachRegisterVal ra, MachRegisterVal sp, MachRegisterVal fp, Walker* walker) {
  if (walker == nullptr) {
    setLastError(err_badparam, "newFrame: no Walker");
    return nullptr;
  }
  auto frame = std::make_unique<Frame>(walker);
  frame->setRA(ra);
  frame->setSP(sp);
  frame->setFP(fp);
  return frame.release();
}

bool Frame::operator==(const Frame& other) const {
  return ra_ == other.ra_ && sp_ == other.sp_ && fp_ == other.fp_ && ra_location_ == other.ra_location_ &&
         sp_location_ == other.sp_location_ && fp_location_ == other.fp_location_ && walker_ == other.walker_ &&
         thread_ == other.thread_;
}

MachRegisterVal Frame::getRA() const { return ra_; }
void Frame::setRA(MachRegisterVal value) {
  ra_ = value;
  flags_ |= kHasRA;
}
MachRegisterVal Frame::getSP() const { return sp_; }
void Frame::setSP(MachRegisterVal value) {
  sp_ = value;
  flags_ |= kHasSP;
}
MachRegisterVal Frame::getFP() const { return fp_; }
void Frame::setFP(MachRegisterVal value) {
  fp_ = value;
  flags_ |= kHasFP;
}
void Frame::setThread(THR_ID thread) { thread_ = thread; }
void Frame::setNonCall() { flags_ |= kNonCall | kExact; }

bool Frame::isTopFrame() const { return (flags_ & kTop) != 0; }
bool Frame::isBottomFrame() const { return (flags_ & kBottom) != 0; }
bool Frame::isFrameComplete() const { return (flags_ & (kHasRA | kHasSP | kHasFP)) == (kHasRA | kHasSP | kHasFP); }

location_t Frame::getRALocation() const { return ra_location_; }
void Frame::setRALocation(location_t newval) { ra_location_ = newval; }
location_t Frame::getSPLocation() const { return sp_location_; }
void Frame::setSPLocation(location_t newval) { sp_location_ = newval; }
location_t Frame::getFPLocation() const { return fp_location_; }
void Frame::setFPLocation(location_t newval) { fp_location_ = newval; }

Walker* Frame::getWalker() const { return walker_life_.expired() ? nullptr : walker_; }
THR_ID Frame::getThread() const { return thread_; }
FrameStepper* Frame::getStepper() const { return walker_life_.expired() ? nullptr : stepper_; }
bool Frame::nonCall() const { return (flags_ & kNonCall) != 0; }

bool Frame::lookUp(std::string& name, void*& value) const {
  Walker* walker = getWalker();
  if (walker == nullptr || (flags_ & kHasRA) == 0)
    return failed(err_badparam, "the frame has no address, or its Walker is gone");
  SymbolLookup* lookup = walker->getSymbolLookup();
  if (lookup == nullptr) return failed(err_nosymlookup, nullptr);
  std::string found;
  void* object = nullptr;
  auto& looked_up = WalkerAccess::parts(*walker).looked_up;
  looked_up = {ra_, FrameAccess::lookup_address(*this)};
  bool is_known = false;
  try {
    is_known = lookup->lookupAtAddr(ra_, found, object);
  } catch (...) {
    setLastError(err_internal, "the SymbolLookup threw an exception");
  }
  looked_up.reset();
  if (!is_known) return getLastError() != 0 ? false : failed(err_nosymbol, nullptr);
  name = std::move(found);
  value = object;
  return true;
}

bool Frame::getName(std::string& str) const {
  clearLastError();
  std::string name;
  void* value = nullptr;
  if (!lookUp(name, value)) return false;
  if (name.empty()) return failed(err_nosymbol, nullptr);
  str = std::move(name);
  return true;
}

bool Frame::getObject(void*& obj) const {
  clearLastError();
  std::string name;
  void* value = nullptr;
  if (!lookUp(name, value)) {
    // "NULL if no symbol is found" is a valid result.
    if (getLastError() != err_nosymbol) return false;
    value = nullptr;
  }
  obj = value;
  return true;
}

// --- the hidden origin of a frame ------------------------------------------------------------------------------------

void FrameAccess::adopt(Frame& frame, Walker* walker) {
  frame.walker_ = walker;
  if (walker != nullptr) frame.walker_life_ = WalkerAccess::parts(*walker).life;
}

Frame FrameAccess::make(Walker* walker, const std::shared_ptr<const FoundFrames>& found, std::size_t index) {
  Frame frame(walker);
  const FrameOrigin& origin = found->frames[index];
  const FramePlace& place = origin.place;
  const mixstack::Arch arch = place.registers.arch();
  frame.setRA(place.frame.pc.raw());
  frame.setSP(place.frame.sp);
  frame.setFP(frame_pointer_of(place));
  frame.ra_location_ = public_location(arch, place.ra);
  frame.sp_location_ = public_location(arch, place.sp);
  frame.fp_location_ = public_location(arch, place.fp);
  if (place.frame.pc.is_exact()) frame.flags_ |= Frame::kExact;
  if (place.frame.is_interrupted && place.frame.found_by != mixstack::StepperId::initial)
    frame.flags_ |= Frame::kNonCall;
  if (found->is_walk && index == 0) frame.flags_ |= Frame::kTop;
  if (found->is_walk && index + 1 == found->frames.size() && found->error == err_stackbottom)
    frame.flags_ |= Frame::kBottom;
  frame.thread_ = origin.thread;
  frame.stepper_ = origin.stepper;
  frame.origin_ = {found, &origin};
  return frame;
}

Frame FrameAccess::make(Walker* walker, const std::shared_ptr<Engine>& engine, const FramePlace& place, THR_ID tid,
                        FrameStepper* stepper) {
  auto found = std::make_shared<FoundFrames>();
  found->engine = engine;
  found->capture_id = engine->capture_id();
  found->vectors = engine->captured_vectors();
  found->frames.push_back({place, stepper, tid, found.get()});
  return make(walker, std::move(found), 0);
}

Address FrameAccess::lookup_address(const Frame& frame) {
  const bool is_exact = (frame.flags_ & (Frame::kExact | Frame::kNonCall)) != 0;
  return is_exact || frame.ra_ == 0 ? frame.ra_ : frame.ra_ - 1;
}

bool FrameAccess::is_as_found(const Frame& frame) {
  if (!frame.origin_) return false;
  const FramePlace& place = frame.origin_->place;
  return frame.ra_ == place.frame.pc.raw() && frame.sp_ == place.frame.sp && frame.fp_ == frame_pointer_of(place);
}

std::optional<FramePlace> FrameAccess::place(Walker& walker, const Frame& frame, bool follows_fp) {
  if (frame.getWalker() != &walker) {
    setLastError(err_badparam, "the frame belongs to another Walker, or to none");
    return std::nullopt;
  }
  if ((frame.flags_ & (Frame::kHasRA | Frame::kHasSP)) != (Frame::kHasRA | Frame::kHasSP)) {
    setLastError(err_badparam, "the frame has no RA or SP");
    return std::nullopt;
  }
  auto engine = WalkerAccess::engine(&walker);
  if (!engine) return std::nullopt;
  const FoundFrames* found = frame.origin_ ? frame.origin_->found : nullptr;
  const bool is_own = found != nullptr && found->engine.lock() == engine;
  const std::uint64_t held = engine->capture_id();
  const Walker::Parts& parts = WalkerAccess::parts(walker);
  const THR_ID tid = frame.thread_;
  const bool is_of_thread = tid == NULL_THR_ID || tid == engine->captured_thread_name();
  const bool is_of_walk = parts.depth != 0 && parts.scope_capture == held && is_of_thread;
  const bool is_held = held != 0 && ((is_own && found->capture_id == held) || is_of_walk);
  if (!is_held) engine = WalkerAccess::capture(walker, frame.thread_);
  if (!engine) return std::nullopt;
  if (is_own && is_as_found(frame)) return frame.origin_->place;
  mixstack::Registers registers(engine->target().info().arch);
  registers.set_pc(frame.ra_);
  registers.set_sp(frame.sp_);
  const bool is_exact = (frame.flags_ & (Frame::kExact | Frame::kNonCall)) != 0;
  if ((frame.flags_ & Frame::kHasFP) != 0) registers.set_fp(frame.fp_);
  FramePlace place = engine->place_at(registers, is_exact);
  if (!follows_fp) engine->forget_frame_base(place);
  return place;
}

}  // namespace Dyninst::Stackwalker
