/* mixstack for C and for everything that calls C: the stacks of a .NET or native process, or of its core.
 *
 * Objects are opaque and freed by their owner. Texts belong to the object they came from and are UTF-8. Structures
 * begin with their size, which the caller sets: later versions add members at the end. Of a smaller structure only what
 * it has is read or written; of a larger one what this version does not know must be 0 where it is read, and is not
 * touched where it is written. Numbers of enumerators never change. No function throws or exits. A session is used by
 * one thread at a time, different sessions by different threads; a dump is read by any number of threads. */
#ifndef MIXSTACK_H
#define MIXSTACK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MIXSTACK_API __attribute__((visibility("default")))
#else
#define MIXSTACK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mixstack_session mixstack_session;
typedef struct mixstack_dump mixstack_dump;
typedef struct mixstack_answer mixstack_answer;
typedef struct mixstack_recording mixstack_recording;
typedef struct mixstack_top mixstack_top;

/* What each means: mixstack/result.h. */
enum mixstack_error_code {
  MIXSTACK_OK = 0,
  MIXSTACK_UNREADABLE_MEMORY = 1,
  MIXSTACK_TRUNCATED = 2,
  MIXSTACK_MALFORMED = 3,
  MIXSTACK_LIMIT_EXCEEDED = 4,
  MIXSTACK_NOT_FOUND = 5,
  MIXSTACK_UNSUPPORTED = 6,
  MIXSTACK_MISMATCH = 7,
  MIXSTACK_IO_ERROR = 8,
  MIXSTACK_NO_SUCH_PROCESS = 9,
  MIXSTACK_NO_SUCH_THREAD = 10,
  MIXSTACK_PERMISSION_DENIED = 11,
  MIXSTACK_ALREADY_TRACED = 12,
  MIXSTACK_THREAD_NOT_STOPPED = 13,
  MIXSTACK_UNSUPPORTED_CPU = 14,
  MIXSTACK_PROCESS_CHANGED = 15,
  MIXSTACK_NO_UNWIND_INFO = 16,
  MIXSTACK_REGISTER_UNKNOWN = 17,
  MIXSTACK_STACK_NOT_ADVANCING = 18,
  MIXSTACK_BAD_RETURN_ADDRESS = 19,
  MIXSTACK_RUNTIME_NOT_FOUND = 20,
  MIXSTACK_CONTRACT_UNSUPPORTED = 21,
  MIXSTACK_FIELD_UNAVAILABLE = 22,
  MIXSTACK_INVALID_ARGUMENT = 23,
  MIXSTACK_INTERNAL = 24,
  MIXSTACK_CANCELLED = 25
};

/* What failed. */
typedef struct mixstack_error {
  size_t size;
  int32_t code;     /* mixstack_error_code */
  int32_t os_error; /* errno, or 0 */
  uint64_t value;   /* what the code documents: an address, a number */
} mixstack_error;

typedef struct mixstack_core_options {
  size_t size;
  const char* const* sysroots; /* folders with the files of the core's machine */
  size_t sysroot_count;
  const char* executable; /* the program's own file; NULL: by the path in the core */
  int32_t only_sysroot;   /* not 0: never look at this machine's own files */
  int32_t reserved;       /* 0 */
} mixstack_core_options;

/* How the threads of our own process other than the calling one are captured. */
enum mixstack_own_threads {
  MIXSTACK_CALLING_ONLY = 0,
  MIXSTACK_BY_SIGNAL = 1, /* each runs a handler, installed for the time of a capture */
  MIXSTACK_BY_HELPER = 2  /* a child process captures us */
};

typedef struct mixstack_self_options {
  size_t size;
  int32_t other_threads;      /* mixstack_own_threads */
  int32_t signal;             /* for MIXSTACK_BY_SIGNAL: one that nobody else uses */
  uint32_t helper_timeout_ms; /* for MIXSTACK_BY_HELPER; 0: 5000 */
  int32_t reserved;           /* 0 */
} mixstack_self_options;

typedef struct mixstack_options {
  size_t size;
  const uint32_t* threads; /* ids; NULL: all */
  size_t thread_count;
  uint32_t max_frames;      /* 0: 65536 */
  uint32_t stop_timeout_ms; /* 0: 20 */
  int32_t explicit_frames;  /* not 0: the runtime's explicit Frames, too */
  uint32_t late_timeout_ms; /* 0: 2000; for the next thread that a busy machine did not let stop */
} mixstack_options;

/* The steps of an answer: mixstack/why.h. */
enum mixstack_why_step { MIXSTACK_WHY_LOOK = 0, MIXSTACK_WHY_REST = 1, MIXSTACK_WHY_HEAP = 2, MIXSTACK_WHY_SAMPLE = 3 };

