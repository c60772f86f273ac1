// A static program without a runtime, not relocatable: what a walk finds at its very entry and in its main.
#include <unistd.h>

int main() {
  for (;;) pause();
}
