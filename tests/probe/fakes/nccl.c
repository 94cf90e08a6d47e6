/* NCCL whose ranks meet in shared memory: one process with all of them, or a process each. */
#include "fake.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

enum { most_ranks = 8, slot_bytes = 1 << 20 };
enum { success = 0, remote_error = 6, in_progress = 7 };

/* What the ranks of one communicator share. */
struct Meeting {
  volatile int present; /* ranks that joined */
  volatile int arrived; /* at the barrier of this round */
  volatile int round;
  unsigned char slots[most_ranks][slot_bytes];
};

struct Comm {
  int ranks;
  int rank;
  int aborted;
  int shared; /* the ranks live in several processes */
  struct Meeting* meeting;
};

struct Op {
  char kind; /* a all-reduce, g all-gather, r reduce-scatter, b broadcast, s send, v receive */
  const void* send;
  void* receive;
  size_t count;
  int peer;
  struct Comm* comm;
};

static struct Op ops[64];
static int op_count = 0, depth = 0;

static void write_log(const char* format, int number) {
  const char* path = getenv("NCCL_DEBUG_FILE");
  FILE* file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "host:1:1 [0] NCCL INFO ");
  fprintf(file, format, number);
  fputc('\n', file);
  fclose(file);
}

FAKE int ncclGetVersion(int* version) {
  char variable[64];
  snprintf(variable, sizeof variable, "FAKE_NCCL_VERSION_RANK%d", fake_rank());
  *version = fake_number(variable, fake_number("FAKE_NCCL_VERSION", 22809));
  return fake_fault("ncclGetVersion");
}
FAKE const char* ncclGetErrorString(int code) {
  return code == 5 ? "invalid usage" : code == 2 ? "unhandled system error" : "some error";
}
FAKE const char* ncclGetLastError(void* comm) {
  (void)comm;
  return "words of the fake NCCL";
}

/* The id is the path of the meeting place. */
FAKE int ncclGetUniqueId(char* id) {
  int fault = fake_fault("ncclGetUniqueId");
  if (fault) return fault;
  memset(id, 0, 128);
  snprintf(id, 128, "%s/meeting-XXXXXX", getenv("FAKE_NCCL_FOLDER"));
  int file = mkstemp(id);
  if (file < 0 || ftruncate(file, sizeof(struct Meeting)) != 0) return 2;
  close(file);
  return success;
}