typedef struct mixstack_why_options {
  size_t size;
  uint32_t sample_ms; /* how long a process in which nothing is stuck is sampled; 0: a second, if it runs */
  int32_t no_samples; /* not 0: never */
  int32_t data;       /* not 0: contents of the user's own data, too */
  int32_t reserved;   /* 0 */
  /* Called before each step in the thread that asks; 0 ends the answer with MIXSTACK_CANCELLED. NULL: none. */
  int32_t (*progress)(void* context, int32_t step);
  void* context; /* for `progress` */
} mixstack_why_options;

enum mixstack_record_mode {
  MIXSTACK_WALL = 0, /* what runs and what waits */
  MIXSTACK_CPU = 1   /* what runs */
};

/* The steps of a recording; `sample` comes some ten times a second. */
enum mixstack_record_step { MIXSTACK_RECORD_OPEN = 0, MIXSTACK_RECORD_SAMPLE = 1, MIXSTACK_RECORD_FINISH = 2 };

typedef struct mixstack_record_progress {
  size_t size;
  uint64_t elapsed_ns; /* since the first sample could be taken */
  uint64_t samples;
  uint64_t lost;
  int32_t step; /* mixstack_record_step */
  int32_t reserved;
} mixstack_record_progress;

typedef struct mixstack_record_options {
  size_t size;
  uint32_t duration_ms;  /* 0: until `progress` ends it, or the process ends */
  uint32_t hertz;        /* 0: 100 of wall time, 999 of processor time */
  int32_t mode;          /* mixstack_record_mode */
  int32_t no_stop;       /* not 0: no thread is stopped, even if waiting ones are not seen then */
  int32_t kernel;        /* not 0: frames of the kernel, too */
  int32_t async_callers; /* not 0: async methods that await the sampled one are its callers */
  uint32_t piece_ms;     /* 0: a second */
  int32_t reserved;      /* 0 */
  /* Called at each step in the thread that records; 0 ends the recording, which keeps its samples (before the first
   * one: MIXSTACK_CANCELLED). NULL: none. */
  int32_t (*progress)(void* context, const mixstack_record_progress* now);
  /* Called about once in `piece_ms` and at the end with the samples since the last call, each once. The piece is valid
   * during the call. NULL: none. */
  void (*piece)(void* context, mixstack_recording* piece);
  void* context; /* for both */
} mixstack_record_options;

/* The numbers of the command's exit codes. */
enum mixstack_verdict {
  MIXSTACK_NOTHING_STUCK = 0,
  MIXSTACK_NOT_ALL_KNOWN = 7, /* nothing is known to be stuck, and not everything is known */
  MIXSTACK_STUCK = 11
};

typedef struct mixstack_thread {
  size_t size;
  uint32_t tid;
  uint32_t managed_id;   /* 0: no managed thread, or its id is not known (NativeAOT) */
  const char* name;      /* Thread.Name, else the kernel's name; "" when there is none */
  const char* exception; /* type of the exception in flight, or "" */
  size_t frame_count;
  int32_t captured;        /* 0: it could not be stopped or had gone */
  int32_t is_complete;     /* the stack was walked to its end */
  const char* stop_reason; /* "end_of_stack", ... (mixstack/frame.h) */
} mixstack_thread;

enum mixstack_frame_kind {
  MIXSTACK_NATIVE = 0,
  MIXSTACK_MANAGED = 1,
  MIXSTACK_RUNTIME_FRAME = 2,
  MIXSTACK_RUNTIME_STUB = 3,
  MIXSTACK_SIGNAL_TRAMPOLINE = 4,
  MIXSTACK_UNDESCRIBED = 5
};

/* How sure a frame is, surest first. */
enum mixstack_trust {
  MIXSTACK_CERTAIN = 0,
  MIXSTACK_CHECKPOINT = 1,
  MIXSTACK_FRAME_POINTER = 2,
  MIXSTACK_PROLOGUE = 3,
  MIXSTACK_INFERRED = 4
};

typedef struct mixstack_frame {
  size_t size;
  uint64_t pc;
  uint64_t sp;
  uint64_t cfa;     /* 0 where the walk ended */
  int32_t kind;     /* mixstack_frame_kind */
  int32_t trust;    /* mixstack_trust */
  const char* name; /* "" when nothing is known but module and offset */
  const char* raw_name;
  const char* module;
  const char* module_path;
  uint64_t offset; /* into the named thing, else into the module */
  uint64_t method; /* MethodDesc, or 0 */
} mixstack_frame;

