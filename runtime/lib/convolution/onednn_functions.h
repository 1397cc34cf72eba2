// The C functions that we use of oneDNN, which dnnl.hpp calls, and of the OpenMP that it runs on. Nothing is linked
// with either library: onednn_library.cpp defines each function as a jump into the library, which is opened when a
// convolution first needs it. One that is used and not listed is an undefined symbol.
#pragma once

#define TANDEM_ONEDNN_FUNCTIONS(X)                                                                                     \
  X(dnnl_dilated_convolution_backward_data_desc_init)                                                                  \
  X(dnnl_dilated_convolution_backward_weights_desc_init)                                                               \
  X(dnnl_dilated_convolution_forward_desc_init)                                                                        \
  X(dnnl_engine_create)                                                                                                \
  X(dnnl_engine_destroy)                                                                                               \
  X(dnnl_memory_create)                                                                                                \
  X(dnnl_memory_desc_equal)                                                                                            \
  X(dnnl_memory_desc_get_size)                                                                                         \
  X(dnnl_memory_desc_init_by_strides)                                                                                  \
  X(dnnl_memory_desc_init_by_tag)                                                                                      \
  X(dnnl_memory_destroy)                                                                                               \
  X(dnnl_memory_set_data_handle_v2)                                                                                    \
  X(dnnl_primitive_attr_create)                                                                                        \
  X(dnnl_primitive_attr_destroy)                                                                                       \
  X(dnnl_primitive_attr_set_scratchpad_mode)                                                                           \
  X(dnnl_primitive_create)                                                                                             \
  X(dnnl_primitive_desc_destroy)                                                                                       \
  X(dnnl_primitive_desc_iterator_create)                                                                               \
  X(dnnl_primitive_desc_iterator_destroy)                                                                              \
  X(dnnl_primitive_desc_iterator_fetch)                                                                                \
  X(dnnl_primitive_desc_query_md)                                                                                      \
  X(dnnl_primitive_destroy)                                                                                            \
  X(dnnl_primitive_execute)                                                                                            \
  X(dnnl_reorder_primitive_desc_create)                                                                                \
  X(dnnl_stream_create)                                                                                                \
  X(dnnl_stream_destroy)                                                                                               \
  X(omp_get_max_threads)                                                                                               \
  X(omp_set_num_threads)

namespace tandem::lib {

/// Opens the library if it is not open yet. NotImplementedError, which names `what` needs it, where there is none; the
/// next call tries again.
void needOneDnn(const char* what);

}  // namespace tandem::lib
