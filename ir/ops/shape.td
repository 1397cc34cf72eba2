// Operations that rearrange, join, split and repeat (eager/composites: joining.cpp, pieces.cpp, rearranging.cpp,
// diagonals.cpp), beside those of composite.td that the others stand on.

// ---- pieces ----
class Pieces<string n, string p> : Composite<n, p> { let results = "Tensor[]"; }
def TensorSplit : Pieces<"tensor_split", "Tensor input, int sections, int dim=0"> { let summary = "`sections` pieces along `dim`, as views; the first ones are one larger where they cannot be equal."; }
def TensorSplitAt : Pieces<"tensor_split_at", "Tensor input, int[] indices, int dim=0"> { let summary = "Pieces that end before each of `indices` along `dim`, and the rest, as views."; let python = "tensor_split"; }
def TensorSplitTensor : Pieces<"tensor_split_tensor", "Tensor input, Tensor tensor_indices_or_sections, int dim=0"> { let summary = "As above, the number or the indices in an int64 tensor, which is read."; let python = "tensor_split"; }
def HSplit : Pieces<"hsplit", "Tensor input, int sections"> { let summary = "Equal pieces along dim 1 (dim 0 of vectors), as views."; }
def HSplitAt : Pieces<"hsplit_at", "Tensor input, int[] indices"> { let summary = "Pieces along dim 1 (dim 0 of vectors) that end before each of `indices`, as views."; let python = "hsplit"; }
def VSplit : Pieces<"vsplit", "Tensor input, int sections"> { let summary = "Equal pieces along dim 0, as views."; }
def VSplitAt : Pieces<"vsplit_at", "Tensor input, int[] indices"> { let summary = "Pieces along dim 0 that end before each of `indices`, as views."; let python = "vsplit"; }
def DSplit : Pieces<"dsplit", "Tensor input, int sections"> { let summary = "Equal pieces along dim 2, as views."; }
def DSplitAt : Pieces<"dsplit_at", "Tensor input, int[] indices"> { let summary = "Pieces along dim 2 that end before each of `indices`, as views."; let python = "dsplit"; }
def SplitSizesNamed : Pieces<"split_with_sizes_named", "Tensor input, int[] split_sizes, int dim=0"> { let summary = "Pieces of the given sizes along `dim`, as views."; let python = "split_with_sizes"; }
def UnsafeChunk : Pieces<"unsafe_chunk", "Tensor input, int chunks, int dim=0"> { let summary = "As `chunk`."; }
def UnsafeSplit : Pieces<"unsafe_split", "Tensor input, int split_size, int dim=0"> { let summary = "As `split`."; }

// ---- joining ----
def HStack : Composite<"hstack", "Tensor[] tensors"> { let summary = "Tensors joined along dim 1 (vectors along dim 0)."; let forms = ["function"]; let reference = "hstack"; }
def VStack : Composite<"vstack", "Tensor[] tensors"> { let summary = "Tensors joined along dim 0, vectors as rows."; let forms = ["function"]; let aliases = ["row_stack"]; let reference = "vstack"; }
def DStack : Composite<"dstack", "Tensor[] tensors"> { let summary = "Tensors joined along dim 2."; let forms = ["function"]; let reference = "dstack"; }
def ColumnStack : Composite<"column_stack", "Tensor[] tensors"> { let summary = "Tensors joined along dim 1, vectors as columns."; let forms = ["function"]; let reference = "column_stack"; }
def BlockDiag : Composite<"block_diag", "Tensor[] tensors"> { let summary = "A matrix with the given matrices along its diagonal, zeros elsewhere; vectors count as rows, numbers as 1 x 1."; let forms = ["function"]; }
def AtLeast1d : Composite<"atleast_1d", "Tensor input"> { let summary = "`input` with at least 1 dim, as a view."; let forms = ["function"]; let reference = "atleast_1d"; }
def AtLeast1dList : Pieces<"atleast_1d_list", "Tensor[] tensors"> { let summary = "Each of them with at least 1 dim."; let python = "atleast_1d"; let forms = ["function"]; }
def AtLeast2d : Composite<"atleast_2d", "Tensor input"> { let summary = "`input` with at least 2 dims, vectors as rows, as a view."; let forms = ["function"]; let reference = "atleast_2d"; }
def AtLeast2dList : Pieces<"atleast_2d_list", "Tensor[] tensors"> { let summary = "Each of them with at least 2 dims."; let python = "atleast_2d"; let forms = ["function"]; }
def AtLeast3d : Composite<"atleast_3d", "Tensor input"> { let summary = "`input` with at least 3 dims (a vector in the middle one), as a view."; let forms = ["function"]; let reference = "atleast_3d"; }
def AtLeast3dList : Pieces<"atleast_3d_list", "Tensor[] tensors"> { let summary = "Each of them with at least 3 dims."; let python = "atleast_3d"; let forms = ["function"]; }

