/* Stands still below functions whose names the test knows. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static int innermost_function(int value) {
  while (1) pause();
  return value;
}
__attribute__((noinline)) static int middle_function(int value) { return innermost_function(value) + 1; }
__attribute__((noinline)) static int outermost_function(int value) { return middle_function(value) + 1; }

int main(int count, char** arguments) {
  (void)arguments;
  printf("READY %d\n", getpid());
  fflush(stdout);
  return outermost_function(count);
}
