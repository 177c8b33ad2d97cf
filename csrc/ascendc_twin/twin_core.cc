// What needs no types of the kernel, in one unit: a library of its own, or behind a kernel text.
#include "chip.cc"
#include "core.cc"
#include "device.cc"
#include "global_memory.cc"
#include "lanes.cc"
#include "pipe.cc"
#include "served.cc"
#include "twin_driver.cc"