// ---- repeating and broadcasting ----
def Tile : Composite<"tile", "Tensor input, int[] dims"> { let summary = "`input` repeated dims[i] times along dim i; missing ones count as 1."; let reference = "tile"; }
def BroadcastTensors : Pieces<"broadcast_tensors", "Tensor[] tensors"> { let summary = "All of them expanded to their common shape, as views."; let forms = ["function"]; }
def MeshGrid : Pieces<"meshgrid", "Tensor[] tensors, *, str? indexing=None"> { let summary = "The coordinates of a grid from those along each axis, as views: `tensors[i]` varies along dim i ('ij'), or with the first two dims swapped ('xy')."; let forms = ["function"]; }
def CartesianProd : Composite<"cartesian_prod", "Tensor[] tensors"> { let summary = "All tuples of one element from each vector, as rows."; let forms = ["function"]; }
def Combinations : Composite<"combinations", "Tensor input, int r=2, bool with_replacement=False"> { let summary = "All choices of `r` elements of a vector in order, as rows."; }
def RepeatInterleave : Composite<"repeat_interleave", "Tensor input, int repeats, int? dim=None, *, int? output_size=None"> { let summary = "Each slice of `dim` (of the flattened tensor when None) `repeats` times in a row."; }
def SumToSize : Composite<"sum_to_size", "Tensor input, int[] size"> { let summary = "Summed over the dims along which a tensor of `size` would be broadcast to `input`: the transpose of `expand`."; let forms = ["method"]; }

// ---- rearranging ----
def Ravel : Composite<"ravel", "Tensor input"> { let summary = "All elements as a vector; a view where strides allow."; let reference = "ravel"; }
def Roll : Composite<"roll", "Tensor input, int[] shifts, int[] dims=[]"> { let summary = "Elements moved by shifts[i] along dims[i], from the end round to the beginning; of the flattened tensor without `dims`."; }
def Rot90 : Composite<"rot90", "Tensor input, int k=1, int[] dims=[0, 1]"> { let summary = "Rotated by k quarter turns from dims[0] towards dims[1]."; let reference = "rot90"; }
def FlipLR : Composite<"fliplr", "Tensor input"> { let summary = "Elements in reverse order along dim 1."; let reference = "fliplr"; }
def FlipUD : Composite<"flipud", "Tensor input"> { let summary = "Elements in reverse order along dim 0."; let reference = "flipud"; }
def Adjoint : Composite<"adjoint", "Tensor input"> { let summary = "The last two dims swapped, as a view."; }
def NarrowCopy : Composite<"narrow_copy", "Tensor input, int dim, int start, int length"> { let summary = "`length` elements of `dim` from `start` on, as a copy."; }
def Diff : Composite<"diff", "Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None"> { let summary = "Differences of neighbours along `dim`, `n` times over, after `prepend` and `append` were joined on; of bools, whether they differ."; }

// ---- diagonals, and copies with a window replaced ----
def Diag : Composite<"diag", "Tensor input, int diagonal=0"> { let summary = "The diagonal of a matrix as a vector, or a matrix with a vector on its diagonal."; let reference = "diag"; }
def DiagEmbed : Composite<"diag_embed", "Tensor input, int offset=0, int dim1=-2, int dim2=-1"> { let summary = "The last dim as the diagonal of two dims, zeros elsewhere."; }
def DiagFlat : Composite<"diagflat", "Tensor input, int offset=0"> { let summary = "A matrix with the elements of `input` on its diagonal."; let reference = "diagflat"; }
def DiagonalScatter : Composite<"diagonal_scatter", "Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1"> { let summary = "A copy of `input` with a diagonal replaced by `src`."; }
def SelectScatter : Composite<"select_scatter", "Tensor input, Tensor src, int dim, int index"> { let summary = "A copy of `input` with the slice at `index` of `dim` replaced by `src`."; }
def SliceScatter : Composite<"slice_scatter", "Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1"> { let summary = "A copy of `input` with start, start + step, ... below `end` of `dim` replaced by `src`."; }
def AsStridedScatter : Composite<"as_strided_scatter", "Tensor input, Tensor src, int[] size, int[] stride, int? storage_offset=None"> { let summary = "A copy of `input` with a strided window replaced by `src`; strides and offset count elements of a contiguous `input`."; }
def TrilIndices : Composite<"tril_indices", "int row, int col, int offset=0, *, dtype? dtype=None"> { let summary = "Rows and columns of the lower triangle of a row x col matrix, as [2, n]."; let forms = ["function"]; let factory = 1; }
def TriuIndices : Composite<"triu_indices", "int row, int col, int offset=0, *, dtype? dtype=None"> { let summary = "Rows and columns of the upper triangle of a row x col matrix, as [2, n]."; let forms = ["function"]; let factory = 1; }
def Vander : Composite<"vander", "Tensor x, int? N=None, bool increasing=False"> { let summary = "Powers of each element of a vector as a row, from x^(N-1) to 1, or the other way round; N is the vector's size when None."; let forms = ["function"]; let reference = "vander"; }
