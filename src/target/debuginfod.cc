#include "target/debuginfod.h"

#include <algorithm>

#include "base/trusted_file.h"
#include "target/child_process.h"

namespace mixstack::target {
namespace {

constexpr std::chrono::minutes kMost{10};  // within what ChildProcess waits at once

}  // namespace

Debuginfod::Debuginfod(std::string program, std::chrono::milliseconds all)
    : program_(std::move(program)), left_(std::clamp<std::chrono::milliseconds>(all, {}, kMost)) {
  if (program_.empty()) return;
  if (auto trusted = base::open_trusted_file(program_); !trusted) {
    refused_program_ = trusted.error();
    program_.clear();
  }
}

std::string Debuginfod::find(Kind kind, const object::BuildId& build_id) {
  if (program_.empty() || build_id.empty()) return {};
  const std::lock_guard lock(mutex_);
  if (left_ <= left_.zero()) {
    given_up_++;
    return {};
  }
  const auto begin = std::chrono::steady_clock::now();
  auto child = ChildProcess::start(program_, {kind == Kind::executable ? "executable" : "debuginfo", build_id.hex()},
                                   ChildErrors::drop);
  if (!child) return {};
  ChildOutput answer = child->finish(std::chrono::ceil<std::chrono::milliseconds>(left_));
  left_ -= std::chrono::steady_clock::now() - begin;
  if (answer.timed_out) {
    left_ = left_.zero();
    given_up_++;
  }
  if (!answer.succeeded) return {};
  while (answer.out.ends_with('\n')) answer.out.pop_back();
  return answer.out;
}

std::vector<Diagnosis> Debuginfod::diagnoses() const {
  std::vector<Diagnosis> list;
  if (refused_program_) list.push_back(*refused_program_);
  const std::lock_guard lock(mutex_);
  if (given_up_ != 0)
    list.push_back({{ErrorCode::limit_exceeded, 0, given_up_},
                    "debuginfod servers",
                    "they did not answer in time: " + std::to_string(given_up_) +
                        (given_up_ == 1 ? " question was" : " questions were") + " given up"});
  return list;
}

}  // namespace mixstack::target
