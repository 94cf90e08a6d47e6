// One function per step. Each fills step.answer, or throws StepEnds.
#pragma once

#include "gpu.h"

namespace wheelvet::probe {

void ask_driver(Step& step);
void run_kernel(Step& step);
void run_nvrtc(Step& step);
void run_curand(Step& step);
void run_cublas(Step& step);
void run_nccl_one_process(Step& step);
void run_nccl_rank(Step& step);
void run_nccl_abort(Step& step);
void run_device_code(Step& step);
void run_load(Step& step);

/// What a child process does: runs the step that the request names and answers on the channel.
int run_step(const Request& request);

/// Does on purpose, in a step's process, what --rehearse names. The kernel faults are the kernel
/// step's own.
void rehearse(const std::string& fault);

}  // namespace wheelvet::probe
