#include "base/words/recording_part.h"

#include <unordered_map>
#include <vector>

namespace mixstack {
namespace {

/// Numbers of elements of one list: in the recording, and in the part.
using Numbers = std::unordered_map<std::uint32_t, std::uint32_t>;

class PartMaker {
 public:
  explicit PartMaker(const Recording& from) : from_(from) {
    to_.facts = from.facts;
    to_.facts.account = {};
    nodes_.emplace(0, 0);
  }
  void add(const Sample& sample);
  Recording take() { return std::move(to_); }

 private:
  // Every list of the part is at most as long as its source: there is room.
  std::uint32_t file(std::uint32_t number);
  std::uint32_t module(std::uint32_t number);
  std::uint32_t function(std::uint32_t number);
  std::uint32_t frame(std::uint32_t number);
  std::uint32_t thread(std::uint32_t number);
  std::uint32_t context(std::uint32_t number);
  std::uint32_t node(std::uint32_t number);

  const Recording& from_;
  Recording to_;
  Numbers files_, modules_, functions_, frames_, threads_, contexts_, nodes_;
};

std::uint32_t PartMaker::file(std::uint32_t number) {
  if (number == kNoIndex) return kNoIndex;
  const auto [at, is_new] = files_.try_emplace(number, 0);
  if (is_new) at->second = to_.file(from_.files()[number]).value_or(kNoIndex);
  return at->second;
}

std::uint32_t PartMaker::module(std::uint32_t number) {
  if (number == kNoIndex) return kNoIndex;
  const auto [at, is_new] = modules_.try_emplace(number, 0);
  if (is_new) at->second = to_.module(from_.modules()[number]).value_or(kNoIndex);
  return at->second;
}

std::uint32_t PartMaker::function(std::uint32_t number) {
  const auto [at, is_new] = functions_.try_emplace(number, 0);
  if (!is_new) return at->second;
  RecordedFunction copy = from_.functions()[number];
  copy.module = module(copy.module);
  return at->second = to_.function(copy).value_or(0);
}

std::uint32_t PartMaker::frame(std::uint32_t number) {
  const auto [at, is_new] = frames_.try_emplace(number, 0);
  if (!is_new) return at->second;
  RecordedFrame copy = from_.frames()[number];
  copy.function = function(copy.function);
  copy.file = file(copy.file);
  return at->second = to_.frame(copy).value_or(0);
}

std::uint32_t PartMaker::thread(std::uint32_t number) {
  const auto [at, is_new] = threads_.try_emplace(number, 0);
  if (!is_new) return at->second;
  RecordedThread copy = from_.threads()[number];
  copy.process = to_.process(from_.processes()[copy.process]).value_or(0);
  return at->second = to_.add_thread(copy).value_or(0);
}

std::uint32_t PartMaker::context(std::uint32_t number) {
  const auto [at, is_new] = contexts_.try_emplace(number, 0);
  if (!is_new) return at->second;
  SampleContext copy = from_.contexts()[number];
  copy.thread = thread(copy.thread);
  return at->second = to_.context(copy).value_or(0);
}

std::uint32_t PartMaker::node(std::uint32_t number) {
  std::vector<std::uint32_t> below;  // not copied yet, innermost first
  for (; !nodes_.contains(number); number = from_.nodes()[number].parent) below.push_back(number);
  std::uint32_t copy = nodes_[number];
  for (std::size_t i = below.size(); i-- > 0;) {
    copy = to_.node({copy, frame(from_.nodes()[below[i]].frame)}).value_or(copy);
    nodes_.emplace(below[i], copy);
  }
  return copy;
}

void PartMaker::add(const Sample& sample) {
  if (sample.stack >= from_.nodes().size() || sample.context >= from_.contexts().size()) return;
  Sample copy = sample;
  copy.stack = node(sample.stack);
  copy.context = context(sample.context);
  if (to_.add(copy)) to_.facts.account.samples += sample.count;
}

}  // namespace

Recording part_of(const Recording& recording, std::span<const Sample> samples) {
  PartMaker maker(recording);
  for (const Sample& sample : samples) maker.add(sample);
  return maker.take();
}

}  // namespace mixstack
