// The driver's side of every step that uses a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "answer.h"
#include "channel.h"
#include "driver_api.h"
#include "request.h"

namespace wheelvet::probe {

/// What a step has at hand.
struct Step {
  const Request& request;
  Channel channel;
  Answer answer;
};

/// Tells the parent what comes next, for when it never comes back.
void about_to(Step& step, const std::string& what);

struct Gpu {
  int index = 0;
  int device = 0;
  int capability_major = 0;
  int capability_minor = 0;
  Handle context = nullptr;  // the primary one, which CUDA's runtime libraries share
};

/// Throws StepEnds with the driver's own name of the code.
void must(const Driver& driver, int code, const std::string& call);

/// Opens and initialises the driver. StepEnds (not run) when there is none to ask.
Driver open_driver(Step& step);

/// Every visible GPU; at least one.
std::vector<Gpu> list_gpus(const Driver& driver);

/// Retains the primary context and makes it current.
void use(const Driver& driver, Gpu& gpu);

/// Launches wheelvet_mix or a function of its parameters and checks what it wrote.
/// Returns what was seen, `agrees` set.
Check launch_and_check(const Driver& driver, Handle function, std::uint32_t seed);

std::string capability(const Gpu& gpu);  // such as "sm_90"

}  // namespace wheelvet::probe
