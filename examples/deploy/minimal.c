/* Runs the first entry of a program on numbers from the command line: the C functions and nothing else.
 *
 *   minimal minimal.tandem 1 2 3
 *
 * The entry takes one float32 tensor, and gives one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tandem/program.h"

/* Prints an error and ends the process. */
static void check(tandem_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", tandem_error_text(error));
  tandem_error_free(error);
  exit(1);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s program.tandem number...\n", argv[0]);
    return 2;
  }
  tandem_program* program;
  tandem_context* context;
  tandem_tensor_info argument, result;
  check(tandem_program_open(argv[1], NULL, &program));
  check(tandem_describe_argument(program, 0, 0, &argument));
  check(tandem_describe_result(program, 0, 0, &result));
  const size_t given = (size_t)argc - 2, wanted = argument.bytes / sizeof(float);
  if (argument.dtype != TANDEM_FLOAT32 || result.dtype != TANDEM_FLOAT32 || given != wanted) {
    fprintf(stderr, "%s takes %zu numbers, got %zu\n", argument.name, wanted, given);
    return 2;
  }

  float* x = malloc(argument.bytes);
  float* y = malloc(result.bytes);
  if (x == NULL || y == NULL) return 1;
  for (size_t i = 0; i < given; ++i) x[i] = strtof(argv[i + 2], NULL);
  void* arguments[] = {x};
  void* results[] = {y};
  check(tandem_context_create(program, &context));
  check(tandem_run(context, 0, arguments, NULL, results));
  for (size_t i = 0; i < result.bytes / sizeof(float); ++i) printf("%.9g\n", y[i]);

  free(x);
  free(y);
  tandem_context_free(context);
  tandem_program_close(program);
  return 0;
}