enum mixstack_code_kind {
  MIXSTACK_CODE_MANAGED = 0,
  MIXSTACK_CODE_NATIVE = 1,
  MIXSTACK_CODE_RUNTIME = 2, /* the .NET runtime's own images */
  MIXSTACK_CODE_KERNEL = 3,
  MIXSTACK_CODE_STUB = 4,
  MIXSTACK_CODE_UNKNOWN = 5
};

/* The time of a function in a recording. */
typedef struct mixstack_function {
  size_t size;
  const char* name;     /* never empty */
  const char* raw_name; /* the linker's symbol, or the name in metadata; may be "" */
  const char* module;   /* "" where there is none */
  uint64_t self_ns;     /* in itself */
  uint64_t total_ns;    /* with all that it called; a recursion counts once */
  int32_t kind;         /* mixstack_code_kind */
  int32_t is_user;      /* not 0: of the program itself, not of .NET or the system */
} mixstack_function;

typedef struct mixstack_top_options {
  size_t size;
  uint32_t hertz;       /* 0: 100 of wall time, 999 of processor time */
  int32_t mode;         /* mixstack_record_mode */
  int32_t no_stop;      /* not 0: no thread is stopped, even if waiting ones are not seen then */
  int32_t kernel;       /* not 0: frames of the kernel, too */
  int32_t managed_only; /* not 0: native frames count for their managed callers */
  int32_t reserved;     /* 0 */
} mixstack_top_options;

enum mixstack_top_list { MIXSTACK_TOP_FUNCTIONS = 0, MIXSTACK_TOP_THREADS = 1 };

/* Which time counts. */
enum mixstack_top_states {
  MIXSTACK_TOP_BUSY = 0, /* all but waiting */
  MIXSTACK_TOP_ALL = 1,
  MIXSTACK_TOP_RUNNING = 2,
  MIXSTACK_TOP_RUNNABLE = 3,
  MIXSTACK_TOP_WAITING = 4,
  MIXSTACK_TOP_COLLECTING = 5 /* while the runtime stopped its threads */
};

typedef struct mixstack_top_question {
  size_t size;
  int32_t list;       /* mixstack_top_list */
  int32_t states;     /* mixstack_top_states */
  int32_t whole;      /* not 0: since the start; 0: of the last interval */
  uint32_t most_rows; /* 0: 100 */
} mixstack_top_question;

typedef struct mixstack_top_row {
  size_t size;
  const char* name;   /* of the function or thread, never empty */
  const char* module; /* of a thread: the function that most of its time ended in; may be "" */
  uint64_t self_ns;   /* in itself; counts of samples where periods are not known */
  uint64_t total_ns;  /* with all that it called; of a thread the same */
  uint32_t tid;       /* of a thread */
  int32_t kind;       /* mixstack_code_kind */
} mixstack_top_row;

typedef struct mixstack_pack_options {
  size_t size;
  int32_t full;              /* not 0: all private memory, for debuggers that look at objects */
  int32_t with_environment;  /* not 0: left out otherwise */
  int32_t with_command_line; /* not 0: left out otherwise */
  int32_t read_back;         /* not 0: `fd` is an empty file that can be read: the pack is dumped and compared */
} mixstack_pack_options;

typedef struct mixstack_pack_summary {
  size_t size;
  uint64_t written; /* bytes */
  uint64_t threads;
  uint64_t pause_ns;          /* for which the process stood still */
  uint64_t different_threads; /* with `read_back`: threads whose stacks the pack tells otherwise than the dump */
} mixstack_pack_summary;

/* major << 16 | minor << 8 | patch */
MIXSTACK_API uint32_t mixstack_version(void);

/* NULL on failure; `error` may be NULL. */
MIXSTACK_API mixstack_session* mixstack_open_process(uint32_t pid, mixstack_error* error);
MIXSTACK_API mixstack_session* mixstack_open_core(const char* path, const mixstack_core_options* options,
                                                  mixstack_error* error);
/* Our own process; `options` may be NULL: the calling thread alone. A child made by fork opens its own. */
MIXSTACK_API mixstack_session* mixstack_open_self(const mixstack_self_options* options, mixstack_error* error);
MIXSTACK_API void mixstack_close(mixstack_session* session);

/* Stops the process for the time of a copy, then walks and names. `options` may be NULL. The dump outlives the session.
 */
MIXSTACK_API mixstack_dump* mixstack_take_dump(mixstack_session* session, const mixstack_options* options,
                                               mixstack_error* error);
MIXSTACK_API void mixstack_free_dump(mixstack_dump* dump);

