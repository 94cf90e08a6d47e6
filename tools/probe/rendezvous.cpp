#include "rendezvous.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "children.h"

namespace wheelvet::probe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_strangers = 64;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

FrameKey key_of(const std::string& run) {
  FrameKey key{}, other{};
  other[0] = 1;
  std::uint64_t halves[] = {siphash(key, run), siphash(other, run)};
  std::memcpy(key.data(), halves, sizeof halves);
  return key;
}

void close_end(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

/// Sockets of all ranks, where the usual 1024 descriptors are too few.
void make_room() {
  rlimit room{};
  if (getrlimit(RLIMIT_NOFILE, &room) != 0) return;
  room.rlim_cur = room.rlim_max;
  setrlimit(RLIMIT_NOFILE, &room);
}

void prepare(int socket) {
  int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  timeval patience{5, 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

struct Addresses {
  addrinfo* first = nullptr;
  Addresses(const char* host, int port, int flags, std::string& error) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    int code = getaddrinfo(host, std::to_string(port).c_str(), &hints, &first);
    if (code != 0) error = gai_strerror(code);
  }
  ~Addresses() {
    if (first) freeaddrinfo(first);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
};

/// On every address of this host: which of them the others use is theirs to know.
std::string listen_at(Rendezvous& all) {
  std::string error = "no address";
  Addresses addresses(nullptr, all.place.port, AI_PASSIVE, error);
  // One that serves both families goes first.
  for (int family : {AF_INET6, AF_INET}) {
    for (addrinfo* each = addresses.first; each; each = each->ai_next) {
      if (each->ai_family != family) continue;
      int one = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (one < 0) continue;
      int on = 1, off = 0;
      setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (family == AF_INET6) setsockopt(one, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      if (bind(one, each->ai_addr, each->ai_addrlen) == 0 && listen(one, SOMAXCONN) == 0) {
        all.listener = one;
        return "";
      }
      error = std::strerror(errno);
      close(one);
    }
  }
  return fmt::format("rank 0 cannot listen on port {}: {}", all.place.port, error);
}

/// A call that a Ctrl-C or the time limit must be able to end.
bool connect_within(int socket, const addrinfo& address, int milliseconds) {
  if (connect(socket, address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd waiting{socket, POLLOUT, 0};
  if (poll(&waiting, 1, milliseconds) != 1) {
    errno = ETIMEDOUT;
    return false;
  }
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  return error == 0;
}

int connect_once(const Place& place, std::string& error) {
  Addresses addresses(place.address.c_str(), place.port, 0, error);
  for (addrinfo* each = addresses.first; each; each = each->ai_next) {
    int one = socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (one < 0) continue;
    if (connect_within(one, *each, 2000)) return one;
    error = std::strerror(errno);
    close(one);
  }
  return -1;
}

/// Takes what lies in a peer's socket. False when the connection ended or garbled words came.
bool take_frames(Peer& peer, const FrameKey& key, std::vector<Frame>& frames) {
  char buffer[64 << 10];
  while (true) {
    ssize_t got = recv(peer.socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    peer.received.append(buffer, static_cast<std::size_t>(got));
    while (!peer.received.empty()) {
      Frame frame;
      Decoded decoded = decode(key, peer.received, frame);
      if (decoded == Decoded::incomplete) break;
      if (decoded == Decoded::forged) return false;
      frames.push_back(std::move(frame));
    }
  }
}

/// The rank that a hello begins with; -1 when it is none.
int rank_of(const std::string& hello) {
  int rank = -1;
  std::from_chars(hello.data(), hello.data() + hello.size(), rank);
  return rank;
}

/// A connection that has not said yet who it is.
void hear_stranger(Rendezvous& all, Peer& stranger) {
  std::vector<Frame> frames;
  bool open = take_frames(stranger, all.key, frames);
  if (frames.empty() && open) return;
  int rank = frames.empty() || frames[0].type != FrameType::hello ? -1 : rank_of(frames[0].payload);
  bool known = rank > 0 && rank < all.place.ranks;
  Peer* peer = known ? &all.peers[static_cast<std::size_t>(rank) - 1] : nullptr;
  if (!peer || peer->socket >= 0) {
    all.notes.push_back(peer ? fmt::format("two processes say that they are rank {}", rank)
                             : "a connection that is no rank of this run was turned away");
    return close_end(stranger.socket);
  }
  peer->socket = stranger.socket;
  peer->received = stranger.received;
  peer->hello = frames[0].payload;
  stranger.socket = -1;
}

bool all_there(const Rendezvous& all) {
  return std::all_of(all.peers.begin(), all.peers.end(),
                     [](const Peer& peer) { return peer.socket >= 0; });
}

void accept_all(Rendezvous& all, double seconds) {
  Clock::time_point start = Clock::now();
  std::vector<Peer> strangers;
  while (!all_there(all) && since(start) < seconds && !interrupted_by) {
    std::vector<pollfd> waiting{{all.listener, POLLIN, 0}};
    for (const Peer& stranger : strangers) waiting.push_back({stranger.socket, POLLIN, 0});
    poll(waiting.data(), waiting.size(), 100);
    if (waiting[0].revents) {
      int one = accept4(all.listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (one >= 0) {
        prepare(one);
        strangers.push_back({-1, one, {}, {}, {}});
      }
      if (strangers.size() > most_strangers + all.peers.size()) close_end(strangers.front().socket);
    }
    for (Peer& stranger : strangers) {
      if (stranger.socket >= 0) hear_stranger(all, stranger);
    }
    std::erase_if(strangers, [](const Peer& each) { return each.socket < 0; });
  }
  for (Peer& stranger : strangers) close_end(stranger.socket);
}

std::string whom_we_miss(const Rendezvous& all, double seconds) {
  std::string missing;
  int count = 0;
  for (const Peer& peer : all.peers) {
    if (peer.socket >= 0) continue;
    if (++count <= 20) missing += (missing.empty() ? "" : ", ") + std::to_string(peer.rank);
  }
  if (count == 0) return "";
  if (count > 20) missing += ", ...";
  return fmt::format("rank{} {} of {} never came to {}:{} within {:g} s", count > 1 ? "s" : "",
                     missing, all.place.ranks, all.place.address, all.place.port, seconds);
}

std::string call_rank_zero(Rendezvous& all, const std::string& hello, double seconds) {
  Clock::time_point start = Clock::now();
  std::string error;
  Peer& zero = all.peers.front();
  while (zero.socket < 0 && since(start) < seconds && !interrupted_by) {
    zero.socket = connect_once(all.place, error);
    if (zero.socket < 0) usleep(100000);  // rank 0 may not have begun
  }
  if (zero.socket < 0) {
    return fmt::format("rank 0 does not answer at {}:{}: {}", all.place.address, all.place.port,
                       error);
  }
  prepare(zero.socket);
  tell(zero, all.key, FrameType::hello, hello);
  return "";
}

}  // namespace

Rendezvous::Rendezvous(const Place& where) : place(where), key(key_of(where.run)) {
  make_room();
  for (int rank = 1; rank < place.ranks && place.rank == 0; ++rank) {
    peers.push_back({rank, -1, {}, {}, {}});
  }
  if (place.rank != 0) peers.push_back({0, -1, {}, {}, {}});
}

Rendezvous::~Rendezvous() {
  close_end(listener);
  for (Peer& peer : peers) close_end(peer.socket);
}

std::string meet(Rendezvous& all, const std::string& hello, double seconds) {
  if (all.place.rank != 0) return call_rank_zero(all, hello, seconds);
  std::string wrong = listen_at(all);
  if (!wrong.empty()) return wrong;
  accept_all(all, seconds);
  close_end(all.listener);
  return whom_we_miss(all, seconds);
}

void tell(Peer& peer, const FrameKey& key, FrameType type, std::string_view payload) {
  std::string bytes = encode(key, type, payload);
  std::size_t done = 0;
  while (peer.socket >= 0 && done < bytes.size()) {
    ssize_t sent = send(peer.socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      pollfd waiting{peer.socket, POLLOUT, 0};
      if (poll(&waiting, 1, 5000) == 1) continue;
    }
    if (sent <= 0) return close_end(peer.socket);
    done += static_cast<std::size_t>(sent);
  }
}

void tell_all(Rendezvous& all, FrameType type, std::string_view payload) {
  for (Peer& peer : all.peers) tell(peer, all.key, type, payload);
}

std::vector<Frame> hear(Rendezvous& all, int milliseconds) {
  std::vector<pollfd> waiting;
  for (int descriptor : descriptors(all)) waiting.push_back({descriptor, POLLIN, 0});
  poll(waiting.data(), waiting.size(), all.unheard.empty() ? milliseconds : 0);
  std::vector<Frame> out = std::exchange(all.unheard, {});
  for (Peer& peer : all.peers) {
    if (peer.socket < 0) continue;
    std::vector<Frame> frames;
    bool open = take_frames(peer, all.key, frames);
    for (Frame& frame : frames) {
      if (frame.type == FrameType::report) {
        peer.report = std::move(frame.payload);
      } else {
        out.push_back(std::move(frame));
      }
    }
    if (open) continue;
    close_end(peer.socket);
    if (!peer.report) out.push_back({FrameType::abort, fmt::format("rank {} is gone", peer.rank)});
  }
  return out;
}

std::optional<Frame> await(Rendezvous& all, FrameType type, double seconds) {
  Clock::time_point start = Clock::now();
  while (since(start) < seconds && !interrupted_by) {
    std::vector<Frame> frames = hear(all, 100);
    for (auto frame = frames.begin(); frame != frames.end(); ++frame) {
      if (frame->type == FrameType::abort) return std::nullopt;
      if (frame->type != type) continue;
      all.unheard.assign(std::next(frame), frames.end());
      return std::move(*frame);
    }
    if (descriptors(all).empty()) return std::nullopt;
  }
  return std::nullopt;
}

std::vector<int> descriptors(const Rendezvous& all) {
  std::vector<int> out;
  for (const Peer& peer : all.peers) {
    if (peer.socket >= 0) out.push_back(peer.socket);
  }
  return out;
}

}  // namespace wheelvet::probe
