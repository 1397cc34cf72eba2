// Products and contractions beyond matmul, in eager/composites/contraction.cpp and products.cpp, and norms, in norms.cpp.

def Einsum : Composite<"einsum", "str equation, Tensor[] operands"> { let summary = "Sum of products by Einstein's convention: `equation` names the dims of each operand and of the result by letters, `...` the others. Contracted in pairs, in the order of fewest multiplications."; let forms = ["function"]; }
def TensorDot : Composite<"tensordot", "Tensor a, Tensor b, int[] dims_a, int[] dims_b"> { let summary = "Sum of products over dims of two tensors, paired in order."; let forms = ["function"]; }
def Inner : Composite<"inner", "Tensor input, Tensor other"> { let summary = "Sums of products over the last dims; the product if either is 0-d."; let reference = "inner"; }
def VDot : Composite<"vdot", "Tensor input, Tensor other"> { let summary = "Inner product of two vectors."; let reference = "vdot"; }
def Kron : Composite<"kron", "Tensor input, Tensor other"> { let summary = "Kronecker product: every element of `input` times `other`, in blocks."; let reference = "kron"; }
def Trace : Composite<"trace", "Tensor input"> { let summary = "Sum of the diagonal of a matrix."; let reference = "trace"; }
def AddMV : Composite<"addmv", "Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1"> { let older = ["beta, input, alpha, mat, vec", "beta, input, mat, vec"]; let summary = "beta * input + alpha * (mat @ vec)."; let forms = ["function", "method", "inplace"]; }
def AddR : Composite<"addr", "Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1"> { let older = ["beta, input, alpha, vec1, vec2", "beta, input, vec1, vec2"]; let summary = "beta * input + alpha * outer(vec1, vec2)."; let forms = ["function", "method", "inplace"]; }
def BAddBMM : Composite<"baddbmm", "Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1"> { let older = ["beta, input, alpha, batch1, batch2", "beta, input, batch1, batch2"]; let summary = "beta * input + alpha * bmm(batch1, batch2)."; let forms = ["function", "method", "inplace"]; }
def AddBMM : Composite<"addbmm", "Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1"> { let older = ["beta, input, alpha, batch1, batch2", "beta, input, batch1, batch2"]; let summary = "beta * input + alpha * the sum of the products of two batches of matrices."; let forms = ["function", "method", "inplace"]; }
def MultiDot : Composite<"multi_dot", "Tensor[] tensors"> { let summary = "Product of two or more matrices, in the order of fewest multiplications; the first may be a row, the last a column."; let forms = ["linalg"]; }
def ChainMatMul : Composite<"chain_matmul", "Tensor[] matrices"> { let summary = "Product of matrices, in the order of fewest multiplications."; let forms = ["function"]; }
def MatrixPower : Composite<"matrix_power", "Tensor input, int n"> { let summary = "Square matrices to an integer power, by squaring; a negative one of the inverse."; let forms = ["function", "method", "linalg"]; }
def Cross : Composite<"cross", "Tensor input, Tensor other, int? dim=None"> { let summary = "Vector products along a dim of size 3 (the first such when None)."; }
def LinalgCross : Composite<"linalg_cross", "Tensor input, Tensor other, *, int dim=-1"> { let summary = "Vector products along `dim`, of size 3."; let python = "cross"; let forms = ["linalg"]; }
def VecDot : Composite<"vecdot", "Tensor x, Tensor y, *, int dim=-1"> { let summary = "Inner products of the vectors along `dim`."; let forms = ["linalg"]; }
def LinalgMatMul : Composite<"linalg_matmul", "Tensor input, Tensor other"> { let summary = "As matmul."; let python = "matmul"; let forms = ["linalg"]; }
def LinalgDiagonal : Composite<"linalg_diagonal", "Tensor A, *, int offset=0, int dim1=-2, int dim2=-1"> { let summary = "As diagonal, of the last two dims."; let python = "diagonal"; let forms = ["linalg"]; }

def Root : Unary<"root", "Float"> { let summary = "Square root whose derivatives at 0 are 0."; let body = [(sqrt $input)]; let forms = ["hidden"]; let samples = "none"; }
def : Derivative<Root, [(where (eq $out, 0), 0, (div $g, (mul 2, (where (eq $out, 0), 1, $out))))]>;
def NormNamed : Composite<"norm_named", "Tensor input, str p, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> { let summary = "The norm called 'fro' (root of the sum of squares) or 'nuc' (sum of singular values)."; let python = "norm"; }
def Dist : Composite<"dist", "Tensor input, Tensor other, float p=2"> { let summary = "The p-norm of input - other."; }
def CDist : Composite<"cdist", "Tensor x1, Tensor x2, float p=2.0, str? compute_mode=None"> { let summary = "p-norm distances between all rows of two batches of matrices. For p = 2 and more than 25 rows by a matrix product, unless `compute_mode` says otherwise."; let forms = ["function"]; }
def VectorNorm : Composite<"vector_norm", "Tensor x, float ord=2, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> { let summary = "Vector norm of order `ord` over `dim`."; let forms = ["linalg"]; }
def MatrixNorm : Composite<"matrix_norm", "Tensor A, str ord='fro', int[]? dim=None, bool keepdim=False, *, dtype? dtype=None"> { let summary = "The norm 'fro' (Frobenius) or 'nuc' (sum of singular values) of the matrices in two dims."; let forms = ["linalg"]; }
def MatrixNormOf : Composite<"matrix_norm_of", "Tensor A, float ord, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None"> { let summary = "Matrix norm: largest (1, inf) or smallest (-1, -inf) sum of absolute values of a column or row, largest (2) or smallest (-2) singular value."; let python = "matrix_norm"; let forms = ["linalg"]; }
def LinalgNorm : Composite<"linalg_norm", "Tensor A, float? ord=None, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> { let summary = "Vector norm of all elements or over one dim, matrix norm over two."; let python = "norm"; let forms = ["linalg"]; }
def LinalgNormNamed : Composite<"linalg_norm_named", "Tensor A, str ord, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> { let summary = "Matrix norm called 'fro' or 'nuc'."; let python = "norm"; let forms = ["linalg"]; }
def Normalize : Composite<"normalize", "Tensor input, float p=2.0, int dim=1, float eps=1e-12"> { let summary = "input / max(p-norm along dim, eps)."; let forms = ["nn"]; }
