/* The C interface from C11: the stacks of a process, or of a core.
 *
 *   c_example PID|CORE */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mixstack.h"

static int failed(const char* what, const mixstack_error* error) {
  char words[256];
  mixstack_describe_error(error, words, sizeof words);
  fprintf(stderr, "%s: %s\n", what, words);
  return 2;
}

static int print_dump(const mixstack_dump* dump) {
  for (size_t i = 0; i < mixstack_thread_count(dump); i++) {
    /* The size says which members we know; later versions have more. */
    mixstack_thread thread = {.size = sizeof thread};
    if (mixstack_get_thread(dump, i, &thread) != 0) return 1;
    printf("thread %" PRIu32 " %s: %s\n", thread.tid, thread.name, thread.stop_reason);
    for (size_t j = 0; j < thread.frame_count; j++) {
      mixstack_frame frame = {.size = sizeof frame};
      if (mixstack_get_frame(dump, i, j, &frame) != 0) return 1;
      char text[1024]; /* never empty: module and offset where nobody knows a name */
      mixstack_frame_text(dump, i, j, text, sizeof text);
      printf("  #%-2zu %c %s\n", j, frame.kind == MIXSTACK_MANAGED ? 'M' : 'N', text);
    }
  }
  return 0;
}

int main(int count, char** arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: c_example PID|CORE\n");
    return 2;
  }
  mixstack_error error = {.size = sizeof error};
  char* end = NULL;
  const unsigned long pid = strtoul(arguments[1], &end, 10);
  mixstack_session* session =
      *end == '\0' ? mixstack_open_process((uint32_t)pid, &error) : mixstack_open_core(arguments[1], NULL, &error);
  if (session == NULL) return failed(arguments[1], &error);
  mixstack_options options = {.size = sizeof options, .stop_timeout_ms = 1000};
  mixstack_dump* dump = mixstack_take_dump(session, &options, &error);
  mixstack_close(session); /* the dump outlives it */
  if (dump == NULL) return failed(arguments[1], &error);
  const int status = print_dump(dump);
  mixstack_free_dump(dump);
  return status;
}
