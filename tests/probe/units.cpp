#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "frame.h"
#include "launcher.h"
#include "nccl_log.h"
#include "rendezvous.h"
#include "sweep.h"
#include "tuning.h"

using namespace wheelvet::probe;

namespace {

FrameKey counting_key() {
  FrameKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<unsigned char>(i);
  return key;
}

Decoded decode_all(const FrameKey& key, std::string bytes) {
  Frame frame;
  return decode(key, bytes, frame);
}

/// A round of one collective at one size.
std::vector<Figure> round_of(double microseconds) {
  Figure figure;
  figure.collective = "all-reduce";
  figure.bytes = 1024;
  figure.microseconds = microseconds;
  return {figure};
}

std::string effect(const std::vector<double>& without, const std::vector<double>& with) {
  std::vector<std::vector<Figure>> before, after;
  for (double time : without) before.push_back(round_of(time));
  for (double time : with) after.push_back(round_of(time));
  return compare("NCCL_X=1", before, after).effect;
}

}  // namespace

TEST_CASE("a setting helps or harms only beyond 5 % and beyond the default's own spread") {
  CHECK(effect({100, 101, 99}, {80, 81, 79}) == "helps");
  CHECK(effect({100, 101, 99}, {130, 131, 129}) == "harms");
  CHECK(effect({100, 101, 99}, {104, 104, 104}) == "none");
  CHECK(effect({100, 60, 140}, {130, 131, 129}) == "none");
}

TEST_CASE("a tuned cell tells medians and the change of speed") {
  TunedSetting tuned = compare("NCCL_X=1", {round_of(100), round_of(300), round_of(200)},
                               {round_of(100), round_of(100), round_of(900)});
  CHECK(tuned.cells.at(0).without == doctest::Approx(200));
  CHECK(tuned.cells.at(0).with == doctest::Approx(100));
  CHECK(tuned.cells.at(0).change == doctest::Approx(100));
}

TEST_CASE("a sweep's best block is the one that helps, as lines for a shell") {
  setenv("NCCL_PROTO", "LL", 1);
  std::string wrong;
  std::vector<SettingBlock> grid =
      grid_of({"NCCL_PROTO=Simple", "NCCL_NTHREADS=256,bad", "NCCL_X=1"}, wrong);
  CHECK(grid.size() == 12);
  auto has = [](const std::vector<std::string>& changes, const std::string& one) {
    return std::find(changes.begin(), changes.end(), one) != changes.end();
  };
  int runs = 0;
  auto measure = [&](const std::vector<std::string>& changes) {
    ++runs;
    StepReport step;
    bool refused = has(changes, "NCCL_NTHREADS=bad");
    step.outcome = refused ? Outcome::fail : Outcome::pass;
    if (refused) step.reason = "refused";
    double time = 100;
    if (has(changes, "NCCL_PROTO=Simple")) time -= 40;
    if (has(changes, "NCCL_PROTO")) time -= 20;  // as NCCL chooses by itself
    if (has(changes, "NCCL_X=1")) time += 30;
    step.answer.figures = round_of(time);
    return step;
  };
  Sweep swept = sweep(grid, 2, measure);
  unsetenv("NCCL_PROTO");
  CHECK(swept.tried == 12);
  CHECK(swept.failed == 4);
  CHECK(swept.best == std::vector<std::string>{"export NCCL_PROTO=Simple"});
  CHECK(swept.gain == doctest::Approx(100.0 * 100 / 60 - 100));
  CHECK(runs <= static_cast<int>(most_sweep_runs(grid.size(), 2)));
}

TEST_CASE("a sweep in which nothing is faster has no best block") {
  std::string wrong;
  std::vector<SettingBlock> grid = grid_of({"NCCL_PROTO=Simple,LL"}, wrong);
  Sweep swept = sweep(grid, 2, [](const std::vector<std::string>&) {
    StepReport step;
    step.outcome = Outcome::pass;
    step.answer.figures = round_of(100);
    return step;
  });
  CHECK(swept.best.empty());
  CHECK(swept.finals.empty());
}

TEST_CASE("the checksum is SipHash-2-4 as its authors' test vectors have it") {
  // Key 00 .. 0f, message 00 .. 0e: the paper's appendix A.
  std::string message;
  for (char c = 0; c < 15; ++c) message += c;
  CHECK(siphash(counting_key(), message) == 0xa129ca6149be45e5u);
}

TEST_CASE("frames come back whole and in order, however they are cut") {
  FrameKey key = counting_key();
  std::string bytes = encode(key, FrameType::stage, "first") + encode(key, FrameType::result, "{}");
  std::string buffer;
  std::string seen;
  for (char byte : bytes) {
    buffer += byte;
    Frame frame;
    if (decode(key, buffer, frame) == Decoded::frame) seen += frame.payload + ";";
  }
  CHECK(seen == "first;{};");
  CHECK(buffer.empty());
}

TEST_CASE("no changed byte of a frame goes unseen") {
  FrameKey key = counting_key();
  std::string good = encode(key, FrameType::result, "{\"outcome\":\"fail\"}");
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (char change : {'\1', '\x80'}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      CAPTURE(i);
      CHECK(decode_all(key, bad) != Decoded::frame);
    }
  }
}

