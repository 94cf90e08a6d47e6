/* NVRTC's built-in functions: that they are there is all the fake NVRTC asks. */
__attribute__((visibility("default"))) int fake_nvrtc_builtins = 1;
