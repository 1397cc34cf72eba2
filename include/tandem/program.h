/* Saved programs from C: open a file that tandem.export wrote, look at what is in it, run it.
 *
 *   tandem_program* program;
 *   tandem_context* context;
 *   tandem_error* error = tandem_program_open("digits.tandem", NULL, &program);
 *   if (error == NULL) error = tandem_context_create(program, &context);
 *   void* arguments[] = {image};
 *   void* results[] = {probabilities};
 *   if (error == NULL) error = tandem_run(context, 0, arguments, NULL, results);
 *   if (error != NULL) { fprintf(stderr, "%s\n", tandem_error_text(error)); tandem_error_free(error); }
 *
 * A program never changes and may be used by any number of threads. A context holds what a run works in and the state
 * that runs change; it is for one thread at a time, and contexts of one program share nothing that changes. Every
 * function that can fail returns an error, which the caller frees, or NULL. A fork after opening is safe.
 */
#ifndef TANDEM_PROGRAM_H
#define TANDEM_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TANDEM_API __attribute__((visibility("default")))
#else
#define TANDEM_API
#endif

typedef struct tandem_program tandem_program;
typedef struct tandem_context tandem_context;
typedef struct tandem_error tandem_error;

/* ---- errors ---- */

typedef enum {
  TANDEM_ERROR = 1,            /* none of those below */
  TANDEM_INVALID_FILE = 2,     /* the file is damaged, not signed as required, or of a newer format */
  TANDEM_INVALID_ARGUMENT = 3, /* what was passed does not fit the program */
  TANDEM_NOT_SUPPORTED = 4,    /* no code for this processor, or an operation that is not here */
  TANDEM_OUT_OF_MEMORY = 5,
  TANDEM_INVALID_VALUE = 6 /* of an element: an index out of range, a singular matrix */
} tandem_error_code;

TANDEM_API tandem_error_code tandem_error_get_code(const tandem_error* error);
/* Lives as long as the error. */
TANDEM_API const char* tandem_error_text(const tandem_error* error);
TANDEM_API void tandem_error_free(tandem_error* error);

/* ---- what is in a program ---- */

typedef enum {
  TANDEM_BOOL = 0,
  TANDEM_UINT8 = 1,
  TANDEM_INT8 = 2,
  TANDEM_INT16 = 3,
  TANDEM_INT32 = 4,
  TANDEM_INT64 = 5,
  TANDEM_FLOAT16 = 6,
  TANDEM_BFLOAT16 = 7,
  TANDEM_FLOAT32 = 8,
  TANDEM_FLOAT64 = 9
} tandem_dtype;

/* A tensor of a program: an argument or a result of an entry, or a part of the state. Names and shapes live as long as
 * the program. Elements are contiguous, row-major. */
typedef struct {
  const char* name;
  tandem_dtype dtype;
  size_t rank;
  const int64_t* shape;
  size_t bytes;
  int changes; /* of an argument: the entry writes to it; of the state: some entry does */
} tandem_tensor_info;

/* A number that an entry takes, as a learning rate is; `value` is what it was when the program was saved. */
typedef struct {
  const char* name;
  double value;
} tandem_number_info;

/* A size that a caller chooses, as a batch: from `least` to `most`. The program's own descriptions are for `example`.
 */
typedef struct {
  const char* name;
  int64_t least;
  int64_t most;
  int64_t example;
} tandem_size_info;

typedef struct {
  /* 32 bytes, an Ed25519 public key: the file must be signed with it. NULL: it need not. */
  const unsigned char* signed_by;
  /* Compare all of the file with the hashes in it. The machine code that is used always is. */
  int verify;
  /* Where it runs: "cuda", "cuda:1", a GPU for which the file has code; its weights are copied there. NULL, "cpu":
   * here. */
  const char* device;
} tandem_open_options;

/* `options` may be NULL. */
TANDEM_API tandem_error* tandem_program_open(const char* path, const tandem_open_options* options,
                                             tandem_program** program);
/* Contexts that are left keep what they need. */
TANDEM_API void tandem_program_close(tandem_program* program);

TANDEM_API size_t tandem_program_entries(const tandem_program* program);
/* NULL where there is no such entry; likewise below. */
TANDEM_API const char* tandem_entry_name(const tandem_program* program, size_t entry);
/* The number of the entry of a name. */
TANDEM_API tandem_error* tandem_find_entry(const tandem_program* program, const char* name, size_t* entry);

TANDEM_API size_t tandem_entry_arguments(const tandem_program* program, size_t entry);
TANDEM_API size_t tandem_entry_results(const tandem_program* program, size_t entry);
TANDEM_API size_t tandem_entry_numbers(const tandem_program* program, size_t entry);
TANDEM_API tandem_error* tandem_describe_argument(const tandem_program* program, size_t entry, size_t number,
                                                  tandem_tensor_info* info);
TANDEM_API tandem_error* tandem_describe_result(const tandem_program* program, size_t entry, size_t number,
                                                tandem_tensor_info* info);
