/* The C interface from C11: the stacks of a process or of a core, why it is stuck, what it did for a second, and its
 * busiest threads.
 *
 *   c_example PID|CORE */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

/* Verdicts, as data in JSON (docs/formats/why.schema.json), are more; here is what the command prints. */
static int print_why(mixstack_session* session, mixstack_error* error) {
  const mixstack_why_options options = {.size = sizeof options, .no_samples = 1};
  mixstack_answer* answer = mixstack_why(session, &options, error);
  if (answer == NULL) return failed("why", error);
  printf("why (%d):\n%s", mixstack_answer_verdict(answer), mixstack_answer_text(answer));
  mixstack_free_answer(answer);
  return 0;
}

static int32_t on_progress(void* context, const mixstack_record_progress* now) {
  if (now->step == MIXSTACK_RECORD_SAMPLE) ++*(int*)context;
  return 1; /* 0 would end it, with what was recorded until then */
}

static int print_recording(mixstack_session* session, mixstack_error* error) {
  int calls = 0;
  const mixstack_record_options options = {
      .size = sizeof options, .duration_ms = 1000, .mode = MIXSTACK_WALL, .progress = on_progress, .context = &calls};
  mixstack_recording* recording = mixstack_record(session, &options, error);
  if (recording == NULL) return failed("record", error);
  printf("recorded: %" PRIu64 " samples, %d reports\n", mixstack_recording_samples(recording), calls);
  for (size_t i = 0; i < mixstack_function_count(recording) && i < 5; i++) {
    mixstack_function function = {.size = sizeof function};
    if (mixstack_get_function(recording, i, &function) != 0) break;
    printf("  %6.0f ms %s\n", (double)function.self_ns / 1e6, function.name);
  }
  size_t size = 0; /* open it with speedscope, Firefox Profiler, pprof, ... */
  const char* file = mixstack_recording_file(recording, "speedscope", &size);
  printf("speedscope: %zu bytes\n", size);
  mixstack_free_recording(recording);
  return file == NULL;
}

static int print_top(uint32_t pid, mixstack_error* error) {
  mixstack_top* top = mixstack_open_top(pid, NULL, error);
  if (top == NULL) return failed("top", error);
  const struct timespec second = {1, 0};
  (void)nanosleep(&second, NULL);
  (void)mixstack_next_top(top);
  const mixstack_top_question question = {
      .size = sizeof question, .list = MIXSTACK_TOP_THREADS, .states = MIXSTACK_TOP_ALL, .most_rows = 3};
  const size_t rows = mixstack_top_rows(top, &question);
  printf("top: %zu threads\n", rows);
  for (size_t i = 0; i < rows; i++) {
    mixstack_top_row row = {.size = sizeof row};
    if (mixstack_get_top_row(top, i, &row) == 0) printf("  %6.0f ms %s\n", (double)row.self_ns / 1e6, row.name);
  }
  mixstack_close_top(top);
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
  if (dump == NULL) {
    mixstack_close(session);
    return failed(arguments[1], &error);
  }
  int status = print_dump(dump);
  mixstack_free_dump(dump);
  if (status == 0) status = print_why(session, &error); /* the same session: nothing is opened again */
  if (status == 0 && *end == '\0') status = print_recording(session, &error);
  mixstack_close(session);
  if (status == 0 && *end == '\0') status = print_top((uint32_t)pid, &error);
  return status;
}
