/* linked.cu again, of PTX alone: the device's linker has nothing to link then, and leaves it all to the driver. */
#include "linked.cu"
