#include "helpers/dac/service.h"

#include "base/system/byte_cursor.h"

namespace mixstack::helper {

using namespace dotnet::dac;

void Service::run() {
  while (true) {
    auto message = channel_.receive();
    if (!message || !answer(*message)) return;
  }
}

bool Service::answer(const DacMessage& message) {
  if (message.type == MessageType::open) return open(message);
  if (!queries_) return refuse({Stage::request, 0, "not open"});
  switch (message.type) {
    case MessageType::flush:
      queries_->flush();
      return channel_.send(MessageType::flushed, {}).has_value();
    case MessageType::threads:
      return list_threads();
    case MessageType::walk:
      return walk(message);
    case MessageType::describe:
    case MessageType::describe_method: {
      base::ByteCursor in(message.payload);
      const std::uint64_t address = in.u64();
      if (!in.ok()) return refuse({Stage::request, 0, "no address"});
      const auto text =
          message.type == MessageType::describe ? queries_->describe(address) : queries_->describe_method(address);
      return channel_.send(MessageType::description, encode(text)).has_value();
    }
    default:
      return refuse({Stage::request, 0, "unknown message"});
  }
}

bool Service::open(const DacMessage& message) {
  auto facts = decode_opening(message.payload);
  if (!facts || dac_) return refuse({Stage::request, 0, "bad opening"});
  target_ = std::make_unique<DataTarget>(memory_, *facts);
  auto dac = Dac::load(dac_path_, *target_);
  if (!dac) return refuse(dac.error());
  dac_ = std::move(*dac);
  queries_ = std::make_unique<Queries>(*dac_, memory_, facts->arch);
  return channel_.send(MessageType::opened, {}).has_value();
}

bool Service::list_threads() {
  const auto threads = queries_->threads();
  if (!threads) return refuse(threads.error());
  Writer batch;
  for (const ThreadRecord& t : *threads) {
    encode(t, batch);
    if (batch.size() < kMaxPayload / 2) continue;
    if (!channel_.send(MessageType::thread_list, batch.bytes())) return false;
    batch = {};
  }
  if (batch.size() != 0 && !channel_.send(MessageType::thread_list, batch.bytes())) return false;
  return channel_.send(MessageType::thread_list, {}).has_value();  // an empty one ends the list
}

bool Service::walk(const DacMessage& message) {
  auto request = decode_walk_request(message.payload);
  if (!request) return refuse({Stage::request, 0, "bad walk request"});
  Writer batch;
  bool connected = true;
  const auto send_batch = [&] {
    if (connected && batch.size() != 0) connected = channel_.send(MessageType::frames, batch.bytes()).has_value();
    batch = {};
  };
  std::uint32_t count = 0;
  const auto result = queries_->walk(*request, [&](const Element& element) {
    encode(element, batch);
    if (++count % kFramesPerMessage == 0 || batch.size() > kMaxPayload / 2) send_batch();
  });
  if (!result) return refuse(result.error());
  send_batch();
  if (!connected) return false;
  Writer end;
  end.value(result->result);
  end.value(static_cast<std::uint8_t>(result->end));
  return channel_.send(MessageType::walk_end, end.bytes()).has_value();
}

bool Service::refuse(const DacRefusal& refusal) {
  return channel_.send(MessageType::refused, encode(refusal)).has_value();
}

}  // namespace mixstack::helper
