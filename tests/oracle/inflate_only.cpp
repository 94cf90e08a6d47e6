// The least that reading a wheel's members takes: isa-l's inflate and CRC-32 over windows that stay
// in the cache, and nothing kept. tools/bench compares the whole of `check` with it.
//   inflate_only WHEEL THREADS < lines of "offset packed-size", the largest first
#include <fcntl.h>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t window = 256u << 10;

struct Span {
  std::uint64_t offset = 0, size = 0;
};

void inflate(int file, Span span, std::uint64_t& bytes) {
  thread_local auto state = std::make_unique<inflate_state>();
  thread_local std::vector<std::uint8_t> in(window), out(window);
  isal_inflate_init(state.get());
  std::uint32_t crc = 0;
  while (state->block_state != ISAL_BLOCK_FINISH) {
    if (state->avail_in == 0 && span.size > 0) {
      std::uint64_t n = std::min(window, span.size);
      if (pread(file, in.data(), n, static_cast<off_t>(span.offset)) != static_cast<ssize_t>(n)) {
        std::abort();
      }
      state->next_in = in.data();
      state->avail_in = static_cast<std::uint32_t>(n);
      span.offset += n;
      span.size -= n;
    }
    state->next_out = out.data();
    state->avail_out = window;
    if (isal_inflate(state.get()) < 0) std::abort();
    std::uint64_t made = window - state->avail_out;
    if (made == 0 && state->avail_in == 0 && span.size == 0) std::abort();
    crc = crc32_gzip_refl(crc, out.data(), made);
    bytes += made;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int file = open(argv[1], O_RDONLY | O_CLOEXEC);
  if (file < 0) return 3;
  std::vector<Span> members;
  unsigned long offset = 0, size = 0;
  while (std::scanf("%lu %lu", &offset, &size) == 2) members.push_back({offset, size});
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> total{0};
  auto work = [&] {
    std::uint64_t bytes = 0;
    for (std::size_t i = next++; i < members.size(); i = next++) inflate(file, members[i], bytes);
    total += bytes;
  };
  {
    std::vector<std::jthread> pool;
    for (int i = 1; i < std::atoi(argv[2]); ++i) pool.emplace_back(work);
    work();
  }
  std::printf("%lu\n", static_cast<unsigned long>(total.load()));
}
