#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>

#include "frame.h"
#include "nccl_log.h"
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
