// What `autocast` does to the floating arguments (float64 apart) of an operation that Python calls; PyTorch's lists for
// CPUs. Operations inside another operation are not cast again; a name without a record is none.

class Autocast<string p, list<string> n> {
  string policy = p;
  list<string> names = n;
}

// To the low precision: products and convolutions, which gain by it and sum in float32.
def : Autocast<"Lower", ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                         "bmm", "mm", "baddbmm", "addmm", "addbmm", "linear", "matmul", "vecdot",
                         "scaled_dot_product_attention"]>;
// To float32: what loses too much else.
def : Autocast<"Float32", ["avg_pool3d", "binary_cross_entropy", "grid_sample", "prod", "quantile", "nanquantile",
                           "cdist", "trace", "cholesky", "cholesky_inverse", "cholesky_solve", "inverse", "pinverse",
                           "lu_solve", "orgqr", "ormqr", "max_pool3d", "max_unpool2d", "max_unpool3d",
                           "adaptive_avg_pool3d", "mse_loss", "cosine_embedding_loss", "nll_loss",
                           "hinge_embedding_loss", "poisson_nll_loss", "smooth_l1_loss", "cross_entropy", "l1_loss",
                           "huber_loss", "margin_ranking_loss", "soft_margin_loss", "triplet_margin_loss",
                           "multi_margin_loss", "multilabel_margin_loss", "ctc_loss", "kl_div", "det", "slogdet",
                           "logdet", "eigh", "eigvalsh", "svd", "svdvals", "qr", "lstsq", "lu_factor", "solve",
                           "matrix_power", "matrix_rank", "pinv", "solve_triangular", "fft", "ifft", "rfft", "irfft"]>;
// To the widest that is among them.
def : Autocast<"Promote", ["cat", "stack", "index_copy"]>;
