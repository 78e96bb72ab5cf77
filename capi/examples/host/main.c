/* The example on a computer with an operating system. */
#include <stdio.h>

#include "../im2col.h"

static void print(const char *text) { puts(text); }

int main(void) { return im2col_example("host", print); }