static struct Meeting* meet(const char* path) {
  int file = open(path, O_RDWR);
  void* memory = mmap(NULL, sizeof(struct Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

static void introduce(int ranks) {
  write_log("NCCL version 2.28.9+cuda13.0", 0);
  write_log("NCCL_NVLS_ENABLE set by environment to 0.", 0);
  write_log("%d coll channels, 0 collnet channels, 0 nvls channels, 32 p2p channels", 24);
  if (ranks > 1) write_log("Channel 00/0 : 0[0] -> %d[1] via P2P/direct", 1);
}

struct Id {
  char path[128];
};

/* Blocks, as the real one does unless its configuration says otherwise, until every rank is there.
 */
FAKE int ncclCommInitRank(struct Comm** out, int ranks, struct Id id, int rank) {
  int fault = fake_fault("ncclCommInitRank");
  if (fault) return fault;
  if (fake_number("FAKE_NCCL_STRICT", 0) && getenv("NCCL_ALGO")) return 5;
  struct Comm* comm = calloc(1, sizeof *comm);
  *comm = (struct Comm){ranks, rank, 0, 1, meet(id.path)};
  *out = comm;
  if (!comm->meeting) return 2;
  __atomic_add_fetch(&comm->meeting->present, 1, __ATOMIC_SEQ_CST);
  introduce(ranks);
  while (comm->meeting->present < ranks) usleep(100);
  return success;
}

struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

FAKE int ncclCommInitRankConfig(struct Comm** out, int ranks, struct Id id, int rank,
                                const struct Config* config) {
  int fault = fake_fault("ncclCommInitRankConfig");
  if (fault) return fault;
  if (config->magic != 0xcafebeef || config->blocking) return 4;
  struct Comm* comm = calloc(1, sizeof *comm);
  *comm = (struct Comm){ranks, rank, 0, 1, meet(id.path)};
  *out = comm;
  return comm->meeting ? in_progress : 2;
}
FAKE int ncclCommInitAll(struct Comm** comms, int count, const int* devices) {
  (void)devices;
  int fault = fake_fault("ncclCommInitAll");
  if (fault) return fault;
  if (getenv("NCCL_ALGO")) return 5;
  for (int rank = 0; rank < count; ++rank) {
    comms[rank] = calloc(1, sizeof(struct Comm));
    *comms[rank] = (struct Comm){count, rank, 0, 0, NULL};
  }
  introduce(count);
  return success;
}
FAKE int ncclCommDestroy(struct Comm* comm) {
  int fault = fake_fault("ncclCommDestroy");
  free(comm);
  return fault;
}
FAKE int ncclCommAbort(struct Comm* comm) {
  comm->aborted = 1;
  return fake_fault("ncclCommAbort");
}
FAKE int ncclCommGetAsyncError(struct Comm* comm, int* code) {
  int fault = fake_fault("ncclCommGetAsyncError");
  *code = fault                                                  ? fault
          : comm->shared && comm->meeting->present < comm->ranks ? in_progress
                                                                 : success;
  return success;
}

/* As on a GPU: whoever waits for a rank that never comes returns at once, and its stream never
 * ends. */
static int barrier(struct Comm* comm) {
  struct Meeting* meeting = comm->meeting;
  int round = meeting->round;
  if (__atomic_add_fetch(&meeting->arrived, 1, __ATOMIC_SEQ_CST) == comm->ranks) {
    meeting->arrived = 0;
    meeting->round = round + 1;
    syscall(SYS_futex, &meeting->round, FUTEX_WAKE, most_ranks, NULL, NULL, 0);
    return 1;
  }
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  volatile int* stalled = driver ? dlsym(driver, "fake_stream_stalled") : NULL;
  for (int waited = 0; waited < 100 && !(stalled && *stalled); ++waited) {
    const struct timespec slice = {0, 10000000};
    syscall(SYS_futex, &meeting->round, FUTEX_WAIT, round, &slice, NULL, 0);
    if (meeting->round != round) return 1;
  }
  if (stalled) *stalled = 1;
  return 0;
}

static void compute(const struct Op* op, const void* const* sent) {
  int ranks = op->comm->ranks, rank = op->comm->rank;
  uint32_t* out = op->receive;
  size_t count = op->count, first = op->kind == 'r' ? (size_t)rank * count : 0;
  if (op->kind == 'b' || op->kind == 'v') memcpy(out, sent[op->peer], count * 4);
  if (op->kind == 'g') {
    for (int from = 0; from < ranks; ++from)
      memcpy(out + (size_t)from * count, sent[from], count * 4);
  }
  if (op->kind != 'a' && op->kind != 'r') return;
  for (size_t i = 0; i < count; ++i) {
    out[i] = 0;
    for (int from = 0; from < ranks; ++from) out[i] += ((const uint32_t*)sent[from])[first + i];
  }
  if (fake_number("FAKE_NCCL_WRONG", 0)) out[0] += 1;
}

static size_t sent_bytes(const struct Op* op) {
  return op->count * 4 * (op->kind == 'r' ? (size_t)op->comm->ranks : 1);
}

static int run_shared(const struct Op* op, const void* own) {
  struct Meeting* meeting = op->comm->meeting;
  const void* sent[most_ranks];
  for (int rank = 0; rank < most_ranks; ++rank) sent[rank] = meeting->slots[rank];
  if (sent_bytes(op) > slot_bytes) return 2;
  memcpy(meeting->slots[op->comm->rank], own, sent_bytes(op));
  if (!barrier(op->comm)) return success;
  compute(op, sent);
  barrier(op->comm);
  return success;
}

/* A setting that costs time: where FAKE_NCCL_SLOW names it and it is set, an all-reduce takes 3 ms
 * more. */
static void wait_if_slow(void) {
  const char* name = getenv("FAKE_NCCL_SLOW");
  if (name && getenv(name) && op_count && ops[0].kind == 'a') usleep(3000);
}

static int run_ops(void) {
  wait_if_slow();
  const void* sent[most_ranks] = {0};
  for (int i = 0; i < op_count; ++i) {
    if (ops[i].send) sent[ops[i].comm->rank] = ops[i].send;
  }
  int code = success;
  for (int i = 0; i < op_count && code == success; ++i) {
    if (ops[i].kind == 's') continue; /* its receiver fetches it */
    if (ops[i].comm->shared)
      code = run_shared(&ops[i], sent[ops[i].comm->rank]);
    else
      compute(&ops[i], sent);
  }
  op_count = 0;
  return code;
}

static int add(const char* name, struct Op op) {
  int fault = fake_fault(name);
  if (fault) return fault;
  ops[op_count++] = op;
  return depth ? success : run_ops();
}

FAKE int ncclGroupStart(void) {
  ++depth;
  return success;
}
FAKE int ncclGroupEnd(void) {
  int fault = fake_fault("ncclGroupEnd");
  if (fault) return fault;
  return --depth ? success : run_ops();
}
FAKE int ncclAllReduce(const void* send, void* receive, size_t count, int type, int operation,
                       struct Comm* comm, void* stream) {
  (void)type, (void)operation, (void)stream;
  return add("ncclAllReduce", (struct Op){'a', send, receive, count, 0, comm});
}
FAKE int ncclAllGather(const void* send, void* receive, size_t count, int type, struct Comm* comm,
                       void* stream) {
  (void)type, (void)stream;
  return add("ncclAllGather", (struct Op){'g', send, receive, count, 0, comm});
}
FAKE int ncclReduceScatter(const void* send, void* receive, size_t count, int type, int operation,
                           struct Comm* comm, void* stream) {
  (void)type, (void)operation, (void)stream;
  return add("ncclReduceScatter", (struct Op){'r', send, receive, count, 0, comm});
}
FAKE int ncclBroadcast(const void* send, void* receive, size_t count, int type, int root,
                       struct Comm* comm, void* stream) {
  (void)type, (void)stream;
  return add("ncclBroadcast", (struct Op){'b', send, receive, count, root, comm});
}
FAKE int ncclSend(const void* send, size_t count, int type, int peer, struct Comm* comm,
                  void* stream) {
  (void)type, (void)stream;
  return add("ncclSend", (struct Op){'s', send, NULL, count, peer, comm});
}
FAKE int ncclRecv(void* receive, size_t count, int type, int peer, struct Comm* comm,
                  void* stream) {
  (void)type, (void)stream;
  return add("ncclRecv", (struct Op){'v', NULL, receive, count, peer, comm});
}