MIXSTACK_API size_t mixstack_thread_count(const mixstack_dump* dump);
/* 0, or -1 for an index beyond the end, a NULL or a `size` without room for a member; nothing is written then. */
MIXSTACK_API int mixstack_get_thread(const mixstack_dump* dump, size_t thread, mixstack_thread* out);
/* Frames are innermost first. */
MIXSTACK_API int mixstack_get_frame(const mixstack_dump* dump, size_t thread, size_t frame, mixstack_frame* out);
/* The whole dump as one JSON document (docs/formats/dump.schema.json). */
MIXSTACK_API const char* mixstack_json(mixstack_dump* dump);

/* What `mixstack dump` prints. */
MIXSTACK_API const char* mixstack_text(mixstack_dump* dump);

/* Why the process is stuck or slow: looks at it as often as it takes, up to some seconds. `options` may be NULL. The
 * answer outlives the session. */
MIXSTACK_API mixstack_answer* mixstack_why(mixstack_session* session, const mixstack_why_options* options,
                                           mixstack_error* error);
MIXSTACK_API void mixstack_free_answer(mixstack_answer* answer);
/* mixstack_verdict; of NULL MIXSTACK_NOT_ALL_KNOWN. */
MIXSTACK_API int mixstack_answer_verdict(const mixstack_answer* answer);
/* The answer as one JSON document (docs/formats/why.schema.json), and as `mixstack why` prints it. */
MIXSTACK_API const char* mixstack_answer_json(mixstack_answer* answer);
MIXSTACK_API const char* mixstack_answer_text(mixstack_answer* answer);

/* What the threads of the process do over a time. Nobody else may use the session meanwhile; other sessions, too, may
 * be recorded at that time. `options` may be NULL: ten seconds of wall time. The recording outlives the session. */
MIXSTACK_API mixstack_recording* mixstack_record(mixstack_session* session, const mixstack_record_options* options,
                                                 mixstack_error* error);
MIXSTACK_API void mixstack_free_recording(mixstack_recording* recording);
MIXSTACK_API uint64_t mixstack_recording_samples(const mixstack_recording* recording);
/* Functions of running threads, most own time first. Not by several threads at once. */
MIXSTACK_API size_t mixstack_function_count(mixstack_recording* recording);
/* 0, or -1 as mixstack_get_thread. Texts live as long as the recording. */
MIXSTACK_API int mixstack_get_function(mixstack_recording* recording, size_t function, mixstack_function* out);
/* The recording as a file of a format ("folded", "speedscope", "pprof", "firefox", "chrome", "html", "svg", "text",
 * "raw"), which may hold any bytes; NULL: no such format. `size` may be NULL. Not by several threads at once. */
MIXSTACK_API const char* mixstack_recording_file(mixstack_recording* recording, const char* format, size_t* size);

/* Where the time of a process goes, again and again, in bounded memory: samples are taken from the call on. `options`
 * may be NULL. Not by several threads at once. */
MIXSTACK_API mixstack_top* mixstack_open_top(uint32_t pid, const mixstack_top_options* options, mixstack_error* error);
MIXSTACK_API void mixstack_close_top(mixstack_top* top);
/* Ends an interval, which is the "last" one from then on. 0: no more samples will come, for the process has ended. */
MIXSTACK_API int mixstack_next_top(mixstack_top* top);
/* Makes the rows for a question (NULL: functions of busy threads, of the last interval), most own time first. */
MIXSTACK_API size_t mixstack_top_rows(mixstack_top* top, const mixstack_top_question* question);
/* 0, or -1 as mixstack_get_thread. Texts live until the next rows are made. */
MIXSTACK_API int mixstack_get_top_row(const mixstack_top* top, size_t row, mixstack_top_row* out);

/* Writes one file to `fd` from which a dump can be made again, anywhere (mixstack_open_core), with the pause of a dump.
 * `options` and `out` may be NULL. 0, or -1 with `error`: that of opening or dumping the process; MIXSTACK_IO_ERROR
 * with value 1: it could not be written. */
MIXSTACK_API int mixstack_pack(uint32_t pid, int fd, const mixstack_pack_options* options, mixstack_pack_summary* out,
                               mixstack_error* error);

/* Both write at most `capacity` bytes with the 0 at the end, and answer the length of the whole text without it. */
/* One frame as a line of a report, never empty: "Queue.Take(int)  (orders)", "libc.so.6+0x91f16". */
MIXSTACK_API size_t mixstack_frame_text(const mixstack_dump* dump, size_t thread, size_t frame, char* out,
                                        size_t capacity);
/* What happened: "not found: No such file or directory". */
MIXSTACK_API size_t mixstack_describe_error(const mixstack_error* error, char* out, size_t capacity);

/* A stable word for an error code, "no_such_process"; never NULL. */
MIXSTACK_API const char* mixstack_error_name(int32_t code);

#ifdef __cplusplus
}
#endif

#endif
