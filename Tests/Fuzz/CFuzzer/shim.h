#pragma once
#include <stddef.h>
#include <stdint.h>

// libFuzzer's entry point for programs that have a main function of their own. It does not return.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*target)(const uint8_t *bytes, size_t count));