TEST_CASE("a frame under another key is forged") {
  CHECK(decode_all(random_key(), encode(random_key(), FrameType::result, "{}")) == Decoded::forged);
}

TEST_CASE("a length that no frame has is forged at once, not waited for") {
  std::string bytes = encode(counting_key(), FrameType::result, "{}");
  bytes[11] = '\x7f';
  CHECK(decode_all(counting_key(), bytes) == Decoded::forged);
}

TEST_CASE("what came together with the frame that was awaited is heard next") {
  Place place;
  place.ranks = 2;
  place.rank = 1;
  place.run = "one";
  Rendezvous all(place);
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  all.peers.front().socket = ends[0];
  Peer zero;
  zero.socket = ends[1];
  tell(zero, all.key, FrameType::go, "");
  tell(zero, all.key, FrameType::share, "the id");
  REQUIRE(await(all, FrameType::go, 5).has_value());
  std::vector<Frame> next = hear(all, 0);
  REQUIRE(next.size() == 1);
  CHECK(next[0].type == FrameType::share);
  CHECK(next[0].payload == "the id");
  CHECK(hear(all, 0).empty());
  tell(zero, all.key, FrameType::abort, "");
  tell(zero, all.key, FrameType::go, "");
  CHECK(!await(all, FrameType::go, 5).has_value());
  close(zero.socket);
}

TEST_CASE("NCCL's log tells version, channels, transports, network, settings and warnings") {
  char path[] = "/tmp/wheelvet-nccl-log-XXXXXX";
  REQUIRE(mkstemp(path) >= 0);
  std::ofstream(path)
      << "h:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n"
         "h:1:1 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n"
         "h:1:1 [0] NCCL INFO Using network Socket\n"
         "h:1:1 [0] NCCL INFO 24 coll channels, 0 collnet channels, 0 nvls channels\n"
         "h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
         "h:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
         "\n[2026] h:1:1 [0] misc/x.cc:1 NCCL WARN something is off\n";
  NcclLog log;
  read_nccl_log(path, log);
  std::remove(path);
  CHECK(log.version == "2.28.9+cuda13.0");
  CHECK(log.channels == 24);
  CHECK(log.network == "Socket");
  CHECK(log.transports == std::vector<std::string>{"P2P/CUMEM"});
  CHECK(log.settings == std::vector<std::string>{"NCCL_NVLS_ENABLE=0"});
  CHECK(log.warnings == std::vector<std::string>{"something is off"});
}

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// Sets variables of a launcher and takes them away again.
struct Variables {
  std::vector<std::string> names;
  explicit Variables(const Settings& values) {
    for (const auto& [name, value] : values) {
      setenv(name.c_str(), value.c_str(), 1);
      names.push_back(name);
    }
  }
  ~Variables() {
    for (const std::string& name : names) unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
};

}  // namespace

TEST_CASE("the first host of a list as SLURM writes it") {
  CHECK(first_host("gpu07") == "gpu07");
  CHECK(first_host("a1,b2") == "a1");
  CHECK(first_host("node[003-012,020],login1") == "node003");
  CHECK(first_host("node[7]-ib,x") == "node7-ib");
  CHECK(first_host("node[7") == "");
}

TEST_CASE("mpirun inside an allocation of SLURM counts ranks, SLURM its daemons") {
  Variables set(Settings{{"SLURM_PROCID", "1"},
                         {"SLURM_NTASKS", "2"},
                         {"SLURM_STEP_NODELIST", "n[1-2]"},
                         {"OMPI_COMM_WORLD_RANK", "9"},
                         {"OMPI_COMM_WORLD_SIZE", "16"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  std::string wrong;
  std::optional<Place> place = find_place("auto", "", wrong);
  REQUIRE(place);
  CHECK(place->launcher == "openmpi");
  CHECK(place->rank == 9);
  CHECK(place->ranks == 16);
  CHECK(place->local_rank == 1);
  CHECK(place->address == "n1");
  CHECK(find_place("slurm", "", wrong)->rank == 1);
}

TEST_CASE("torchrun's agent keeps MASTER_PORT where it says so") {
  Variables set(
      Settings{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "29500"}});
  std::string wrong;
  CHECK(find_place("auto", "", wrong)->port == 29500);
  Variables agent(Settings{{"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  CHECK(find_place("auto", "", wrong)->port == 29501);
  CHECK(find_place("auto", "[::1]:7", wrong)->port == 7);
  CHECK(find_place("auto", "[::1]:7", wrong)->address == "::1");
}

TEST_CASE("a rank outside its world, a bad rendezvous and no address are told") {
  std::string wrong;
  Variables set(Settings{{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}});
  CHECK_FALSE(find_place("pmi", "h:1", wrong));
  CHECK(wrong.find("PMI_RANK=2") != std::string::npos);
  Variables right(Settings{{"PMI_RANK", "1"}});
  for (const char* text : {"h", ":1", "h:0", "h:65536", "h:x"}) {
    CHECK_FALSE(find_place("pmi", text, wrong));
  }
  CHECK_FALSE(find_place("pmi", "", wrong));
  CHECK(wrong.find("--rendezvous") != std::string::npos);
  Variables alone(Settings{{"MPI_LOCALNRANKS", "2"}});
  CHECK(find_place("pmi", "", wrong)->address == "127.0.0.1");
}
