#include "output/serve/page_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

#include "base/system/scoped_fd.h"
#include "output/report/page_data.h"

namespace mixstack::serve {
namespace {

base::ScopedFd connected(std::uint16_t port, std::uint32_t host = INADDR_LOOPBACK) {
  base::ScopedFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{5, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(host);
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return base::ScopedFd();
  return socket;
}

std::string all_of(int socket) {
  std::string text;
  char piece[65536];
  for (ssize_t size = 0; (size = recv(socket, piece, sizeof piece, 0)) > 0;)
    text.append(piece, static_cast<std::size_t>(size));
  return text;
}

std::shared_ptr<const Recording> some_recording() {
  auto recording = std::make_shared<Recording>();
  recording->facts.host = "here";
  return recording;
}

class PageServerTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto address = server_.start(0);
    ASSERT_TRUE(address);
    const std::size_t colon = address->rfind(':'), slash = address->find('/', colon);
    port_ = static_cast<std::uint16_t>(std::stoul(address->substr(colon + 1)));
    path_ = address->substr(slash);
  }
  std::string ask(const std::string& request) {
    const base::ScopedFd socket = connected(port_);
    EXPECT_EQ(send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    return all_of(socket.get());
  }
  std::string get(const std::string& path, const std::string& host = "") {
    const std::string own = "127.0.0.1:" + std::to_string(port_);
    return ask("GET " + path + " HTTP/1.1\r\nHost: " + (host.empty() ? own : host) + "\r\n\r\n");
  }

  PageServer server_{"a <title>"};
  std::uint16_t port_ = 0;
  std::string path_;
};

std::string first_line(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }
std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

TEST_F(PageServerTest, ThePageComesWithItsPolicy) {
  const std::string answer = get(path_);
  EXPECT_EQ(first_line(answer), "HTTP/1.1 200 OK");
  for (const char* const field : {"\r\nContent-Security-Policy: default-src 'none'; ", "connect-src 'self'",
                                  "frame-ancestors 'none'", "\r\nCache-Control: no-store\r\n",
                                  "\r\nX-Content-Type-Options: nosniff\r\n", "\r\nReferrer-Policy: no-referrer\r\n"})
    EXPECT_NE(answer.find(field), std::string::npos) << field;
  EXPECT_NE(answer.find("<title>a &lt;title&gt;</title>"), std::string::npos);
  EXPECT_EQ(path_.size(), 34u);
}

TEST_F(PageServerTest, DataComesOnceAVersion) {
  EXPECT_EQ(first_line(get(path_ + "data?after=0")), "HTTP/1.1 204 No Content");
  server_.publish(some_recording(), false);
  const std::string first = get(path_ + "data?after=0");
  EXPECT_EQ(first_line(first), "HTTP/1.1 200 OK");
  EXPECT_NE(first.find("\r\nX-Version: 1\r\nX-Ended: 0\r\n"), std::string::npos);
  EXPECT_EQ(body_of(first), report::deflated(report::page_data(*some_recording(), ""), 1));
  EXPECT_EQ(first_line(get(path_ + "data?after=1")), "HTTP/1.1 204 No Content");
  server_.publish(some_recording(), true);
  EXPECT_NE(get(path_ + "data?after=1").find("\r\nX-Version: 2\r\nX-Ended: 1\r\n"), std::string::npos);
}

TEST_F(PageServerTest, NothingWithoutTheTokenOrForOtherHosts) {
  server_.publish(some_recording(), false);
  std::string wrong = path_;
  wrong[1] = wrong[1] == '0' ? '1' : '0';
  for (const std::string& path :
       {std::string("/"), wrong, wrong + "data", path_ + "other", path_.substr(0, 33), "/x" + path_})
    EXPECT_EQ(first_line(get(path)), "HTTP/1.1 404 Not Found") << path;
  EXPECT_EQ(first_line(get(path_, "localhost:" + std::to_string(port_))), "HTTP/1.1 200 OK");
  for (const char* const host : {"evil.example", "127.0.0.1", "127.0.0.1:1", "[::1]:80"})
    EXPECT_EQ(first_line(get(path_, host)), "HTTP/1.1 403 Forbidden") << host;
  EXPECT_EQ(first_line(ask("GET " + path_ + " HTTP/1.1\r\n\r\n")), "HTTP/1.1 403 Forbidden");
}

TEST_F(PageServerTest, OnlyGetAndOnlyRequests) {
  const std::string host = "Host: 127.0.0.1:" + std::to_string(port_) + "\r\n\r\n";
  EXPECT_EQ(first_line(ask("POST " + path_ + " HTTP/1.1\r\n" + host)), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_EQ(first_line(ask("OPTIONS " + path_ + " HTTP/1.1\r\n" + host)), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_EQ(first_line(ask("nonsense\r\n\r\n")), "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(first_line(ask("GET /" + std::string(20000, 'a'))), "HTTP/1.1 431 Request Header Fields Too Large");
}

TEST_F(PageServerTest, ListensOnLoopbackAlone) {
  // All of 127.0.0.0/8 is this machine; only one of it answers.
  EXPECT_FALSE(connected(port_, INADDR_LOOPBACK + 1));
  EXPECT_TRUE(connected(port_));
}

TEST_F(PageServerTest, IdleClientsKeepNobodyOut) {
  std::vector<base::ScopedFd> idle;
  for (std::size_t i = 0; i < 2 * PageServer::kMostConnections; i++) idle.push_back(connected(port_));
  EXPECT_EQ(first_line(get(path_)), "HTTP/1.1 200 OK");
}

TEST_F(PageServerTest, FewFilesAreForOthers) {
  EXPECT_EQ(PageServer::most_connections(0), 2u);
  EXPECT_EQ(PageServer::most_connections(40), 2u);
  EXPECT_EQ(PageServer::most_connections(128), 8u);
  EXPECT_EQ(PageServer::most_connections(1u << 20), PageServer::kMostConnections);
}

/// The processor time of this process.
double cpu_seconds() {
  timespec time{};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

TEST_F(PageServerTest, WaitsWithoutABusyLoopForADescriptor) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const base::ScopedFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit none = before;
  none.rlim_cur = 3;  // all that is open already stays
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int connected = connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const double start = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double used = cpu_seconds() - start;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(connected, 0);
  EXPECT_LT(used, 0.3);
  EXPECT_EQ(first_line(get(path_)), "HTTP/1.1 200 OK");
}

TEST_F(PageServerTest, StopsWhateverClientsDo) {
  const base::ScopedFd silent = connected(port_);
  const auto start = std::chrono::steady_clock::now();
  server_.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_FALSE(connected(port_));
  server_.stop();
}

TEST_F(PageServerTest, APortThatIsTakenIsSaid) {
  PageServer other("other");
  const auto address = other.start(port_);
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code, ErrorCode::io_error);
  EXPECT_EQ(address.error().os_error, EADDRINUSE);
}

}  // namespace
}  // namespace mixstack::serve
