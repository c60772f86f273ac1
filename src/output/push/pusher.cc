#include "output/push/pusher.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <system_error>

#include "output/formats/otlp.h"

namespace mixstack::push {
namespace {

using fetch_link::FetchEnd;
using fetch_link::FetchOutcome;

constexpr std::size_t kMostNews = 32, kMostSaid = 256, kMostWords = 200;
constexpr std::uint64_t kMostAnswer = 4096;

/// The first line of a server's answer, cut to kMostWords.
std::string first_line(std::string_view answer) {
  return std::string(answer.substr(0, std::min({answer.find('\n'), answer.find('\r'), kMostWords})));
}

std::string words_of(const Diagnosis& diagnosis) {
  std::string text = diagnosis.subject;
  if (!diagnosis.text.empty()) text += ": " + diagnosis.text;
  if (diagnosis.error.os_error != 0) text += ": " + std::generic_category().message(diagnosis.error.os_error);
  return text;
}

}  // namespace

Pusher::Pusher(PusherOptions options)
    : options_(std::move(options)),
      spool_(options_.spool, options_.spool_bytes),
      back_off_(std::random_device{}()),
      thread_([this] { run(); }) {}

Pusher::~Pusher() {
  if (thread_.joinable()) (void)finish(std::chrono::milliseconds(0));
}

void Pusher::add(PushRequest request) {
  const std::lock_guard lock(mutex_);
  hold(std::move(request), false);
  has_changed_ = true;
  wake_.notify_one();
}

PushAccount Pusher::finish(std::chrono::milliseconds time) {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = has_changed_ = true;
    deadline_ = Clock::now() + time;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  return account_;
}

std::vector<PushNews> Pusher::take_news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void Pusher::say(PushNews news) {
  if (news_.size() < kMostNews) news_.push_back(std::move(news));
}

void Pusher::say_once(const PushNews& news) {
  if (said_.size() < kMostSaid && said_.insert(news.text).second) say(news);
}

/// With the lock held.
void Pusher::hold(PushRequest request, bool is_oldest) {
  queue_bytes_ += request.body.size();
  is_oldest ? queue_.push_front(std::move(request)) : queue_.push_back(std::move(request));
  while (queue_bytes_ > options_.most_held && !queue_.empty()) {
    queue_bytes_ -= queue_.front().body.size();
    queue_.pop_front();
    account_.crowded_out++;
  }
}

void Pusher::run() {
  const Send send_one = options_.make_send();
  Lock lock(mutex_);
  while (true) {
    has_changed_ = false;
    const auto now = Clock::now();
    if (is_stopping_ && (now >= deadline_.load() || next_try_ >= deadline_.load())) break;
    if (now < next_try_) {
      spool_queue(lock);
      wake_.wait_until(lock, next_try_, [this] { return has_changed_; });
      continue;
    }
    if (auto item = next(lock)) {
      send(std::move(*item), send_one, lock);
      continue;
    }
    if (has_changed_) continue;
    if (is_stopping_) break;
    wake_.wait(lock, [this] { return has_changed_; });
  }
  has_spool_ = true;  // try the spool once more, even if it failed before
  spool_queue(lock);
  account_.crowded_out += queue_.size() + spool_.crowded_out();
  account_.damaged = spool_.damaged();
  account_.spooled = spool_.waiting(options_.target);
}

/// The queue goes before the spool: somebody may be waiting for recent profiles.
std::optional<Pusher::Item> Pusher::next(Lock& lock) {
  if (!queue_.empty()) {
    Item item{std::move(queue_.front()), std::nullopt};
    queue_.pop_front();
    queue_bytes_ -= item.request.body.size();
    return item;
  }
  if (!may_be_spooled_) return std::nullopt;
  lock.unlock();
  auto spooled = spool_.oldest(options_.target);
  lock.lock();
  may_be_spooled_ = spooled.has_value();
  if (!spooled) return std::nullopt;
  PushRequest request = std::move(spooled->request);
  return Item{std::move(request), std::move(spooled)};
}

void Pusher::send(Item item, const Send& send, Lock& lock) {
  lock.unlock();
  std::vector<std::string> headers = headers_of(options_.target.protocol);
  headers.insert(headers.end(), options_.headers.begin(), options_.headers.end());
  fetch_link::FetchLimits limits;
  limits.bytes = kMostAnswer;
  limits.is_wanted = [this] { return Clock::now() < deadline_.load(); };
  std::string answer;
  const auto end = send(url_of(options_.target, item.request), {headers, item.request.body}, limits, answer);
  lock.lock();
  if (!end) return put_off(std::move(item), {"push_put_off", "fetcher", words_of(end.error())}, 0, lock);
  std::string why = fetch_link::outcome_words(*end);
  if (end->outcome == FetchOutcome::too_large) why = fmt::format("a profile of {} bytes is too large", end->value);
  if (const std::string line = first_line(answer); end->outcome == FetchOutcome::refused && !line.empty())
    why += ": " + line;
  const std::string_view reason = fetch_link::outcome_name(end->outcome);
  switch (verdict_of(*end)) {
    case PushVerdict::sent:
      accept(item, answer);
      break;
    case PushVerdict::later:
      put_off(std::move(item), {"push_put_off", reason, why}, end->retry_after_s, lock);
      break;
    case PushVerdict::refused:
      refuse(item, {"push_refused", reason, why});
      break;
  }
}

void Pusher::accept(const Item& item, const std::string& answer) {
  if (std::exchange(is_failing_, false)) say({"push_takes_again", {}, "it takes profiles again"});
  back_off_.reset();
  if (item.spooled) spool_.remove(*item.spooled);
  const auto said = options_.target.protocol == PushProtocol::otlp ? formats::read_otlp_answer(answer) : std::nullopt;
  if (said && (said->rejected > 0 || !said->words.empty()))
    say_once(said->rejected > 0
                 ? PushNews{"push_refused", "rejected", "it does not take a profile: " + first_line(said->words)}
                 : PushNews{"push_told", {}, first_line(said->words)});
  if (said && said->rejected > 0) {
    account_.refused++;
    return;
  }
  account_.sent++;
  if (item.spooled) account_.sent_from_spool++;
}

void Pusher::refuse(const Item& item, const PushNews& why) {
  // The server answers, so other profiles may be accepted: no back-off.
  is_failing_ = false;
  back_off_.reset();
  if (item.spooled) spool_.remove(*item.spooled);
  account_.refused++;
  say_once({why.code, why.reason, why.text + "; such profiles are dropped"});
}

void Pusher::put_off(Item item, const PushNews& why, std::uint32_t retry_after_s, Lock& lock) {
  next_try_ = Clock::now() + back_off_.next(std::chrono::seconds(retry_after_s));
  const bool is_new = !std::exchange(is_failing_, true);
  if (item.spooled) {
    may_be_spooled_ = true;  // its file was not removed
  } else {
    keep(std::move(item.request), lock);
  }
  if (is_new)
    say({why.code, why.reason,
         why.text + (has_spool_ ? "; profiles are kept in " + spool_.folder() + " and sent later"
                                : "; profiles are kept in memory and sent later")});
}

/// Keeps a request in the spool; in memory if that fails.
void Pusher::keep(PushRequest request, Lock& lock) {
  lock.unlock();
  const auto kept = spool_.keep(options_.target, request);
  lock.lock();
  has_spool_ = kept.has_value();
  may_be_spooled_ = may_be_spooled_ || has_spool_;
  if (has_spool_) return;
  if (!options_.spool.empty()) say_once({"no_push_spool", {}, "the spool cannot be used: " + words_of(kept.error())});
  hold(std::move(request), true);
}

void Pusher::spool_queue(Lock& lock) {
  while (!queue_.empty() && has_spool_) {
    PushRequest request = std::move(queue_.front());
    queue_.pop_front();
    queue_bytes_ -= request.body.size();
    keep(std::move(request), lock);
  }
}

}  // namespace mixstack::push