TANDEM_API tandem_error* tandem_describe_number(const tandem_program* program, size_t entry, size_t number,
                                                tandem_number_info* info);
/* How many sizes of an entry a caller chooses, and what they are. */
TANDEM_API size_t tandem_entry_sizes(const tandem_program* program, size_t entry);
TANDEM_API tandem_error* tandem_describe_size(const tandem_program* program, size_t entry, size_t number,
                                              tandem_size_info* info);

TANDEM_API size_t tandem_program_states(const tandem_program* program);
TANDEM_API tandem_error* tandem_describe_state(const tandem_program* program, size_t number, tandem_tensor_info* info);
TANDEM_API tandem_error* tandem_find_state(const tandem_program* program, const char* name, size_t* number);

/* Which of the file's targets runs here, as `x86-64-v4`; and a note of the file, as `license`, or NULL. */
TANDEM_API const char* tandem_program_target(const tandem_program* program);
TANDEM_API const char* tandem_program_note(const tandem_program* program, const char* key);

/* The names of the library functions that it calls; a statically linked program may hold those alone
 * (tandem/functions.hpp). */
TANDEM_API size_t tandem_program_functions(const tandem_program* program);
TANDEM_API const char* tandem_program_function(const tandem_program* program, size_t number);

/* ---- running ---- */

/* Starts with the state of the file. */
TANDEM_API tandem_error* tandem_context_create(const tandem_program* program, tandem_context** context);
TANDEM_API void tandem_context_free(tandem_context* context);

/* One pointer an argument and a result, one number each; `numbers` NULL: those that the program was saved with. Results
 * overlap neither arguments nor each other; where an argument overlaps one that changes, that is an error. All pointers
 * are to memory of the host, wherever the program runs. */
TANDEM_API tandem_error* tandem_run(tandem_context* context, size_t entry, void* const* arguments,
                                    const double* numbers, void* const* results);

/* Kinds of devices, numbered as in DLPack. */
typedef enum { TANDEM_CPU = 1, TANDEM_CUDA = 2 } tandem_device_kind;

/* Elements, contiguous, row-major: on the host, or on the GPU that the program runs on. */
typedef struct {
  void* data;
  int32_t device_kind;  /* a tandem_device_kind */
  int32_t device_index; /* of the CPU 0 */
} tandem_memory;

typedef struct {
  size_t size;  /* sizeof(tandem_run_options); later versions may have more, which is zero unless it is meant */
  void* stream; /* a CUstream of the program's GPU, in which the run is queued; NULL: CUDA's default stream */
} tandem_run_options;

/* As tandem_run, with memory wherever it is; `options` may be NULL. On a GPU runs of a context are done one after the
 * other, whatever their streams. What is on the GPU is used where it is, if it lies at a multiple of 64 bytes, and else
 * copied there; what is on the host is copied to the GPU and back. Where all results, and all arguments that the entry
 * changes, are on the GPU, the run is queued and nobody waits: errors of values are those of tandem_wait, or of the
 * next run that waits, and results are then undefined. */
TANDEM_API tandem_error* tandem_run_on(tandem_context* context, size_t entry, const tandem_memory* arguments,
                                       const double* numbers, const tandem_memory* results,
                                       const tandem_run_options* options);
/* Waits for what runs have queued; the error of a value that one met. */
TANDEM_API tandem_error* tandem_wait(tandem_context* context);

/* Which sizes the next runs of an entry have, one for each that it has; they begin as the examples. What is made for
 * sizes that were not there before, of which a context keeps 64 an entry, takes time and memory; coming back to them
 * takes neither. */
TANDEM_API tandem_error* tandem_set_sizes(tandem_context* context, size_t entry, const int64_t* sizes);
/* Arguments and results as they are for these sizes; shapes live until the sizes are set again. */
TANDEM_API tandem_error* tandem_context_argument(const tandem_context* context, size_t entry, size_t number,
                                                 tandem_tensor_info* info);
TANDEM_API tandem_error* tandem_context_result(const tandem_context* context, size_t entry, size_t number,
                                               tandem_tensor_info* info);

/* Copies a tensor of the state out, or in. */
TANDEM_API tandem_error* tandem_state_get(const tandem_context* context, size_t number, void* elements);
TANDEM_API tandem_error* tandem_state_set(tandem_context* context, size_t number, const void* elements);
/* All of the state as a file of the safetensors layout, which tandem.load reads; written aside, synced and renamed. */
TANDEM_API tandem_error* tandem_state_save(const tandem_context* context, const char* path);
/* What such a file has of the tensors that entries change; names that the program does not know are an error. */
TANDEM_API tandem_error* tandem_state_load(tandem_context* context, const char* path);

/* The random generator, as tandem.manual_seed. */
TANDEM_API void tandem_seed(tandem_context* context, int64_t seed);

/* Threads that one run may use, the caller among them, for the whole process. 1: the caller alone. */
TANDEM_API tandem_error* tandem_set_threads(int threads);
TANDEM_API int tandem_threads(void);

#ifdef __cplusplus
}
#endif

#endif
