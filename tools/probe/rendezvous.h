// The probes of one run on several hosts, in touch by TCP: a star around rank 0.
//
// Who may connect: anyone who reaches the port, as with NCCL's own bootstrap. Frames carry a
// checksum under the run's name, so that two runs on one port do not mix; it is no secret.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frame.h"
#include "launcher.h"

namespace wheelvet::probe {

struct Peer {
  int rank = 0;
  int socket = -1;
  std::string received;
  std::string hello;                  // what it said of itself
  std::optional<std::string> report;  // its answer, once it came
};

struct Rendezvous {
  Place place;
  FrameKey key{};
  int listener = -1;
  std::vector<Peer> peers;         // of rank 0: all others, in order; of the others: rank 0
  std::vector<std::string> notes;  // who else knocked
  std::vector<Frame> unheard;      // came together with one that was awaited

  explicit Rendezvous(const Place& where);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
};

/// Brings the ranks together within `seconds`. Empty when all are there; else what went wrong, and
/// those that did not come have no socket.
std::string meet(Rendezvous& all, const std::string& hello, double seconds);

void tell(Peer& peer, const FrameKey& key, FrameType type, std::string_view payload);
void tell_all(Rendezvous& all, FrameType type, std::string_view payload);

/// What came within `milliseconds`. Reports are kept with their peer and not returned. A peer whose
/// connection ended loses its socket and counts as an abort if it had not reported.
std::vector<Frame> hear(Rendezvous& all, int milliseconds);

/// Waits for a frame of this type. Nothing when an abort came before it, or no time is left. What
/// came with it is heard next: rank 0 says "go" and shares its id at once.
std::optional<Frame> await(Rendezvous& all, FrameType type, double seconds);

/// The sockets to wait for.
std::vector<int> descriptors(const Rendezvous& all);

}  // namespace wheelvet::probe
