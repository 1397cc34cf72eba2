// Tensors made from nothing: constants, ramps and random numbers. Random numbers are Philox4x32-10 with the counter
// (offset, logical element index): Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".

def Full : Creation<"full_value", "Scalar fill_value, int[] size, dtype dtype"> { let summary = "Every element is `fill_value`."; let body = [(identity $fill_value)]; let forms = ["hidden"]; let samples = "none"; }
def Ramp : Creation<"ramp", "Scalar start, Scalar step, int[] size, dtype dtype"> { let types = "Raw"; let summary = "start + step * i for the i-th element."; let body = [(arange_value $type, $start, $step, $index)]; let forms = ["hidden"]; let samples = "none"; }
def Uniform : Random<"uniform_value", "Scalar seed, Scalar offset, int[] size, dtype dtype"> { let summary = "Uniform on [0, 1)."; let body = [(uniform $type, $seed, $offset, $index)]; let forms = ["hidden"]; let samples = "none"; }
def Normal : Random<"normal_value", "Scalar seed, Scalar offset, int[] size, dtype dtype"> { let summary = "Standard normal, by Box-Muller."; let body = [(normal $type, $seed, $offset, $index)]; let forms = ["hidden"]; let samples = "none"; }
def RandomInteger : Random<"integer_value", "Scalar seed, Scalar offset, Scalar low, Scalar high, int[] size, dtype dtype"> { let summary = "Integers uniform on [low, high)."; let body = [(random_integer $seed, $offset, $low, $high, $index)]; let forms = ["hidden"]; let samples = "none"; }
